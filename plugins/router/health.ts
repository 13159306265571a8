import type { Exchange } from '../../src/core/exchange.js';
import type { RouteNode } from '../../src/core/target.js';

/** Which targets are worth asking. */
export interface Health {
  /** May this target, or any below this node, be asked now? */
  available(x: Exchange, node: RouteNode): boolean;
}
