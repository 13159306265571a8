import type { CacheStatus } from '../../src/common/core/cache.js';
import type { ErrorCode } from '../../src/common/core/errors.js';
import { noUsage, setKinds, type Usage } from '../../src/common/core/usage.js';
import { allLogs, type FilterBounds, type LogFilters } from '../../src/common/ledger/log-filters.js';
import type { TraceFeedback } from '../../src/common/ledger/logs/feedback.js';
import type { LedgerRow } from '../../src/common/ledger/record.js';
import { logRow } from './rows-ledger.js';
import { seeded } from './seeded.js';

/** Random requests of two organisations, and random filters, of a seed. */
export const org = 'org-1';
export const workspaces = ['w-1', 'w-2', 'w-3'];
export const keys = ['k-1', 'k-2', 'k-3', 'k-4'];
const metadataNames = ['team', 'a/b~c "d"', '_user', "o'clock"];

type Random = () => number;
const pick = <T>(random: Random, ...items: readonly T[]): T => items[Math.floor(random() * items.length)]!;
const nat = (random: Random, most: number): number => Math.floor(random() * (most + 1));
const maybe = <T>(random: Random, value: () => T): T | null => (random() < 0.15 ? null : value());

const models = Array.from({ length: 14 }, (_, i) => `model-${i}`);
const statuses = [200, 200, 200, 200, 201, 400, 429, 500, 499];

const idOf = (number: number): string => `0190a1b2-0000-7000-8000-${String(number).padStart(12, '0')}`;

/** `count` requests from `start` on, over `ms`. */
export function randomRows(seed: number, count: number, start: number, ms: number): LedgerRow[] {
  const random = seeded(seed);
  return Array.from({ length: count }, (_, number) => randomRow(random, number, start, ms));
}

function randomRow(random: Random, number: number, start: number, ms: number): LedgerRow {
  const status = pick(random, ...statuses);
  const attempts = 1 + nat(random, 2);
  const base = logRow(
    random() < 0.1 ? 'org-2' : org,
    pick(random, ...workspaces),
    idOf(number),
    random() < 0.5 ? idOf(number) : `trace-${nat(random, 20)}`,
  );
  const user = maybe(random, () => `user-${nat(random, 40)}`);
  const cache = pick<CacheStatus>(
    random,
    'DISABLED',
    'HIT',
    'MISS',
    'REFRESH',
    'SEMANTIC HIT',
    'SEMANTIC MISS',
  );
  const targets = Array.from(
    { length: attempts },
    (_, i) => `config.targets[${Math.min(i, nat(random, 2))}]`,
  );
  const metadata: Record<string, string> = {};
  for (const name of metadataNames) if (random() < 0.4) metadata[name] = `v${nat(random, 5)}`;
  if (user === null) delete metadata['_user'];
  else metadata['_user'] = user;
  return {
    ...base,
    state: random() < 0.02 ? 'unknown' : 'settled',
    at: start + nat(random, ms),
    workspace: random() < 0.03 ? null : base.workspace,
    key: maybe(random, () => pick(random, ...keys)),
    user,
    config: maybe(random, () => pick(random, 'pc-a', 'pc-b')),
    prompt: maybe(random, () => pick(random, 'pp-a', 'pp-b')),
    provider: maybe(random, () => pick(random, 'openai', 'anthropic', 'mistral')),
    slug: maybe(random, () => pick(random, 'main', 'second')),
    modelAsked: maybe(random, () => pick(random, ...models)),
    modelUsed: maybe(random, () => pick(random, ...models)),
    status,
    error:
      status === 200 && random() > 0.05
        ? null
        : status >= 400 || random() < 0.5
          ? ('upstream' as ErrorCode)
          : null,
    stream: random() < 0.5,
    totalMs: Math.round(Math.exp(random() * 10) * 1000) / 1000,
    firstByteMs: maybe(random, () => Math.round(Math.exp(random() * 7) * 1000) / 1000),
    attempts: targets.map((target) => ({ ...base.attempts[0]!, target })),
    retries: nat(random, 3),
    target: maybe(random, () => targets.at(-1)!),
    usage: randomUsage(random),
    cost: maybe(random, () => nat(random, 9e12)),
    cache,
    costSaved: cache.endsWith('HIT') ? maybe(random, () => nat(random, 9e12)) : null,
    metadata,
    span: maybe(random, () => `span-${nat(random, 9)}`),
  };
}

