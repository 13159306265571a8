import type { RemoteCheck } from '../../check.js';
import { isPlain } from '../request/values.js';
import {
  eachText,
  type PartnerAnswer,
  type PartnerAsk,
  partnerCheck,
  records,
  trueNames,
} from './partner.js';

/** Promptfoo's guardrails: without a key. promptfoo.dev/docs/red-team/guardrails */
async function askPromptfoo(ask: PartnerAsk, path: string, input: string): Promise<PartnerAnswer> {
  const base = ask.base(() => 'https://api.promptfoo.dev');
  const answer = await ask.post(`${base}/v1/${path}`, {}, { input });
  const [result] = records(answer['results']);
  if (typeof result?.['flagged'] !== 'boolean') throw ask.unexpected();
  return result;
}

const simple = (name: 'guard' | 'harm'): RemoteCheck =>
  partnerCheck({
    id: `promptfoo.${name}`,
    async judge(ask) {
      const { flagged, categories } = await askPromptfoo(ask, name, ask.context.text);
      return { verdict: flagged === false, data: { found: trueNames(categories) } };
    },
  });

interface Entity {
  readonly kind: string;
  readonly value: string;
}

const entitiesOf = ({ payload }: PartnerAnswer): readonly Entity[] =>
  records(isPlain(payload) ? payload['pii'] : null).flatMap(({ entity_type: kind, pii: value }) =>
    typeof value === 'string' && value !== '' ? [{ kind: String(kind).toUpperCase(), value }] : [],
  );

/** The text without the values that were found; null: a value is not there. */
function masked(text: string, entities: readonly Entity[]): string | null {
  if (entities.length === 0 || entities.some(({ value }) => !text.includes(value))) return null;
  // The longest first: one may be part of another.
  return [...entities]
    .sort((a, b) => b.value.length - a.value.length)
    .reduce((rest, { kind, value }) => rest.replaceAll(value, `[${kind}]`), text);
}

const pii = partnerCheck({
  id: 'promptfoo.pii',
  redacts: ['redact'],
  async judge(ask, { redact }) {
    const { texts } = ask.context;
    const results = await eachText(texts, (text) => askPromptfoo(ask, 'pii', text));
    const isFlagged = results.some((result) => result?.['flagged'] === true);
    const kinds = results.flatMap((result) => (result === null ? [] : entitiesOf(result)));
    const data = { found: [...new Set(kinds.map(({ kind }) => kind))] };
    if (!isFlagged || redact !== true) return { verdict: !isFlagged, data };
    let verdict = true;
    const transformed = texts.map((text, i) => {
      const result = results[i];
      if (result?.['flagged'] !== true) return text;
      const changed = masked(text, entitiesOf(result));
      if (changed === null) verdict = false;
      return changed ?? text;
    });
    return { verdict, data, transformed };
  },
});

export const promptfoo: readonly RemoteCheck[] = [simple('guard'), simple('harm'), pii];
