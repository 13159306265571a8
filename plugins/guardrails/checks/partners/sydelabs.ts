import { partnerCheck, records } from './partner.js';

/** Categories, and the parameters that limit them. */
const thresholds = {
  PROMPT_INJECT: 'prompt_injection_threshold',
  TOXIC: 'toxicity_threshold',
  EVASION: 'evasion_threshold',
} as const;

/** SydeGuard: a score by category. */
export const sydeguard = partnerCheck({
  id: 'sydelabs.sydeguard',
  async judge(ask, parameters) {
    const base = ask.base(() => 'https://guard.sydelabs.ai');
    const headers = { 'x-api-key': ask.key };
    const answer = await ask.post(`${base}/api/v1/guard/generate-score`, headers, {
      prompt: ask.context.text,
    });
    if (!Array.isArray(answer['category_scores'])) throw ask.unexpected();
    const scores = Object.fromEntries(
      records(answer['category_scores']).map(({ category, score }) => [String(category), Number(score)]),
    );
    const found = Object.entries(thresholds).flatMap(([category, parameter]) =>
      (scores[category] ?? 0) > Number(parameters[parameter]) ? [category] : [],
    );
    return { verdict: found.length === 0, data: { found, scores } };
  },
});