/** Sometimes with kinds that exceed what they are part of. */
function randomUsage(random: Random): Usage {
  const [input, output] = [nat(random, 5000), nat(random, 900)];
  if (random() < 0.1) return noUsage();
  const usage: Usage = { ...noUsage(), input, output, source: 'provider' };
  if (random() < 0.5) usage.cached = nat(random, input);
  if (random() < 0.3) usage.cacheWrite = nat(random, input - usage.cached);
  if (random() < 0.4) usage.reasoning = nat(random, output);
  if (random() < 0.2) {
    setKinds(
      usage,
      {
        ...{ cacheWriteHour: nat(random, 900), audioInput: nat(random, 3000), imageInput: nat(random, 3000) },
        ...{ audioCached: nat(random, 900), imageCached: nat(random, 900), audioOutput: nat(random, 500) },
        ...{ imageOutput: nat(random, 500), seconds: nat(random, 60), characters: nat(random, 900) },
      },
      pick(random, null, 'flex'),
    );
  }
  return usage;
}

/** Feedback on some of these requests, a few of them twice; it counts at the first of each trace in its workspace. */
export function randomFeedback(seed: number, rows: readonly LedgerRow[]): TraceFeedback[] {
  const random = seeded(seed);
  return rows.flatMap((row) => {
    if (row.workspace === null || random() < 0.8) return [];
    return Array.from({ length: 1 + nat(random, 1) }, (_, i) => ({
      ...{ id: `${row.id}:${i}`, org: row.org, workspace: row.workspace ?? '', trace: row.trace, key: null },
      ...{ guardrail: null, value: nat(random, 6) - 3, weight: pick(random, 1, 0.5, 0.25), metadata: {} },
      ...{ createdAt: row.at, updatedAt: Date.now(), rowId: null, rowAt: null },
    }));
  });
}

const bounds = (random: Random, most: number): FilterBounds => {
  if (random() < 0.7) return {};
  const [min, max] = [nat(random, most), nat(random, most)].sort((a, b) => a - b);
  return { ...(random() < 0.8 && { min }), ...(random() < 0.8 && { max }) };
};
const some = (random: Random, items: readonly string[]): readonly string[] =>
  random() < 0.8 ? [] : items.filter(() => random() < 0.5);

/** Filters that leave some of the requests. `at`: the time, which is always given. */
export function randomFilters(random: Random, at: FilterBounds): LogFilters {
  return {
    ...allLogs,
    at,
    totalTokens: bounds(random, 6000),
    inputTokens: bounds(random, 5000),
    outputTokens: bounds(random, 900),
    cost: bounds(random, 9e12),
    weightedFeedback: random() < 0.85 ? {} : { min: -1, max: 2 },
    statuses: random() < 0.8 ? [] : [200, 429],
    models: some(random, models),
    providerModels:
      random() < 0.9 ? [] : models.map((model) => ({ provider: pick(random, 'openai', 'mistral'), model })),
    providerSlugs: some(random, ['main', 'second', 'none']),
    configs: some(random, ['pc-a', 'pc-b']),
    prompts: some(random, ['pp-a']),
    keys: some(random, keys),
    traces: random() < 0.93 ? [] : ['trace-1', 'trace-2', idOf(5), "x' OR 1=1 --"],
    spans: some(random, ['span-1', 'span-2', 'span-3']),
    cacheStatuses: random() < 0.8 ? [] : ['HIT', 'SEMANTIC HIT', 'MISS'],
    metadata: random() < 0.8 ? {} : { [pick(random, ...metadataNames)]: `v${nat(random, 5)}` },
  };
}

/** Filters by one group each, which rollups of that group can answer. */
export const oneGroupFilters: readonly Partial<LogFilters>[] = [
  { models: ['model-1', 'model-7', 'none'] },
  { providerSlugs: ['main'] },
  { configs: ['pc-a'] },
  { prompts: ['pp-a', 'pp-b'] },
  { keys: ['k-1', 'k-3'] },
  { statuses: [200, 429] },
];

/** From minutes to years, around the time that has requests. */
export function randomRange(random: Random, start: number, ms: number): { min: number; max: number } {
  const length = pick(
    random,
    3_600_000,
    6 * 3_600_000,
    20 * 3_600_000,
    14 * 86_400_000,
    30 * 86_400_000,
    3 * ms,
  );
  const min = start - 3_600_000 + nat(random, ms);
  return { min, max: min + nat(random, length) };
}

/** Of more than two weeks, from any moment of a day to any other. */
export function longRange(random: Random, start: number, ms: number): { min: number; max: number } {
  const min = start - 86_400_000 + nat(random, ms / 2);
  return { min, max: min + 14 * 86_400_000 + 1 + nat(random, ms) };
}
