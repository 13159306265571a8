import { expect } from 'chai';
import type { LedgerRow } from '../../../src/common/ledger/record.js';
import { scaled } from '../time-limits.js';
import type { Totals } from './load.js';
import { boundedKeys, type Case, embedTarget, lentTarget } from './plan.js';
import { billOf, nanosOf } from './prices.js';
import type { Call, MoneyProvider } from './provider.js';
import type { Rule, World } from './world.js';

/** One try of a request, as the ledger has it. */
export interface Try {
  readonly slug: string;
  readonly model: string;
  readonly input: number;
  readonly output: number;
  /** null: nothing was used, or it is not known. */
  readonly source: 'provider' | 'counted' | null;
  readonly cost: number | null;
  readonly status: number;
  readonly error: string | null;
  readonly startedAt: number;
  readonly isSent: boolean;
  /** Is it known that it was? */
  readonly isSure: boolean;
  readonly text: string;
}

/** Errors of tries that were never sent. */
const unsent =
  /^0[456]$|_rate_limited$|^rate_limits_policy_exceeded$|breaker|limits_unavailable|store_unavailable|concurrency/;

/** A try that ended with one of these, and of which nothing is known, may not have been sent. */
const unsure = new Set(['client_gone', 'hedge_lost', 'request_timeout']);

export const isHit = ({ cache }: LedgerRow): boolean => cache === 'HIT' || cache === 'SEMANTIC HIT';
/** A request that the gateway made for another one. */
export const isAside = ({ metadata }: LedgerRow): boolean =>
  Object.keys(metadata).some((name) => /^_(mirror|cache_check|cache_embedding)_of$/.test(name));

/** The row of a single try has its usage. */
export function triesOf(row: LedgerRow): Try[] {
  const { attempts, usage, cost } = row;
  if (isHit(row)) return [];
  return attempts.map((attempt) => {
    const own = attempts.length === 1 ? { ...attempt, usage, cost } : attempt;
    const used = own.usage === null || own.usage.source === 'none' ? null : own.usage;
    const model = (row.target === own.target ? row.modelUsed : null) ?? own.model ?? '';
    return {
      ...{ slug: own.slug ?? '', model, cost: own.cost, status: own.status, error: own.error },
      ...{ startedAt: own.startedAt, input: used?.input ?? 0, output: used?.output ?? 0 },
      source: used === null ? null : (used.source as 'provider' | 'counted'),
      isSent: own.error === null ? own.status !== 0 : !unsent.test(own.error),
      isSure: own.status !== 0 || used !== null || (own.error !== null && !unsure.has(own.error)),
      text: textOf(
        own.slug ?? '',
        used ?? { input: 0, output: 0, cached: 0, cacheWrite: 0, reasoning: 0 },
        own.cost,
      ),
    };
  });
}

const textOf = (
  slug: string,
  used: { input: number; output: number; cached: number; cacheWrite: number; reasoning: number },
  cost: number | bigint | null,
): string =>
  `${slug} ${used.input} in, ${used.output} out, ${used.cached} cached, ${used.cacheWrite} written, ${used.reasoning} reasoning: ${cost ?? 'no price'}`;

/** What a call that the provider reported has to be in the ledger. */
function entryOf({ target, report, bill }: Call): string {
  const { prompt_tokens_details: prompt, completion_tokens_details: completion } = report!;
  const used = {
    ...{ input: report!.prompt_tokens, output: report!.completion_tokens },
    cached: prompt?.cached_tokens ?? 0,
    cacheWrite: prompt?.cache_write_tokens ?? 0,
    reasoning: completion?.reasoning_tokens ?? 0,
  };
  return textOf(target, used, bill);
}

