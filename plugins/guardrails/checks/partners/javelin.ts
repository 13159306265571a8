import { isPlain } from '../request/values.js';
import { partnerCheck, records } from './partner.js';

/** Javelin: the guardrails of an application. POST /v1/guardrails/apply */
export const javelin = partnerCheck({
  id: 'javelin.guardrails',
  async judge(ask) {
    const base = ask.base(() => `https://${ask.credential('domain') ?? 'api-dev.javelin.live'}`);
    const answer = await ask.post(
      `${base}/v1/guardrails/apply`,
      { 'x-javelin-apikey': ask.key, 'x-javelin-application': ask.need('application') },
      { input: { text: ask.context.text }, config: {}, metadata: {} },
    );
    const assessments = records(answer['assessments']);
    if (assessments.length === 0) throw ask.unexpected();
    const found = assessments.flatMap((assessment) =>
      Object.entries(assessment).flatMap(([name, value]) =>
        isPlain(value) && value['request_reject'] === true ? [name] : [],
      ),
    );
    return { verdict: found.length === 0, data: { found } };
  },
});
