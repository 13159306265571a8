import { isPlain } from '../request/values.js';
import { partnerCheck } from './partner.js';

const actions = ['ALLOW', 'DETECT', 'BLOCK'];

/** Zscaler AI Guard: one policy. POST /v1/detection/execute-policy */
export const zscaler = partnerCheck({
  id: 'zscalerAiGuard.zscalerAiGuardCheck',
  async judge(ask, { policyId }) {
    const { phase, text } = ask.context;
    const base = ask.base(() => 'https://api.zseclipse.net');
    const answer = await ask.post(`${base}/v1/detection/execute-policy`, ask.bearer, {
      policyId,
      direction: phase === 'before' ? 'IN' : 'OUT',
      content: text,
    });
    const { action, detectorResponses: detectors } = answer;
    if (typeof action !== 'string' || !actions.includes(action)) throw ask.unexpected();
    const found = Object.entries(isPlain(detectors) ? detectors : {}).flatMap(([name, detector]) =>
      isPlain(detector) && detector['triggered'] === true ? [name] : [],
    );
    return { verdict: action !== 'BLOCK', data: { action, found } };
  },
});
