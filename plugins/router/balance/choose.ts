import { shortQuery } from '../../../src/common/core/decision.js';
import type { Exchange } from '../../../src/common/core/exchange.js';
import {
  type Branch,
  type ResolvedConfig,
  type RouteNode,
  type Target,
  targetOf,
} from '../../../src/common/core/target.js';
import type { HostWith } from '../../../src/common/plugin-host/plugin.js';
import type { Health } from '../health/health.js';
import { type Balance, weightOf } from './balance.js';
import type { Meters } from './meters.js';
import { Sessions } from './sessions.js';

type Conditional = Extract<RouteNode, { kind: 'conditional' }>;

/** Nodes in the order in which they are tried; for example an array. */
export interface Sequence {
  readonly length: number;
  at(index: number): RouteNode | undefined;
}

/** Chooses among the children of a strategy. */
export class Chooser {
  constructor(
    readonly host: Pick<HostWith<'costs'>, 'random' | 'expectedCost'>,
    readonly health: Health,
    readonly meters: Meters,
    readonly sessions: Pick<Sessions, 'find'> = new Sessions(),
  ) {}

  /** The target of the first condition that holds, else the default. */
  branch(x: Exchange, node: Conditional): RouteNode {
    const branch = branchOf(x, node);
    const child = node.children[branch?.then ?? node.otherwise]!;
    x.decided({
      kind: 'branch',
      target: child.path,
      query: branch === null ? null : shortQuery(branch.query),
    });
    return child;
  }

  /** The child to try. Those with open breakers are skipped, unless all are open. */
  pick(x: Exchange, node: Balance): RouteNode {
    const { children } = node;
    if (node.by === 'weight' && node.sticky === null) {
      const drawn = children[this.#weighted(node.cumulativeWeights)]!;
      if (this.health.available(x, drawn)) {
        x.decided({ kind: 'pick', target: drawn.path, by: 'weight' });
        return drawn;
      }
    }
    return children[this.#among(x, node, none)]!;
  }

  /** Every child that may be tried, the best first, each chosen when needed. One of weight 0 is never tried. */
  inOrder(x: Exchange, node: Balance): Sequence {
    const asked = unweighted(node);
    const order: RouteNode[] = [];
    return {
      length: node.children.length - asked.size,
      at: (index) => {
        while (order.length <= index && asked.size < node.children.length) {
          const next = this.#among(x, node, asked);
          asked.add(next);
          order.push(node.children[next]!);
        }
        return order[index];
      },
    };
  }

  /** Index of the best child that was not tried yet. */
  #among(x: Exchange, node: Balance, asked: ReadonlySet<number>): number {
    // The usual case: nothing was tried before, and nothing is skipped.
    const isWhole = asked.size === 0 && this.health.open === 0;
    const open = isWhole ? positions(node.children.length) : this.#open(x, node, asked);
    if (node.sticky !== null) {
      const session = this.sessions.find(x, node, open);
      if (session !== null) {
        x.decided({ kind: 'pick', target: node.children[session]!.path, by: 'session' });
        return session;
      }
    }
    if (isWhole) return this.#best(x, node, open, node.cumulativeWeights);
    const sums: number[] = [];
    let total = 0;
    for (const index of open) {
      total += weightOf(node, index);
      sums.push(total);
    }
    return this.#best(x, node, open, sums);
  }

  /** The children that may be tried and were not yet: those with open breakers only if no other has weight. */
  #open(x: Exchange, node: Balance, asked: ReadonlySet<number>): readonly number[] {
    const left: number[] = [];
    const open: number[] = [];
    let weight = 0;
    for (let i = 0; i < node.children.length; i++) {
      if (asked.has(i)) continue;
      left.push(i);
      if (!this.health.available(x, node.children[i]!)) continue;
      open.push(i);
      weight += weightOf(node, i);
    }
    return weight === 0 ? left : open;
  }

