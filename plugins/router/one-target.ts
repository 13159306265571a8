import { GatewayError } from '../../src/common/core/errors.js';
import type { Exchange } from '../../src/common/core/exchange.js';
import type { RouteNode } from '../../src/common/core/target.js';
import { weightOf } from './balance/balance.js';
import { branchOf } from './balance/choose.js';

/** Files, batches and fine-tuning jobs, which exist with one provider only. */
const storedThings = /^\/v1\/(files|batches|fine_tuning)(\/|$)/;

/**
 * Refuses calls for files, batches and fine-tuning jobs where a strategy could choose among several targets: the next
 * call for the same file or job might go to another provider, which does not have it.
 */
export function requireOneTarget(x: Exchange): void {
  if (x.endpoint.format !== 'none' || x.config.root.kind === 'target') return;
  if (!storedThings.test(x.request.path) || !hasSeveral(x, x.config.root)) return;
  throw new GatewayError(
    'invalid_request',
    'Files, batches and fine-tuning jobs exist with one provider only: use a config with one target for them, or conditions that lead to one.',
    { param: 'x-gateway-config' },
  );
}

/** Could this call come to more than one target? Its conditions lead to one. */
function hasSeveral(x: Exchange, node: RouteNode): boolean {
  if (node.kind === 'target') return false;
  if (node.kind === 'conditional')
    return hasSeveral(x, node.children[branchOf(x, node)?.then ?? node.otherwise]!);
  const called =
    node.kind === 'fallback' ? node.children : node.children.filter((_, i) => weightOf(node, i) > 0);
  return called.length > 1 || called.some((child) => hasSeveral(x, child));
}
