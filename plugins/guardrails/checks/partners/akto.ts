import { partnerCheck } from './partner.js';

/** Akto's guardrails. Its customers have an address of their own, the plugin's `baseUrl`. */
export const akto = partnerCheck({
  id: 'akto.scan',
  async judge(ask) {
    const { text, model } = ask.context;
    const base = ask.base(() => 'https://1726615470-guardrails.akto.io');
    const payload = JSON.stringify({ prompt: text, model: model ?? 'unknown' });
    const answer = await ask.post(`${base}/api/validate/request`, ask.bearer, { payload });
    if (typeof answer['Allowed'] !== 'boolean') throw ask.unexpected();
    return {
      verdict: answer['Allowed'],
      data: { explanation: answer['Allowed'] ? 'Allowed.' : 'Blocked by a policy.' },
    };
  },
});
