import type { Exchange } from '../../../src/common/core/exchange.js';
import type { RouteNode } from '../../../src/common/core/target.js';

/** The availability of targets. */
export interface Health {
  /** The number of open breakers of all configs; 0: every target may be called. */
  readonly open: number;
  /** May this target, or any below this node, be called now? */
  available(x: Exchange, node: RouteNode): boolean;
}
