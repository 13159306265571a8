import type { Exchange } from '../../../common/core/exchange.js';
import type { Target } from '../../../common/core/target.js';
import { type ServiceTier, serviceTier } from '../../../common/core/usage.js';
import { answersIn, maxTokensIn } from '../../providers/client-formats/max-tokens.js';

/** The limit of the answer's tokens; null: the request has none. */
export function maxTokens(x: Exchange, target: Target | null): number | null {
  const { json } = x.request;
  const overrides = target === null ? null : target.overrideParams;
  const defaults = target === null ? null : target.defaultParams;
  const asked =
    (overrides && maxTokensIn(overrides)) ??
    (json && maxTokensIn(json)) ??
    (defaults && maxTokensIn(defaults));
  return typeof asked === 'number' ? asked : null;
}

/** The number of answers that the client or the rules of its target ask for. */
export function answers(x: Exchange, target: Target | null): number {
  const { json } = x.request;
  if (target === null || (target.overrideParams === null && target.defaultParams === null))
    return json === null ? 1 : answersIn(json);
  return answersIn({ ...target.defaultParams, ...json, ...target.overrideParams });
}

/** The service tier that the client or its target asks for; null: the usual one, or the provider's choice. */
export function askedTier(x: Exchange, target: Target | null): ServiceTier | null {
  const field = 'service_tier';
  const { overrideParams = null, defaultParams = null } = target ?? {};
  return serviceTier(overrideParams?.[field] ?? x.request.json?.[field] ?? defaultParams?.[field]);
}
