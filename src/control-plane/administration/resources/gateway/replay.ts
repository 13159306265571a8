import { createHash } from 'node:crypto';
import type { Replay, ReplayMove } from '../../../../../proto/messages.js';
import type { Explained, ExplainedNode } from '../../../../common/ipc/explained.js';
import type { LedgerRow } from '../../../../common/ledger/record.js';
import { dollarsOf } from '../../../../common/vocabulary/money.js';

/** A recorded request, and what a draft would do with it. */
export interface Replayed {
  readonly row: LedgerRow;
  /** The logged body; null: there is none. */
  readonly body: string | null;
  readonly explained: Explained;
}

/** A target that a request may go to, and how likely. */
interface Share {
  readonly target: string;
  readonly share: number;
  /** Picodollars; null: not known. */
  readonly cost: number | null;
}

/** What a target would have cost for a row's usage, in picodollars; null: not known. */
export type CostOf = (row: LedgerRow, target: ReplayTarget) => Promise<number | null>;

export interface ReplayTarget {
  readonly slug: string | null;
  readonly provider: string | null;
  readonly model: string | null;
}

type Json = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const field = (node: Json, name: string): unknown =>
  Object.entries(node).find(([key]) => snake(key) === name)?.[1];

/** The node of a draft at `config.targets[0].targets[1]`. */
function nodeAt(draft: unknown, path: string): Json {
  let at: unknown = draft;
  for (const [, index] of path.matchAll(/\.targets\[(\d+)\]/g)) {
    const targets: unknown = isObject(at) ? field(at, 'targets') : null;
    at = Array.isArray(targets) ? targets[Number(index)] : null;
  }
  return isObject(at) ? at : {};
}

const slugOf = (text: unknown): string | null =>
  typeof text === 'string' && text !== '' ? text.replace(/^@/, '').replace(/\/.*$/s, '') : null;

