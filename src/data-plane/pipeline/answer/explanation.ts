import { describeDecision } from '../../../common/core/decision.js';
import type { Exchange } from '../../../common/core/exchange.js';

/** A longer text is not put in a header: clients and proxies refuse long header blocks. */
const maxBytes = 4 * 1024;

/**
 * The explanation of an exchange's answer, as JSON for a header: cache status, decisions, attempts. Where
 * that is too long, the last decisions are left out, and `cut` is true.
 */
export function explanation(x: Exchange, headerJson: (value: unknown) => string): string {
  const attempts = x.attempts.map(({ target, provider, model, status, error, startedAt, durationMs }) => ({
    target,
    provider,
    model,
    status,
    error,
    started_at_ms: Math.round(startedAt),
    duration_ms: Math.round(durationMs),
  }));
  const whole = { cache: x.cache, target: x.target?.path ?? null, decisions: [] as unknown[], attempts };
  let length = headerJson(whole).length;
  for (const decision of x.route ?? []) {
    const described = describeDecision(decision);
    length += headerJson(described).length + 1;
    if (length > maxBytes) return headerJson({ ...whole, cut: true });
    whole.decisions.push(described);
  }
  return headerJson(whole);
}
