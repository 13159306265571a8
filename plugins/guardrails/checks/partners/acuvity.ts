import type { CheckParameters } from '../../check.js';
import { parse } from '../remote/calls.js';
import { isPlain } from '../request/values.js';
import { numbersIn, type PartnerAnswer, type PartnerAsk, partnerCheck, records } from './partner.js';

/** Where an answer has the score of each topic, and what it is called there. */
const topics = [
  ['prompt_injection', 'exploits', 'prompt_injection'],
  ['jail_break', 'exploits', 'jailbreak'],
  ['malicious_url', 'exploits', 'malicious_url'],
  ['toxic', 'malcontents', 'toxic'],
  ['biased', 'malcontents', 'biased'],
  ['harmful', 'malcontents', 'harmful'],
] as const;

/** Score from which on a language is taken for that of the text. */
const languageScore = 0.5;

/** A key is a token which names the service that it is for. */
function addressOf(ask: PartnerAsk): string {
  return ask.base(() => {
    const claims = parse(Buffer.from(ask.key.split('.')[1] ?? '', 'base64url'));
    const opaque = isPlain(claims) ? claims['opaque'] : null;
    const address = isPlain(opaque) ? opaque['apex-url'] : null;
    return typeof address === 'string' ? address : ask.need('baseUrl');
  });
}

const listOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.map((item) => String(item).toLowerCase()) : [];

/** Kinds to look for; without a list all that the service finds. */
function kindsIn(found: unknown, wanted: readonly string[]): string[] {
  const names = Object.keys(numbersIn(found)).map((name) => name.toLowerCase());
  return wanted.length === 0 ? names : names.filter((name) => wanted.includes(name));
}

/** `gibberish` must not be there; of the others the text must be in the one that is wanted. */
function isWrongLanguage(found: unknown, wanted: unknown): boolean {
  const scores = numbersIn(found);
  const isThere = (scores[String(wanted)] ?? 0) >= languageScore;
  if (wanted === 'gibberish') return isThere;
  return !isThere && Object.values(scores).some((score) => score >= languageScore);
}

interface Finding {
  readonly name: string;
  /** Does the answer's text have it masked? */
  readonly isMasked: boolean;
}

function findingsOf(extraction: PartnerAnswer, parameters: CheckParameters): Finding[] {
  const found: Finding[] = [];
  for (const [topic, group, name] of topics) {
    const score = numbersIn(extraction[group])[name];
    if (
      parameters[topic] === true &&
      score !== undefined &&
      score >= Number(parameters[`${topic}_threshold`])
    )
      found.push({ name: topic, isMasked: false });
  }
  if (
    parameters['language'] === true &&
    isWrongLanguage(extraction['languages'], parameters['language_values'])
  )
    found.push({ name: 'language', isMasked: false });
  for (const [kind, value] of [
    ['pii', extraction['PIIs'] ?? extraction['piIs']],
    ['secrets', extraction['secrets']],
  ] as const) {
    if (parameters[kind] !== true) continue;
    for (const name of kindsIn(value, listOf(parameters[`${kind}_categories`])))
      found.push({ name: `${kind}: ${name}`, isMasked: parameters[`${kind}_redact`] === true });
  }
  return found;
}

/** Kinds that the service is to mask. It masks what is named. */
function redactions(parameters: CheckParameters): string[] {
  return (['pii', 'secrets'] as const).flatMap((kind) =>
    parameters[kind] === true && parameters[`${kind}_redact`] === true
      ? listOf(parameters[`${kind}_categories`])
      : [],
  );
}

/** Acuvity's scan. github.com/acuvity/acuvity-python, POST /_acuvity/scan */
export const acuvity = partnerCheck({
  id: 'acuvity.scan',
  redacts: ['pii_redact', 'secrets_redact'],
  async judge(ask, parameters) {
    const { texts, phase } = ask.context;
    const answer = await ask.post(`${addressOf(ask)}/_acuvity/scan`, ask.bearer, {
      anonymization: 'FixedSize',
      messages: texts,
      redactions: redactions(parameters),
      type: phase === 'before' ? 'Input' : 'Output',
    });
    const extractions = records(answer['extractions']);
    if (extractions.length !== texts.length) throw ask.unexpected();
    const found = extractions.map((extraction) => findingsOf(extraction, parameters));
    const transformed = texts.map((text, i) => {
      const { data } = extractions[i]!;
      return found[i]!.some(({ isMasked }) => isMasked) && typeof data === 'string' ? data : text;
    });
    const isChanged = transformed.some((text, i) => text !== texts[i]);
    // What was to be masked and is still there counts as found.
    const verdict = found.every((all, i) =>
      all.every(({ isMasked }) => isMasked && transformed[i] !== texts[i]),
    );
    const data = { found: [...new Set(found.flat().map(({ name }) => name))] };
    return isChanged ? { verdict, data, transformed } : { verdict, data };
  },
});