  #best(x: Exchange, node: Balance, candidates: readonly number[], sums: readonly number[]): number {
    const first = this.#weighted(sums);
    const drawn = candidates[first]!;
    if (node.by === 'weight' || candidates.length === 1) {
      x.decided({ kind: 'pick', target: node.children[drawn]!.path, by: 'weight' });
      return drawn;
    }
    const score = this.scorer(x, node);
    let best = drawn;
    let lowest = score(best);
    let next = -1;
    let nextScore = Number.POSITIVE_INFINITY;
    // By latency, the better of two drawn children: otherwise all requests would choose the same one at the same time.
    const others = node.by === 'latency' ? [candidates[this.#other(sums, first)]!] : candidates;
    for (const index of others) {
      if (index === drawn || weightOf(node, index) === 0) continue;
      const its = score(index);
      if (its < lowest) {
        next = best;
        nextScore = lowest;
        best = index;
        lowest = its;
      } else if (next === -1 || its < nextScore) {
        next = index;
        nextScore = its;
      }
    }
    x.decided({
      kind: 'pick',
      target: node.children[best]!.path,
      by: node.by,
      score: lowest,
      next: node.children[next]?.path ?? null,
      nextScore,
    });
    return best;
  }

  /**
   * The figure of a child that the strategy compares, by its index: milliseconds, picodollars or requests in flight.
   * What is the same for all children is computed once.
   */
  scorer(x: Exchange, { by, children }: Balance): (index: number) => number {
    const score = this.#targetScorer(x, by);
    return (index) => least(x.config, children[index]!, score);
  }

  #targetScorer(x: Exchange, by: Balance['by']): (target: Target) => number {
    const { meters, host } = this;
    if (by === 'busy') return (target) => meters.of(x, target).inFlight;
    if (by === 'latency') {
      const now = performance.now();
      return (target) => meters.of(x, target).load(now);
    }
    const output = meters.expectedOutput(x);
    // A target of unknown price comes last.
    return (target) => host.expectedCost(x, target, output) ?? Number.POSITIVE_INFINITY;
  }

  /** The first index whose running sum exceeds the drawn share; one of weight 0 adds nothing and is never chosen. */
  #weighted(sums: readonly number[]): number {
    const last = sums.length - 1;
    const total = sums[last]!;
    const drawn = this.host.random() * total;
    for (let i = 0; i < last; i++) if (drawn < sums[i]! || sums[i] === total) return i;
    return last;
  }

  /** Another index than `first`, drawn by weight; the same if no other has weight. */
  #other(sums: readonly number[], first: number): number {
    const before = sums[first - 1] ?? 0;
    const own = sums[first]! - before;
    const rest = sums[sums.length - 1]! - own;
    if (rest <= 0) return first;
    let drawn = this.host.random() * rest;
    if (drawn >= before) drawn += own;
    for (let i = 0; i < sums.length; i++) if (i !== first && drawn < sums[i]!) return i;
    return first;
  }
}

/** The first condition that holds; null: none does. */
export function branchOf(x: Exchange, node: Conditional): Branch | null {
  for (const branch of node.branches) if (branch.test(x)) return branch;
  return null;
}

const none: ReadonlySet<number> = new Set();

const allPositions: number[][] = [];

/** 0, 1, … below `count`; shared, never written to. */
function positions(count: number): readonly number[] {
  const made = allPositions[count] ?? Array.from({ length: count }, (_, i) => i);
  allPositions[count] = made;
  return made;
}

function unweighted(node: Balance): Set<number> {
  const found = new Set<number>();
  for (let i = 0; i < node.children.length; i++) if (weightOf(node, i) === 0) found.add(i);
  return found;
}

/** The smallest score of the targets below a node. */
function least(config: ResolvedConfig, node: RouteNode, score: (target: Target) => number): number {
  if (node.kind === 'target') return score(targetOf(config, node));
  let lowest = Number.POSITIVE_INFINITY;
  for (const child of node.children) lowest = Math.min(lowest, least(config, child, score));
  return lowest;
}
