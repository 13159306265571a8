import type { RemoteCheck } from '../../check.js';
import { ServiceFailed } from '../remote/calls.js';
import { isPlain } from '../request/values.js';
import { type PartnerAnswer, type PartnerAsk, partnerCheck } from './partner.js';

async function askPangea(
  ask: PartnerAsk,
  service: string,
  path: string,
  body: object,
): Promise<PartnerAnswer> {
  const base = ask.base(() => `https://${service}.${ask.need('domain')}`);
  const answer = await ask.post(`${base}${path}`, ask.bearer, body);
  if (answer['status'] !== 'Success' || !isPlain(answer['result']))
    throw new ServiceFailed(`${ask.name} could not judge the text.`);
  return answer['result'];
}

/** AI Guard. pangea.cloud/docs/api/ai-guard, POST /v1/text/guard */
const textGuard = partnerCheck({
  id: 'pangea.textGuard',
  async judge(ask, { recipe, debug, overrides }) {
    const body = { text: ask.context.text, recipe, debug, overrides };
    const { detectors, blocked } = await askPangea(ask, 'ai-guard', '/v1/text/guard', body);
    if (!isPlain(detectors)) throw ask.unexpected();
    const found = Object.keys(detectors).filter((name) => {
      const detector = detectors[name];
      return isPlain(detector) && detector['detected'] === true;
    });
    return { verdict: found.length === 0 && blocked !== true, data: { found } };
  },
});

/** Redact. pangea.cloud/docs/api/redact, POST /v1/redact_structured */
const pii = partnerCheck({
  id: 'pangea.pii',
  redacts: ['redact'],
  async judge(ask, { redact }) {
    const { texts } = ask.context;
    const { count, redacted_data: masked } = await askPangea(ask, 'redact', '/v1/redact_structured', {
      data: texts,
    });
    if (typeof count !== 'number') throw ask.unexpected();
    const data = { found: count };
    if (count === 0 || redact !== true) return { verdict: count === 0, data };
    if (
      !Array.isArray(masked) ||
      masked.length !== texts.length ||
      masked.some((text) => typeof text !== 'string')
    )
      throw ask.unexpected();
    return { verdict: true, data, transformed: masked as string[] };
  },
});

export const pangea: readonly RemoteCheck[] = [textGuard, pii];
