import { isPlain } from '../request/values.js';
import { partnerCheck, records, trueNames } from './partner.js';

/** Mistral's moderation. docs.mistral.ai/capabilities/guardrailing */
export const mistralModeration = partnerCheck({
  id: 'mistral.moderateContent',
  async judge(ask, { categories }) {
    const base = ask.base(() => 'https://api.mistral.ai');
    const answer = await ask.post(`${base}/v1/moderations`, ask.bearer, {
      model: 'mistral-moderation-latest',
      input: ask.context.texts.filter((text) => text.trim() !== ''),
    });
    const results = records(answer['results']);
    if (results.length === 0 || !results.every((result) => isPlain(result['categories'])))
      throw ask.unexpected();
    const flagged = new Set(results.flatMap((result) => trueNames(result['categories'])));
    const found = (categories as readonly string[]).filter((category) => flagged.has(category));
    return { verdict: found.length === 0, data: { found } };
  },
});
