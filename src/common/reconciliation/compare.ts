import type { LedgerUsage } from '../ledger/record.js';
import { type Amount, absolute, amountOfPicos, printAmount } from './amounts.js';
import type { UsageGroup } from './usage-groups.js';

/** The same number on both sides, and how much more the export has. */
export interface Sides<T> {
  readonly here: T;
  readonly there: T;
  readonly difference: T;
}

export interface Difference {
  readonly day: string;
  readonly key: string | null;
  readonly model: string | null;
  /** `missing_here`: the ledger has nothing; `missing_there`: the export has nothing. */
  readonly kind: 'missing_here' | 'missing_there' | 'different';
  /** null: the export has none. */
  readonly input: Sides<number> | null;
  readonly output: Sides<number> | null;
  readonly cost: Sides<Amount> | null;
  readonly unpriced: number;
  readonly lost: number;
}

/** What is compared. */
export interface ComparedColumns {
  readonly tokens: boolean;
  readonly costs: boolean;
}

export interface CompareOptions {
  /** Other names for keys of the export: slugs of integrations or stored providers. */
  readonly keyMap: ReadonlyMap<string, string>;
  readonly modelMap: ReadonlyMap<string, string>;
  /** Compare all keys together? So it is too where the export has none. */
  readonly ignoreKeys: boolean;
  /** Keys of the whole export, where it is compared in parts. */
  readonly keys: readonly string[];
  /** A name without the parts that do not change the price; for names that the other side does not have. */
  readonly shorter: (model: string) => string;
  /** A difference of a group's cost up to this is none. */
  readonly tolerance: Amount;
  /** null: what the export has. */
  readonly columns: ComparedColumns | null;
}

export interface Compared {
  readonly differences: readonly Difference[];
  /** Groups on both sides, and those that are on one. */
  readonly groups: number;
  readonly here: Totals;
  readonly there: Totals;
  /** Of all groups, none made up for by another. */
  readonly tokenDifference: number;
  readonly costDifference: Amount;
}

export interface Totals {
  readonly tokens: number;
  readonly cost: Amount;
}

interface Pair {
  readonly day: string;
  readonly key: string | null;
  readonly model: string | null;
  there: UsageGroup | null;
  here: Here | null;
}

interface Here {
  input: number;
  output: number;
  cost: Amount;
  calls: number;
  unpriced: number;
  lost: number;
}

/** Key of calls that named a provider themselves. */
export const directKey = 'direct';

/** Puts the groups of an export beside those of the ledger, and names what differs. */
export function compare(
  theirs: readonly UsageGroup[],
  ours: readonly LedgerUsage[],
  options: CompareOptions,
): Compared {
  const pairs = new Map<string, Pair>();
  const pairOf = (day: string, key: string | null, model: string | null): Pair => {
    const name = nameOf(day, key, model);
    const pair = pairs.get(name) ?? { day, key, model, there: null, here: null };
    pairs.set(name, pair);
    return pair;
  };
  const mapped = (key: string | null): string | null =>
    key === null ? null : (options.keyMap.get(key) ?? key);
  const keys = new Set([...theirs.map(({ key }) => key), ...options.keys].map(mapped));
  keys.delete(null);
  const noKeys = options.ignoreKeys || keys.size === 0;
  for (const group of theirs) {
    const key = noKeys ? null : mapped(group.key);
    const model = group.model === null ? null : (options.modelMap.get(group.model) ?? group.model);
    const pair = pairOf(group.day, key, model);
    pair.there = pair.there === null ? { ...group, key, model } : sum(pair.there, group);
  }
  for (const usage of ours) {
    const key = noKeys ? null : keyOf(usage, keys);
    addHere(pairOf(usage.day, key, usage.model), { ...usage, cost: amountOfPicos(usage.cost) });
  }
  join(pairs, options.shorter);
  return result([...pairs.values()], options.tolerance, options.columns ?? columnsOf(theirs));
}

/** What an export has; of one without usage it is not known, so that everything is compared. */
export const columnsOf = (groups: readonly UsageGroup[]): ComparedColumns => ({
  tokens: groups.length === 0 || groups.some(({ input, output }) => input !== null || output !== null),
  costs: groups.length === 0 || groups.some(({ cost }) => cost !== null),
});

const nameOf = (day: string, key: string | null, model: string | null): string =>
  `${day}\n${JSON.stringify(key)}\n${JSON.stringify(model)}`;

/** The name that the export has for what the call went through: the stored provider's slug, else the integration's. */
function keyOf({ slug, integration }: LedgerUsage, keys: ReadonlySet<string | null>): string {
  if (slug !== null && keys.has(slug)) return slug;
  return integration ?? slug ?? directKey;
}

const plus = (one: number | null, other: number | null): number | null =>
  one === null ? other : one + (other ?? 0);

const sum = (one: UsageGroup, other: UsageGroup): UsageGroup => ({
  ...one,
  input: plus(one.input, other.input),
  output: plus(one.output, other.output),
  cost: one.cost === null ? other.cost : one.cost + (other.cost ?? 0n),
});

