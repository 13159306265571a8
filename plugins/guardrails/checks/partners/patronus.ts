import type { CheckResult, RemoteCheck } from '../../check.js';
import { ServiceFailed } from '../remote/calls.js';
import { isPlain } from '../request/values.js';
import { eachText, type PartnerAsk, partnerCheck, records } from './partner.js';

interface Evaluator {
  readonly evaluator: string;
  readonly criteria?: string;
}

interface Evaluation {
  readonly pass: boolean;
  readonly score: unknown;
  /** Where something was found: from and to, in characters. */
  readonly positions: readonly (readonly [number, number])[];
}

const isPosition = (value: unknown): value is [number, number] =>
  Array.isArray(value) && value.length === 2 && value.every(Number.isInteger);

/** One evaluation. docs.patronus.ai, POST /v1/evaluate */
async function evaluate(ask: PartnerAsk, evaluator: Evaluator, output: string): Promise<Evaluation> {
  const base = ask.base(() => 'https://api.patronus.ai');
  const answer = await ask.post(
    `${base}/v1/evaluate`,
    { 'x-api-key': ask.key },
    {
      evaluators: [{ ...evaluator, explain_strategy: 'never' }],
      evaluated_model_input: ask.requestText,
      evaluated_model_output: output,
    },
  );
  const [result] = records(answer['results']);
  const evaluation = result?.['evaluation_result'];
  if (typeof result?.['error_message'] === 'string' && result['error_message'] !== '')
    throw new ServiceFailed(`${ask.name} could not evaluate the answer.`);
  if (!isPlain(evaluation) || typeof evaluation['pass'] !== 'boolean') throw ask.unexpected();
  const info = isPlain(evaluation['additional_info']) ? evaluation['additional_info'] : {};
  const positions = Array.isArray(info['positions']) ? info['positions'].filter(isPosition) : [];
  return { pass: evaluation['pass'], score: evaluation['score_raw'] ?? null, positions };
}

/** Puts a mask in each of these places. They count characters, not their halves, and may overlap. */
function masked(text: string, positions: Evaluation['positions']): string {
  const characters = [...text];
  const isHidden = characters.map(() => false);
  for (const [from, to] of positions) isHidden.fill(true, from, to);
  return characters
    .map((character, i) => (!isHidden[i] ? character : isHidden[i - 1] === true ? '' : '[REDACTED]'))
    .join('');
}

const judged = async (ask: PartnerAsk, evaluator: Evaluator): Promise<CheckResult> => {
  const { pass, score } = await evaluate(ask, evaluator, ask.context.text);
  return { verdict: pass, data: { ...evaluator, score: typeof score === 'number' ? score : null } };
};

const simple = (name: string, evaluator: Evaluator): RemoteCheck =>
  partnerCheck({ id: `patronus.${name}`, judge: (ask) => judged(ask, evaluator) });

const judge = (name: string, criteria: string): RemoteCheck =>
  simple(name, { evaluator: 'judge', criteria: `patronus:${criteria}` });

/** Finds data of persons, and masks them with `redact`. */
const redacting = (name: 'pii' | 'phi'): RemoteCheck =>
  partnerCheck({
    id: `patronus.${name}`,
    redacts: ['redact'],
    async judge(ask, { redact }) {
      const { texts } = ask.context;
      const found = await eachText(texts, (text) => evaluate(ask, { evaluator: name }, text));
      const failed = found.filter((one): one is Evaluation => one?.pass === false);
      const data = { found: failed.length > 0 ? [name] : [] };
      if (redact !== true || failed.length === 0) return { verdict: failed.length === 0, data };
      const transformed = texts.map((text, i) => masked(text, found[i]?.positions ?? []));
      // Something was found, and its place is not known.
      return { verdict: failed.every(({ positions }) => positions.length > 0), data, transformed };
    },
  });

/** `evaluator:criteria`, or criteria of the judge. */
function profileOf(profile: string): Evaluator {
  const colon = profile.indexOf(':');
  return colon < 1
    ? { evaluator: 'judge', criteria: profile }
    : { evaluator: profile.slice(0, colon), criteria: profile.slice(colon + 1) };
}

export const patronus: readonly RemoteCheck[] = [
  redacting('pii'),
  redacting('phi'),
  judge('isConcise', 'is-concise'),
  judge('isHelpful', 'is-helpful'),
  judge('isPolite', 'is-polite'),
  judge('noApologies', 'no-apologies'),
  judge('noGenderBias', 'no-gender-bias'),
  judge('noRacialBias', 'no-racial-bias'),
  simple('retrievalAnswerRelevance', { evaluator: 'answer-relevance' }),
  simple('retrievalHallucination', { evaluator: 'hallucination', criteria: 'patronus:hallucination' }),
  simple('toxicity', { evaluator: 'toxicity' }),
  partnerCheck({
    id: 'patronus.custom',
    judge: (ask, { profile }) => judged(ask, profileOf(String(profile))),
  }),
];