/** The texts of `all` that `others` lacks, each as often as it does. */
function missing(all: readonly string[], others: readonly string[]): string[] {
  const left = [...others];
  return all.filter((text) => {
    const at = left.indexOf(text);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

const byName = <T>(all: readonly T[], nameOf: (one: T) => string): Map<string, T[]> => {
  const groups = new Map<string, T[]>();
  for (const one of all) {
    const group = groups.get(nameOf(one));
    if (group === undefined) groups.set(nameOf(one), [one]);
    else group.push(one);
  }
  return groups;
};

/** The rows against the calls of the provider: none is missing, none was made up, each at its price. */
export function judgeCalls(
  rows: readonly LedgerRow[],
  provider: MoneyProvider,
  cases: readonly Case[],
  wasKilled: boolean,
): void {
  const inexact = new Set<string>();
  for (const { leavesAfter, way, question, name } of cases)
    if (leavesAfter !== null || way === 'hedge' || way === 'late') inexact.add(question ?? name);
  // A row whose outcome was lost has no metadata.
  const nameOf = ({ endpoint, metadata, user }: LedgerRow): string =>
    endpoint === 'embeddings' ? embedTarget : (metadata['who'] ?? user ?? '');
  const rowsOf = byName(rows, nameOf);
  for (const [who, calls] of byName(provider.calls, (call) => call.who ?? embedTarget)) {
    const own = rowsOf.get(who) ?? [];
    const tries = own.flatMap(triesOf);
    const unknown = own.filter(({ state }) => state === 'unknown').length;
    for (const [target, ofTarget] of byName(calls, (call) => call.target)) {
      const recorded = tries.filter(({ slug, isSent }) => slug === target && isSent).length;
      if (unknown === 0)
        expect(recorded, `tries of ${who} at ${target} in the ledger`).to.be.at.least(ofTarget.length);
    }
    if (unknown > 0) expect(wasKilled, `${who} is unknown`).to.equal(true);
    const inLedger = tries.filter(({ source }) => source === 'provider').map(({ text }) => text);
    const sent = calls.filter(({ report }) => report !== null);
    expect(missing(inLedger, sent.map(entryOf)), `${who}: made up`).to.deep.equal([]);
    if (inexact.has(who) || wasKilled) continue;
    const delivered = sent.filter(({ isDelivered }) => isDelivered).map(entryOf);
    expect(missing(delivered, inLedger), `${who}: lost`).to.deep.equal([]);
  }
  for (const row of rows) {
    const tries = triesOf(row);
    if (row.state === 'unknown') continue;
    for (const { source, cost, input, output, slug, model, text } of tries) {
      if (source !== 'counted') continue;
      const report = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
      const bill = billOf(report, model, slug === lentTarget, null);
      if (
        !row.attempts.some(({ usage }) => usage?.kinds !== undefined || (usage?.cached ?? 0) > 0) &&
        row.usage.kinds === undefined
      )
        expect(cost === null ? null : BigInt(cost), `${row.trace}: ${text}`).to.equal(bill);
    }
    const priced = tries.flatMap(({ cost }) => (cost === null ? [] : [cost]));
    const sum = priced.reduce((all, one) => all + one, 0);
    expect(row.cost, `cost of ${row.trace}`).to.equal(isHit(row) ? 0 : priced.length === 0 ? null : sum);
  }
}

/** A limit or budget, and whose part of it: that of this key, target, team and model. */
export interface Meter {
  readonly on: string;
  readonly name: string;
  readonly kind: 'rate' | 'budget';
  readonly type: string;
  readonly value: number;
  readonly left: number;
  /** null: everyone's. */
  readonly of: Sample | null;
}

/** A request of which it is asked what limits it would meet. */
export interface Sample {
  readonly key: string;
  readonly target: string;
  readonly team: string;
  readonly model: string;
}

/** At least and at most: of some tries it is not known whether they were sent. */
export type Range = readonly [least: bigint, most: bigint];

const isPerTry = ({ on, name }: Meter): boolean =>
  on === 'virtual_key' || on === 'integration' || / by (model|provider)$/.test(name);

function isOf({ on, name, of }: Meter, row: LedgerRow, one: Try): boolean {
  if (of === null) return true;
  if (on === 'api_key' || name.endsWith(' by api_key')) return row.key === of.key;
  if (on === 'virtual_key' || name.endsWith(' by provider')) return one.slug === of.target;
  if (on === 'integration') return one.slug === lentTarget;
  if (name.endsWith(' by model')) return one.slug === of.target && one.model === of.model;
  return on === 'workspace' || row.metadata['team'] === of.team;
}

/** What a row adds to it: nanodollars, tokens or requests. */
export function usedOf(meter: Meter, row: LedgerRow): Range {
  const isOnce = !isPerTry(meter);
  // Rate limits of the whole request do not see what the gateway asks on its own; budgets do, what it costs.
  if (isOnce && isAside(row) && (meter.kind === 'rate' || meter.type === 'requests')) return [0n, 0n];
  const tries = triesOf(row).filter((one) => one.isSent && isOf(meter, row, one));
  if (meter.type === 'requests') {
    const count = (all: readonly Try[]): bigint => BigInt(isOnce ? Math.min(1, all.length) : all.length);
    return [count(tries.filter(({ isSure }) => isSure)), count(tries)];
  }
  const amounts = tries.map(({ cost, input, output }) =>
    meter.type === 'tokens' ? BigInt(input + output) : cost === null ? 0n : nanosOf(BigInt(cost)),
  );
  const sum = amounts.reduce((all, one) => all + one, 0n);
  return [sum, sum];
}

/** What the rows have used of it. */
export function usedOfAll(meter: Meter, rows: readonly LedgerRow[]): Range {
  let [least, most] = [0n, 0n];
  for (const row of rows) {
    const [from, to] = usedOf(meter, row);
    least += from;
    most += to;
  }
  return [least, most];
}

const nanosPerDollar = 1e9;
/** As it counts. */
export const inUnits = ({ type }: Pick<Meter, 'type'>, amount: number): bigint =>
  BigInt(Math.round(type === 'cost' ? amount * nanosPerDollar : amount));

/** What is left of every limit and budget, to the token and the nanodollar. */
export function judgeMeters(meters: readonly Meter[], rows: readonly LedgerRow[]): void {
  const wrong = new Set<string>();
  // What Redis has counted for an answer that came too late stays until the window is over.
  const late = new Set<string | null>(['limits_unavailable', 'store_unavailable']);
  const wasLate = rows.some(
    ({ error, attempts }) => late.has(error) || attempts.some((one) => late.has(one.error)),
  );
  for (const meter of meters) {
    const { on, name, kind, type, left, value, of } = meter;
    if (type === 'concurrency') continue;
    const [least, most] = usedOfAll(meter, rows);
    const all = inUnits(meter, value);
    const has = inUnits(meter, left);
    const rest = (used: bigint): bigint => (used > all ? 0n : all - used);
    if (has <= rest(least) && (has >= rest(most) || (wasLate && kind === 'rate'))) continue;
    const who = `${kind} ${on} ${name} ${type} of ${JSON.stringify(of)}`;
    wrong.add(`${who}: ${has} left of ${all}, and ${least} to ${most} used`);
  }
  expect([...wrong]).to.deep.equal([]);
}

/** Limits of requests under way at the same time that have any. */
export const underWayOf = (meters: readonly Meter[]): readonly Meter[] =>
  meters.filter(({ type, left, value }) => type === 'concurrency' && left !== value);

/** No limit of requests lets more through, nor one of tokens or money whose requests say how much they may use. */
export function judgeValues({ budgets, rates, keys }: World, rows: readonly LedgerRow[]): void {
  for (const rule of budgets) {
    if (!isStrict(rule)) continue;
    const charged = [...chargedOf(rows)].filter(([name]) => isNameOf(rule, name, keys));
    for (const [name, amount] of charged)
      expect(amount <= inUnits(rule, rule.value), `${amount} of ${rule.value} ${name}`).to.equal(true);
  }
  for (const rule of rates) {
    if (!isStrict(rule) || rule.type === 'concurrency') continue;
    const key = rule.on === 'api_key' ? keys[Number(rule.of)]!.id : '';
    const of = rule.on === 'workspace' ? null : { key, target: rule.of, team: '', model: '' };
    const [least] = usedOfAll({ ...rule, name: '', kind: 'rate', left: 0, of }, rows);
    expect(least <= BigInt(rule.value), `${least} of ${JSON.stringify(rule)}`).to.equal(true);
  }
}

/** Milliseconds after which no worker has anything of a budget any more that it was granted ahead: a second, and half of one. */
const knownWithinMs = 1500;

/** Nothing is sent once what had ended before has used a budget up: only requests under way may exceed it. */
export function judgeExceeded(rows: readonly LedgerRow[]): void {
  const requests = new Map<string, { began: number; ended: number; amount: bigint; limit: bigint }[]>();
  for (const { at, totalMs, attempts, charges, error, state } of rows)
    for (const [budget, , , limit, , amount] of charges ?? []) {
      // What the client has left, or was lost, is known later.
      const isKnown = state === 'settled' && error === null;
      const times = { began: at + (attempts[0]?.startedAt ?? 0), ended: isKnown ? at + totalMs : Infinity };
      const all = requests.get(budget) ?? [];
      requests.set(budget, all);
      if (amount > 0) all.push({ ...times, amount: BigInt(amount), limit: BigInt(limit) });
    }
  for (const [budget, all] of requests)
    for (const { began, limit } of all) {
      const before = all.filter(({ ended }) => ended < began - scaled(knownWithinMs));
      const used = before.reduce((sum, { amount }) => sum + amount, 0n);
      expect(used < limit, `${used} of ${limit} used of ${budget}, and another was sent`).to.equal(true);
    }
}

const isStrict = ({ on, of, type }: Rule): boolean =>
  on !== 'policy' && (type === 'requests' || (on === 'api_key' && Number(of) < boundedKeys));

/** Is a budget of the ledger that of a rule? */
const isNameOf = (rule: Rule, budget: string, keys: World['keys']): boolean => {
  const [, on, id, type] = budget.split('/');
  if (type !== rule.type) return false;
  if (rule.on === 'policy') return id === rule.id;
  if (on !== rule.on) return false;
  return on === 'api_key' ? id === keys[Number(rule.of)]!.id : on !== 'virtual_key' || id === rule.id;
};

const picosPerCent = 1e10;

/** Analytics show the sums of the rows. */
export function judgeTotals({ requests, cost, tokens }: Totals, rows: readonly LedgerRow[]): void {
  const picos = rows.reduce((sum, row) => sum + BigInt(row.cost ?? 0), 0n);
  const used = rows.reduce((sum, { usage }) => sum + usage.input + usage.output, 0);
  expect({ requests, tokens }).to.deep.equal({ requests: rows.length, tokens: used });
  expect(cost).to.be.closeTo(Number(picos) / picosPerCent, 1e-6);
}

/** What the administration shows as used, against what the rows have charged, and that against what the tries used. */
export function judgeUsage(
  { budgets, keys }: World,
  rows: readonly LedgerRow[],
  usage: ReadonlyMap<Rule, number>,
): void {
  const sums = chargedOf(rows);
  const settled = rows.filter(({ state }) => state === 'settled');
  const ofSettled = chargedOf(settled);
  const sumOf = (all: ReadonlyMap<string, bigint>, rule: Rule): bigint =>
    [...all].reduce((sum, [name, amount]) => (isNameOf(rule, name, keys) ? sum + amount : sum), 0n);
  for (const rule of budgets) {
    const shown = usage.get(rule);
    expect(shown === undefined ? null : inUnits(rule, shown), `shown of ${JSON.stringify(rule)}`).to.equal(
      sumOf(sums, rule),
    );
    const key = rule.on === 'api_key' ? keys[Number(rule.of)]!.id : '';
    const isAll = rule.on === 'policy' || rule.on === 'workspace';
    const of = isAll ? null : { key, target: rule.of, team: '', model: '' };
    const name = rule.on === 'policy' ? ` by ${rule.of}` : '';
    const [least, most] = usedOfAll({ ...rule, name, kind: 'budget', left: 0, of }, settled);
    const charged = sumOf(ofSettled, rule);
    expect(
      charged >= least && charged <= most,
      `${charged} charged, ${least} to ${most} used of ${JSON.stringify(rule)}`,
    ).to.equal(true);
  }
}

/** What each row has charged to a budget, by the budget and its period, in its unit. */
export function chargedOf(rows: readonly LedgerRow[]): Map<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const { charges } of rows)
    for (const [budget, , , , , amount] of charges ?? [])
      sums.set(budget, (sums.get(budget) ?? 0n) + BigInt(amount));
  return sums;
}

/** Calls that were under way at the same time, of those of which it is known when they were: never more than allowed. */
export function judgeUnderWay({ rates }: World, provider: MoneyProvider, cases: readonly Case[]): void {
  const caseOf = new Map(cases.map((one) => [one.name, one]));
  for (const { on, of, type, value } of rates) {
    if (type !== 'concurrency' || (on !== 'api_key' && on !== 'virtual_key')) continue;
    const edges: [number, number][] = [];
    for (const { who, target, arrivedAt, endedAt } of provider.calls) {
      const asked = caseOf.get(who ?? '');
      if (asked === undefined || endedAt === null || asked.leavesAfter !== null) continue;
      if (!/^(single|balance|retry|fallback)$/.test(asked.way)) continue;
      if (on === 'api_key' ? asked.key !== Number(of) : target !== of) continue;
      edges.push([arrivedAt, 1], [endedAt, -1]);
    }
    edges.sort(([at, more], [other, less]) => at - other || more - less);
    let [now, most] = [0, 0];
    for (const [, more] of edges) {
      now += more;
      most = Math.max(most, now);
    }
    expect(most, `calls of ${on} ${of} at a time`).to.be.at.most(value);
  }
}
