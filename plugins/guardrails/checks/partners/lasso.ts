import { partnerCheck, trueNames } from './partner.js';

/** Lasso's deputies. docs.lasso.security, POST /gateway/v2/classify */
export const lasso = partnerCheck({
  id: 'lasso.classify',
  async judge(ask) {
    const base = ask.base(() => 'https://server.lasso.security');
    const headers = { 'lasso-api-key': ask.key };
    const messages = [{ role: 'user', content: ask.context.text }];
    const answer = await ask.post(`${base}/gateway/v2/classify`, headers, { messages });
    if (typeof answer['violations_detected'] !== 'boolean') throw ask.unexpected();
    return { verdict: !answer['violations_detected'], data: { found: trueNames(answer['deputies']) } };
  },
});
