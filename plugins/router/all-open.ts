import type { Exchange } from '../../src/core/exchange.js';
import type { RouteNode } from '../../src/core/target.js';
import type { OpenTargets } from './breaker.js';
import { branchOf, weightOf } from './choose.js';

/** Is no target left that may be asked? Also of those that are due to be probed: alone they are asked by everybody. */
export function isAllOpen(x: Exchange, node: RouteNode, open: OpenTargets): boolean {
  if (node.kind === 'target') return open.has(node.path);
  if (node.kind === 'conditional') {
    return isAllOpen(x, node.children[branchOf(x, node)?.then ?? node.otherwise]!, open);
  }
  if (node.kind === 'loadbalance')
    return node.children.every((child, i) => weightOf(node, i) === 0 || isAllOpen(x, child, open));
  return node.children.every((child) => isAllOpen(x, child, open));
}