function addHere(pair: Pair, usage: Here): void {
  pair.here ??= { input: 0, output: 0, cost: 0n, calls: 0, unpriced: 0, lost: 0 };
  const { here } = pair;
  here.input += usage.input;
  here.output += usage.output;
  here.cost += usage.cost;
  here.calls += usage.calls;
  here.unpriced += usage.unpriced;
  here.lost += usage.lost;
}

/** Models that one side names with a date and the other without: put together, on the same day under the same key. */
function join(pairs: Map<string, Pair>, shorter: (model: string) => string): void {
  const alone = [...pairs].filter(([, { there, here }]) => there === null || here === null);
  const byShort = new Map<string, [string, Pair][]>();
  for (const [name, pair] of alone) {
    if (pair.model === null) continue;
    const short = nameOf(pair.day, pair.key, shorter(pair.model));
    const same = byShort.get(short);
    if (same === undefined) byShort.set(short, [[name, pair]]);
    else same.push([name, pair]);
  }
  for (const same of byShort.values()) {
    if (same.every(([, { there }]) => there === null) || same.every(([, { here }]) => here === null))
      continue;
    const [first, ...others] = same.sort(
      ([, a], [, b]) => (a.there === null ? 1 : 0) - (b.there === null ? 1 : 0),
    );
    for (const [name, { there, here }] of others) {
      pairs.delete(name);
      const pair = first![1];
      if (there !== null) pair.there = pair.there === null ? there : sum(pair.there, there);
      if (here !== null) addHere(pair, here);
    }
  }
}

const nothing: Here = { input: 0, output: 0, cost: 0n, calls: 0, unpriced: 0, lost: 0 };

function result(pairs: readonly Pair[], tolerance: Amount, has: ComparedColumns): Compared {
  const differences: Difference[] = [];
  const here = { tokens: 0, cost: 0n };
  const there = { tokens: 0, cost: 0n };
  let groups = 0;
  let tokenDifference = 0;
  let costDifference = 0n;
  for (const pair of pairs) {
    const found = differenceOf(pair, has);
    const { input, output, cost } = found;
    groups++;
    for (const side of [input, output]) {
      here.tokens += side?.here ?? 0;
      there.tokens += side?.there ?? 0;
    }
    here.cost += cost?.here ?? 0n;
    there.cost += cost?.there ?? 0n;
    const isOff = cost !== null && absolute(cost.difference) > tolerance;
    const off = Math.abs(input?.difference ?? 0) + Math.abs(output?.difference ?? 0);
    if (!isOff && off === 0) continue;
    tokenDifference += off;
    if (isOff) costDifference += absolute(cost.difference);
    differences.push(found);
  }
  differences.sort(
    (a, b) =>
      a.day.localeCompare(b.day) ||
      (a.key ?? '').localeCompare(b.key ?? '') ||
      (a.model ?? '').localeCompare(b.model ?? ''),
  );
  return { differences, groups, here, there, tokenDifference, costDifference };
}

function differenceOf({ day, key, model, there, here }: Pair, has: ComparedColumns): Difference {
  const own = here ?? nothing;
  const sides = (a: number, b: number | null | undefined): Sides<number> | null =>
    has.tokens && (there === null || b !== null)
      ? { here: a, there: b ?? 0, difference: (b ?? 0) - a }
      : null;
  const cost = there === null ? 0n : there.cost;
  return {
    day,
    key,
    model,
    kind: here === null ? 'missing_here' : there === null ? 'missing_there' : 'different',
    input: sides(own.input, there?.input),
    output: sides(own.output, there?.output),
    cost: has.costs && cost !== null ? { here: own.cost, there: cost, difference: cost - own.cost } : null,
    unpriced: own.unpriced,
    lost: own.lost,
  };
}

export interface Thresholds {
  /** Percent of what the export has, as decimal text × 10^18. null: none. */
  readonly percent: Amount | null;
  readonly dollars: Amount | null;
}

/** Why the differences are an alarm; null: they are none. Without thresholds any difference is one. */
export function alarmOf(
  { costDifference, tokenDifference, there }: Pick<Compared, 'costDifference' | 'tokenDifference' | 'there'>,
  { percent, dollars }: Thresholds,
): string | null {
  if (costDifference === 0n && tokenDifference === 0) return null;
  if (percent === null && dollars === null) return 'There are differences.';
  if (dollars !== null && costDifference > dollars)
    return `Costs differ by $${printAmount(costDifference)}, more than $${printAmount(dollars)}.`;
  if (percent === null) return null;
  const limit = `more than ${printAmount(percent)} percent`;
  const hundred = 100n * 10n ** 18n;
  if (costDifference * hundred > percent * there.cost)
    return `Costs differ by $${printAmount(costDifference)} of $${printAmount(there.cost)}, ${limit}.`;
  if (BigInt(tokenDifference) * hundred > percent * BigInt(there.tokens))
    return `Tokens differ by ${tokenDifference} of ${there.tokens}, ${limit}.`;
  return null;
}
