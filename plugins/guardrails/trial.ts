import type { Exchange, JsonObject } from '../../src/common/core/exchange.js';
import type { JudgedText, TextsToJudge } from '../../src/common/ipc/explained.js';
import { factsOf } from './facts.js';
import type { GuardParts } from './guarded.js';
import { resolveGuardrails } from './resolve.js';
import { Subject } from './run/subject.js';
import { answerTexts } from './texts/answer-parts.js';
import { requestTexts } from './texts/request-parts.js';

/** Texts that are judged at the same time. */
const batch = 8;

/** Runs the first guardrail of the exchange's config over texts, each as a chat of its own. */
export async function judgeTexts(
  { host, runner }: Pick<GuardParts, 'host' | 'runner'>,
  x: Exchange,
  { phase, texts }: TextsToJudge,
): Promise<JudgedText[]> {
  const guardrails = await resolveGuardrails(host, x);
  const [guardrail] = guardrails.of(guardrails.targets[0]!)[phase];
  if (guardrail === undefined) return [];
  const judged = async (text: string): Promise<JudgedText> => {
    const isBefore = phase === 'before';
    const request: JsonObject = {
      model: 'test',
      messages: [{ role: 'user', content: isBefore ? text : '' }],
    };
    const answer = { choices: [{ index: 0, message: { role: 'assistant', content: text } }] };
    const read = (json: JsonObject) => (isBefore ? requestTexts : answerTexts)('openai-chat', json)!;
    const parts = read(isBefore ? request : answer);
    const subject = new Subject(phase, () => factsOf(x), request, isBefore ? null : answer, read, parts);
    const from = performance.now();
    const [hook] = await runner.run(x, [guardrail], subject);
    return {
      verdict: hook!.verdict,
      ms: Math.round((performance.now() - from) * 1000) / 1000,
      transformed: subject.isChanged ? subject.text : null,
      hook: hook!.toJSON(),
    };
  };
  const all: JudgedText[] = [];
  for (let i = 0; i < texts.length; i += batch)
    all.push(...(await Promise.all(texts.slice(i, i + batch).map(judged))));
  return all;
}
