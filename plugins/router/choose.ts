import type { Exchange } from '../../src/core/exchange.js';
import type { Host } from '../../src/core/plugin.js';
import type { RouteNode } from '../../src/core/target.js';

export type Balance = Extract<RouteNode, { kind: 'loadbalance' }>;

type Conditional = Extract<RouteNode, { kind: 'conditional' }>;

/** Chooses among the children of a strategy. */
export class Chooser {
  constructor(readonly host: Pick<Host, 'random'>) {}

  /** Index of the child that is asked. */
  pick(_x: Exchange, node: Balance): number {
    return weighted(node.cumulativeWeights, this.host.random());
  }

  /** The target of the first condition that holds, else the default. */
  branch(x: Exchange, node: Conditional): RouteNode {
    return node.children[node.branches.find(({ test }) => test(x))?.then ?? node.otherwise]!;
  }

  /** Every child that may be asked, the best first: for balancers with failover. */
  rank(x: Exchange, node: Balance): readonly RouteNode[] {
    const first = this.pick(x, node);
    const chosen = node.children[first]!;
    return [chosen, ...node.children.filter((child) => child !== chosen)];
  }
}

/** The first child whose running sum lies above the drawn share; one of weight 0 adds nothing and is never it. */
function weighted(sums: readonly number[], random: number): number {
  const last = sums.length - 1;
  const total = sums[last]!;
  const drawn = random * total;
  for (let i = 0; i < last; i++) if (drawn < sums[i]! || sums[i] === total) return i;
  return last;
}
