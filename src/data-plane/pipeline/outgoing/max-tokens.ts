import type { Exchange } from '../../../common/core/exchange.js';
import type { Target } from '../../../common/core/target.js';
import { maxTokensIn } from '../../providers/client-formats/max-tokens.js';

/** The longest answer that was asked for; null: none was named. */
export function maxTokens(x: Exchange, target: Target | null): number | null {
  const asked = limitIn(target?.overrideParams) ?? limitIn(x.request.json) ?? limitIn(target?.defaultParams);
  return typeof asked === 'number' ? asked : null;
}

const limitIn = (body: Readonly<Record<string, unknown>> | null | undefined): unknown =>
  body === null || body === undefined ? null : maxTokensIn(body);
