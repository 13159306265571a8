import type { Exchange } from '../../../src/common/core/exchange.js';
import type { RouteNode } from '../../../src/common/core/target.js';

/** Which targets are worth asking. */
export interface Health {
  /** How many breakers are open, of all configs: 0, and every target may be asked. */
  readonly open: number;
  /** May this target, or any below this node, be asked now? */
  available(x: Exchange, node: RouteNode): boolean;
}
