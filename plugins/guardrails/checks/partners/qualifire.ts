import type { CheckParameters, RemoteCheck } from '../../check.js';
import { isPlain } from '../request/values.js';
import { type PartnerAsk, partnerCheck, records } from './partner.js';

/** The texts of request and answer, as far as they are known. */
const both = (ask: PartnerAsk): object => ({
  input: ask.requestText,
  ...(ask.context.phase === 'after' && { output: ask.context.text }),
});

/** One evaluation. docs.qualifire.ai, POST /api/evaluation/evaluate */
const evaluation = (
  name: string,
  bodyOf: (ask: PartnerAsk, parameters: CheckParameters) => object,
): RemoteCheck =>
  partnerCheck({
    id: `qualifire.${name}`,
    async judge(ask, parameters) {
      const base = ask.base(() => 'https://proxy.qualifire.ai');
      const url = `${base}/api/evaluation/evaluate`;
      const answer = await ask.post(url, { 'x-qualifire-api-key': ask.key }, bodyOf(ask, parameters));
      const { status } = answer;
      if (typeof status !== 'string') throw ask.unexpected();
      const results = records(answer['evaluationResults']).map(({ type, results: found }) => ({
        type,
        labels: records(found).map(({ name: label, score }) => ({
          label: typeof label === 'string' ? label.slice(0, 64) : null,
          score: typeof score === 'number' ? score : null,
        })),
      }));
      return { verdict: status !== 'failed', data: { status, results: results.slice(0, 20) } };
    },
  });

/** Tools of the request, as the service wants them. */
const toolsOf = ({ context: { body } }: PartnerAsk): object[] =>
  records(body?.['tools']).flatMap(({ function: tool }) =>
    isPlain(tool)
      ? [{ name: tool['name'], description: tool['description'], parameters: tool['parameters'] }]
      : [],
  );

function parsedArguments(text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    return text;
  }
}

/** Calls of tools in the first choice of an answer in OpenAI's format. */
const callsOf = ({ context: { answer } }: PartnerAsk): object[] => {
  const [choice] = records(answer?.['choices']);
  const message = choice?.['message'];
  return records(isPlain(message) ? message['tool_calls'] : null).flatMap(({ id, function: call }) =>
    isPlain(call) ? [{ id, name: call['name'], arguments: parsedArguments(call['arguments']) }] : [],
  );
};

export const qualifire: readonly RemoteCheck[] = [
  evaluation('contentModeration', (ask) => ({ ...both(ask), content_moderation_check: true })),
  evaluation('pii', (ask) => ({ ...both(ask), pii_check: true })),
  evaluation('promptInjections', (ask) => ({ ...both(ask), prompt_injections: true })),
  evaluation('hallucinations', (ask, { mode }) => ({
    ...both(ask),
    hallucinations_check: true,
    hallucinations_mode: mode,
  })),
  evaluation('grounding', (ask, { mode }) => ({ ...both(ask), grounding_check: true, grounding_mode: mode })),
  evaluation('toolUseQuality', (ask, { mode }) => ({
    messages: [
      { role: 'user', content: ask.requestText },
      { role: 'assistant', content: ask.context.text, tool_calls: callsOf(ask) },
    ],
    available_tools: toolsOf(ask),
    tool_selection_quality_check: true,
    tsq_mode: mode,
  })),
  evaluation('policy', (ask, { policies, mode, policy_target: target }) => {
    const { phase, text } = ask.context;
    return {
      assertions: policies,
      assertions_mode: mode,
      ...(target !== 'output' && { input: ask.requestText }),
      ...(target !== 'input' && phase === 'after' && { output: text }),
    };
  }),
];
