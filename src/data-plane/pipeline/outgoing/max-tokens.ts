import type { Exchange } from '../../../common/core/exchange.js';
import type { Target } from '../../../common/core/target.js';
import { maxTokensIn } from '../../providers/client-formats/max-tokens.js';

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
