import { hash } from 'node:crypto';
import type { Exchange } from '../../../src/common/core/exchange.js';
import type { RouteNode, Target } from '../../../src/common/core/target.js';
import { type Hash, hashOf } from './hash.js';

const maxModel = 128;

/** The requested model as a part of a stored key: clients may send names of any length. */
export const modelKey = ({ modelAsked }: Exchange): string =>
  modelAsked === null || modelAsked.length <= maxModel ? (modelAsked ?? '') : modelAsked.slice(0, maxModel);

const maxName = 256;

/** A text as a part of a stored key: a long one by its hash. */
export const shortKey = (text: string): string =>
  text.length <= maxName ? text : hash('sha256', text, 'base64url');

const names = new WeakMap<Target, string>();

/**
 * Identity of a target, independent of its place in the config: its measurements survive a change of other targets. The
 * name counts: it distinguishes two targets of one provider.
 */
export function targetName(target: Target): string {
  let name = names.get(target);
  if (name === undefined) {
    const { provider, virtualKey, customHost, overrideParams } = target;
    const model = overrideParams?.['model'];
    const whole = JSON.stringify([
      target.name,
      provider,
      virtualKey,
      customHost,
      typeof model === 'string' ? model : null,
    ]);
    name = shortKey(whole);
    names.set(target, name);
  }
  return name;
}

function nodeName(node: RouteNode): string {
  return node.kind === 'target' ? targetName(node.target) : JSON.stringify(node.children.map(nodeName));
}

const hashes = new WeakMap<readonly RouteNode[], readonly Hash[]>();

/** Hashes of a node's children by their targets; equal ones are numbered. Computed once. */
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
