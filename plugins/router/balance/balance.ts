import type { RouteNode } from '../../../src/common/core/target.js';

/** A load balancer of a config. */
export type Balance = Extract<RouteNode, { kind: 'loadbalance' }>;

export const weightOf = ({ cumulativeWeights: sums }: Balance, index: number): number =>
  sums[index]! - (sums[index - 1] ?? 0);
