import type { Exchange } from '../../src/core/exchange.js';
import type { RouteNode, Target } from '../../src/core/target.js';
import { type Hash, hashOf } from './hash.js';

const maxModel = 128;

/** The model asked for, as a part of a key that is kept: clients may call models what they like, at any length. */
export const modelKey = ({ modelAsked }: Exchange): string =>
  modelAsked === null || modelAsked.length <= maxModel ? (modelAsked ?? '') : modelAsked.slice(0, maxModel);

const names = new WeakMap<Target, string>();

/**
 * Whom a target asks, wherever it stands in its config: what is remembered of it outlives a change of the others. The
 * name counts: who gives two targets one provider tells them apart by it.
 */
export function targetName(target: Target): string {
  let name = names.get(target);
  if (name === undefined) {
    const { provider, virtualKey, customHost, overrideParams } = target;
    const model = overrideParams?.['model'];
    name = JSON.stringify([
      target.name,
      provider,
      virtualKey,
      customHost,
      typeof model === 'string' ? model : null,
    ]);
    names.set(target, name);
  }
  return name;
}

function nodeName(node: RouteNode): string {
  return node.kind === 'target' ? targetName(node.target) : JSON.stringify(node.children.map(nodeName));
}

const hashes = new WeakMap<readonly RouteNode[], readonly Hash[]>();

/** The children of a node by what they ask; of those that ask the same, each by its turn. Made once. */
export function childHashes(children: readonly RouteNode[]): readonly Hash[] {
  let made = hashes.get(children);
  if (made === undefined) {
    const seen = new Map<string, number>();
    made = children.map((child) => {
      const name = nodeName(child);
      const turn = seen.get(name) ?? 0;
      seen.set(name, turn + 1);
      return hashOf(`${name}\n${turn}`);
    });
    hashes.set(children, made);
  }
  return made;
}