/** The target of a node as the draft writes it: `turn` 0 targets are not addressed by the plan. */
function targetOf(draft: unknown, node: ExplainedNode, row: LedgerRow): ReplayTarget {
  const written = nodeAt(draft, node.path);
  const provider = field(written, 'provider');
  const params = field(written, 'override_params');
  const model =
    node.model ??
    (isObject(params) && typeof params['model'] === 'string' ? params['model'] : row.modelAsked);
  const named = typeof provider === 'string' && provider.startsWith('@') ? slugOf(provider) : null;
  const inModel = model?.startsWith('@') === true ? slugOf(model) : null;
  return {
    slug: slugOf(field(written, 'virtual_key')) ?? named ?? inModel,
    provider: node.provider ?? (typeof provider === 'string' && !provider.startsWith('@') ? provider : null),
    model: model?.replace(/^@[^/]+\//, '') ?? null,
  };
}

const nameOf = ({ slug, provider, model }: ReplayTarget): string =>
  [slug === null ? provider : `@${slug}`, model].filter((word) => word !== null).join('/') || 'no target';

interface Tree {
  readonly node: ExplainedNode;
  readonly children: readonly Tree[];
}

function treeOf(nodes: readonly ExplainedNode[], at = 0): Tree {
  const node = nodes[at]!;
  const children: Tree[] = [];
  for (let i = at + 1; i < nodes.length && nodes[i]!.depth > node.depth; i++)
    if (nodes[i]!.depth === node.depth + 1) children.push(treeOf(nodes, i));
  return { node, children };
}

/** The first turn in a part of the tree; Infinity: none of it would be called. */
const firstTurn = ({ node, children }: Tree): number =>
  node.kind === 'target'
    ? node.turn || Number.POSITIVE_INFINITY
    : Math.min(Number.POSITIVE_INFINITY, ...children.map(firstTurn));

/** The targets that would be called first, each with its likelihood: weights are shares, everything else is decided. */
function firstTargets(draft: unknown, tree: Tree, share: number): { node: ExplainedNode; share: number }[] {
  const { node, children } = tree;
  if (node.kind === 'target') return [{ node, share }];
  if (children.length === 0) return [];
  const strategy = field(nodeAt(draft, node.path), 'strategy');
  const isByWeight = isObject(strategy) && field(strategy, 'mode') === 'loadbalance';
  if (isByWeight) {
    const weights = children.map(({ node: child }) => {
      const weight = field(nodeAt(draft, child.path), 'weight');
      return typeof weight === 'number' && !child.reason.startsWith('left alone') ? weight : 1;
    });
    const all = weights.reduce((sum, weight) => sum + weight, 0);
    if (all > 0)
      return children.flatMap((child, i) => firstTargets(draft, child, (share * weights[i]!) / all));
  }
  const first = [...children].sort((a, b) => firstTurn(a) - firstTurn(b))[0]!;
  return firstTargets(draft, first, share);
}

/** Exact repetitions that the draft's cache would have answered. Requests come in the order of their times. */
class Repetitions {
  readonly #seen = new Map<string, number>();

  /** Would this one have been answered? Remembers it where it got an answer. */
  take({ row, body, explained }: Replayed): boolean {
    const { cache } = explained;
    if (cache === null || body === null || explained.refused !== null) return false;
    const text = `${row.path}\n${cache.namespace ?? ''}\n${body}`;
    const key = createHash('sha256').update(text).digest('base64url');
    const at = this.#seen.get(key);
    const isHit = !cache.refresh && at !== undefined && row.at - at <= cache.maxAge * 1000;
    if (!isHit && row.status < 400) this.#seen.set(key, row.at);
    return isHit;
  }
}

const isHit = ({ cache }: LedgerRow): boolean => cache === 'HIT' || cache === 'SEMANTIC HIT';
/** Was the request refused by the gateway itself? */
const isRefused = ({ status, attempts, cache }: LedgerRow): boolean =>
  status >= 400 && status !== 499 && attempts.length === 0 && cache !== 'HIT';

function before(row: LedgerRow): string {
  if (isHit(row)) return 'cache';
  if (isRefused(row)) return 'refused';
  const last = row.attempts.at(-1);
  const model = last?.model ?? row.modelAsked;
  return nameOf({ slug: row.slug, provider: row.provider, model: model?.replace(/^@[^/]+\//, '') ?? null });
}

/** Compares recorded requests with what a draft would have done. `all`: the oldest first. */
export async function compare(
  draft: unknown,
  all: readonly Replayed[],
  costOf: CostOf,
): Promise<Omit<Replay, 'object' | 'requests' | 'with_body' | 'skipped'>> {
  const repetitions = new Repetitions();
  const moves = new Map<string, ReplayMove>();
  const refusals = new Map<string, { code: string; message: string; requests: number }>();
  const totals = {
    before: { cost: 0, refused: 0, cache_hits: 0 },
    after: { cost: 0, refused: 0, cache_hits: 0 },
  };
  let withoutCost = 0;
  for (const one of all) {
    const { row, explained } = one;
    const from = before(row);
    const to = await sharesOf(draft, one, repetitions.take(one), costOf);
    for (const { target, share } of to) {
      const key = `${from}\n${target}`;
      const known = moves.get(key);
      moves.set(key, { before: from, after: target, requests: (known?.requests ?? 0) + share });
    }
    if (from === 'refused') totals.before.refused += 1;
    if (from === 'cache') totals.before.cache_hits += 1;
    if (explained.refused !== null) {
      const { code, message } = explained.refused;
      const known = refusals.get(code) ?? { code, message, requests: 0 };
      refusals.set(code, { ...known, requests: known.requests + 1 });
      totals.after.refused += 1;
    } else if (to[0]?.target === 'cache') totals.after.cache_hits += 1;
    const was = from === 'cache' || from === 'refused' ? 0 : row.cost;
    const costs = to.map(({ share, cost }) => (cost === null ? null : cost * share));
    if (was === null || costs.includes(null)) withoutCost += 1;
    else {
      totals.before.cost += was;
      totals.after.cost += (costs as number[]).reduce((sum, cost) => sum + cost, 0);
    }
  }
  const inDollars = (of: typeof totals.before) => ({ ...of, cost: dollarsOf(of.cost) });
  const time = (row: LedgerRow | undefined): string | null => (row ? new Date(row.at).toISOString() : null);
  return {
    without_cost: withoutCost,
    oldest: time(all[0]?.row),
    newest: time(all.at(-1)?.row),
    before: inDollars(totals.before),
    after: inDollars(totals.after),
    moves: [...moves.values()].sort((a, b) => b.requests - a.requests || (a.after < b.after ? -1 : 1)),
    refusals: [...refusals.values()].sort((a, b) => b.requests - a.requests),
  };
}

async function sharesOf(draft: unknown, one: Replayed, isCached: boolean, costOf: CostOf): Promise<Share[]> {
  const { row, explained } = one;
  if (explained.refused !== null) return [{ target: 'refused', share: 1, cost: 0 }];
  if (isCached) return [{ target: 'cache', share: 1, cost: 0 }];
  const [root] = explained.nodes;
  const first = root === undefined ? [] : firstTargets(draft, treeOf(explained.nodes), 1);
  if (first.length === 0) return [{ target: 'no target', share: 1, cost: null }];
  const shares: Share[] = [];
  for (const { node, share } of first) {
    if (share === 0) continue;
    const target = targetOf(draft, node, row);
    shares.push({ target: nameOf(target), share, cost: await costOf(row, target) });
  }
  return shares;
}
