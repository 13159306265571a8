import { signAws } from '../../../../src/common/http/aws-signature.js';
import { headersFor, parse, ServiceFailed } from '../remote/calls.js';
import { isPlain } from '../request/values.js';
import { eachText, type PartnerAnswer, type PartnerAsk, partnerCheck, records } from './partner.js';

interface BedrockGuard {
  readonly guardrailId: string;
  readonly guardrailVersion: string;
  readonly redact: boolean;
}

/** What of a text was stopped, and what has only to be masked. */
interface Assessment {
  /** Policies that intervened, each with the names of its filters. */
  readonly found: ReadonlySet<string>;
  /** Texts that were found, and their kinds. */
  readonly sensitive: ReadonlyMap<string, string>;
  /** Did anything but sensitive information intervene? */
  readonly isBlocked: boolean;
  /** The text as the guardrail has masked it; null: it was not. */
  readonly masked: string | null;
}

const isIntervention = (action: unknown): boolean => action === 'BLOCKED' || action === 'ANONYMIZED';

function assessmentOf(answer: PartnerAnswer): Assessment {
  const found = new Set<string>();
  const sensitive = new Map<string, string>();
  let isBlocked = false;
  let canMask = true;
  for (const assessment of records(answer['assessments'])) {
    for (const [policy, filters] of Object.entries(assessment)) {
      if (!isPlain(filters) || !policy.endsWith('Policy')) continue;
      for (const item of Object.values(filters).flatMap(records)) {
        if (!isIntervention(item['action'])) continue;
        const kind = String(item['type'] ?? item['name'] ?? '');
        found.add(kind === '' ? policy : `${policy}: ${kind}`);
        if (policy !== 'sensitiveInformationPolicy') isBlocked = true;
        else if (typeof item['match'] === 'string' && item['match'] !== '')
          sensitive.set(item['match'], kind);
        if (item['action'] === 'BLOCKED') canMask = false;
      }
    }
  }
  const [output] = records(answer['outputs']);
  // Of a blocked text the output is the guardrail's own message.
  const masked = canMask && !isBlocked && typeof output?.['text'] === 'string' ? output['text'] : null;
  return { found, sensitive, isBlocked, masked };
}

async function apply(ask: PartnerAsk, guard: BedrockGuard, texts: readonly string[]): Promise<PartnerAnswer> {
  const region = ask.need('region');
  const base = ask.base(() => `https://bedrock-runtime.${region}.amazonaws.com`);
  const [id, version] = [guard.guardrailId, guard.guardrailVersion].map(encodeURIComponent);
  const headers = headersFor();
  headers.push('content-type', 'application/json');
  const call = {
    method: 'POST',
    url: `${base}/guardrail/${id}/version/${version}/apply`,
    headers,
    body: Buffer.from(
      JSON.stringify({
        source: ask.context.phase === 'before' ? 'INPUT' : 'OUTPUT',
        content: texts.map((text) => ({ text: { text } })),
      }),
    ),
  };
  const keys = {
    accessKeyId: ask.need('accessKeyId'),
    secretAccessKey: ask.need('accessKeySecret'),
    sessionToken: ask.credential('awsSessionToken') ?? null,
  };
  await signAws(call, keys, { service: 'bedrock', region });
  const { status, body } = await ask.context.send(call);
  if (status !== 200) throw new ServiceFailed(`${ask.name} answered with status ${status}.`);
  const json = parse(body);
  if (!isPlain(json) || typeof json['action'] !== 'string') throw ask.unexpected();
  return json;
}

/** The text without what was found; null: what was found is not there. */
function maskedText(text: string, { sensitive, masked }: Assessment): string | null {
  if (masked !== null) return masked;
  // The longest first: one may be part of another.
  const matches = [...sensitive].sort(([a], [b]) => b.length - a.length);
  if (matches.length === 0 || matches.some(([match]) => !text.includes(match))) return null;
  return matches.reduce((rest, [match, kind]) => rest.replaceAll(match, `{${kind}}`), text);
}

/**
 * A guardrail of Amazon Bedrock, ApplyGuardrail.
 * docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ApplyGuardrail.html
 */
export const bedrockGuard = partnerCheck({
  id: 'bedrock.guard',
  redacts: ['redact'],
  async judge(ask, parameters) {
    const guard = parameters as unknown as BedrockGuard;
    const { texts } = ask.context;
    if (!guard.redact) {
      const answer = await apply(
        ask,
        guard,
        texts.filter((text) => text.trim() !== ''),
      );
      const verdict = answer['action'] !== 'GUARDRAIL_INTERVENED';
      return { verdict, data: { action: answer['action'], found: [...assessmentOf(answer).found] } };
    }
    const found = new Set<string>();
    let verdict = true;
    let isChanged = false;
    const changed = await eachText(texts, async (text) => {
      const answer = await apply(ask, guard, [text]);
      if (answer['action'] !== 'GUARDRAIL_INTERVENED') return text;
      const assessment = assessmentOf(answer);
      for (const name of assessment.found) found.add(name);
      const masked = assessment.isBlocked ? null : maskedText(text, assessment);
      if (masked === null) verdict = false;
      else isChanged = true;
      return masked ?? text;
    });
    const data = { found: [...found] };
    if (!isChanged) return { verdict, data };
    return { verdict, data, transformed: texts.map((text, i) => changed[i] ?? text) };
  },
});
