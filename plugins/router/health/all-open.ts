import type { Exchange } from '../../../src/common/core/exchange.js';
import type { RouteNode } from '../../../src/common/core/target.js';
import { weightOf } from '../balance/balance.js';
import { branchOf } from '../balance/choose.js';
import type { OpenTargets } from './breaker.js';

/** Is there no target with a closed breaker? Targets that are due for a probe count as open. */
export function isAllOpen(x: Exchange, node: RouteNode, open: OpenTargets): boolean {
  if (node.kind === 'target') return open.has(node.path);
  if (node.kind === 'conditional') {
    return isAllOpen(x, node.children[branchOf(x, node)?.then ?? node.otherwise]!, open);
  }
  if (node.kind === 'loadbalance')
    return node.children.every((child, i) => weightOf(node, i) === 0 || isAllOpen(x, child, open));
  return node.children.every((child) => isAllOpen(x, child, open));
}
