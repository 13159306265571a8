import { isPlain } from '../request/values.js';
import { eachText, partnerCheck, records } from './partner.js';

const outcomes = ['cleared', 'flagged', 'redacted', 'blocked'];

/** F5 AI Guardrails, formerly CalypsoAI: a project's scanners. POST /backend/v1/scans */
export const f5 = partnerCheck({
  id: 'f5-guardrails.scan',
  redacts: ['redact'],
  async judge(ask, { redact, projectId }) {
    const { texts } = ask.context;
    const base = ask.base(() => 'https://us1.calypsoai.app');
    const project = projectId ?? ask.need('projectId');
    let failed = 0;
    const results = await eachText(texts, async (input) => {
      const answer = await ask.post(`${base}/backend/v1/scans`, ask.bearer, { input, project });
      const { result, redactedInput } = answer;
      const outcome = isPlain(result) ? result['outcome'] : null;
      if (typeof outcome !== 'string' || !outcomes.includes(outcome)) throw ask.unexpected();
      failed += records((result as Record<string, unknown>)['scannerResults']).filter(
        (scanner) => scanner['outcome'] === 'failed',
      ).length;
      const masked = redact === true && outcome === 'redacted' && typeof redactedInput === 'string';
      return { outcome, text: masked ? redactedInput : null };
    });
    const verdict = results.every((one) => one === null || one.outcome === 'cleared' || one.text !== null);
    const data = {
      outcomes: [...new Set(results.flatMap((one) => one?.outcome ?? []))],
      failedScanners: failed,
    };
    if (results.every((one) => one?.text == null)) return { verdict, data };
    return { verdict, data, transformed: texts.map((text, i) => results[i]?.text ?? text) };
  },
});
