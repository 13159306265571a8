import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import { allLogs } from '../../src/common/ledger/log-filters.js';
import type { LedgerFeedbacks } from '../../src/common/ledger/logs/feedback.js';
import type { LedgerRow } from '../../src/common/ledger/record.js';
import { costOf } from '../../src/common/prices/price.js';
import { createPricing } from '../../src/common/prices/pricing.js';
import { ReplacementPrices, whatIf } from '../../src/control-plane/administration/usage/what-if.js';
import { dayMs, hourMs, minuteMs } from '../../src/control-plane/analytics/buckets.js';
import { Follower } from '../../src/control-plane/analytics/duckdb/follower.js';
import { PostgresAnalytics } from '../../src/control-plane/analytics/postgres.js';
import {
  type AnalyticsQuestion,
  type AnswerTo,
  type GraphName,
  type GroupName,
  type GroupsQuestion,
  groupColumns,
  groupFigures,
} from '../../src/control-plane/analytics/question.js';
import { PostgresCopies } from '../../src/control-plane/analytics/rollups/postgres-copies.js';
import { PostgresRollups } from '../../src/control-plane/analytics/rollups/postgres-rollups.js';
import type { BudgetLedger, Ledger } from '../../src/control-plane/ledger/ledger.js';
import { openPostgresLedger, type PostgresLedger } from '../../src/control-plane/ledger/postgres/ledger.js';
import { openLedger } from '../../src/control-plane/ledger/sql.js';
import {
  longRange,
  oneGroupFilters,
  org,
  randomFeedback,
  randomFilters,
  randomRange,
  randomRows,
  workspaces,
} from '../support/analytics-rows.js';
import { eventually } from '../support/gateway.js';
import { isWhole } from '../support/long-forms.js';
import {
  countsOf,
  feedbackOf,
  isSuccess,
  matches,
  modelOf,
  placeFeedback,
  plainCacheSummary,
  plainGraphsByName,
  plainGroup,
  weighted,
} from '../support/plain-analytics.js';
import { seeded } from '../support/seeded.js';
import { folder, forEachStore } from '../support/stores.js';
import { scaled } from '../support/time-limits.js';

const start = Date.parse('2026-09-01T05:00:00Z');
const spanMs = 40 * dayMs;
// The long form (`npm run test:long`) asks 500 questions about 20,000 requests.
const count = Number(process.env['ANALYTICS_ROWS'] ?? 2000);
const questions = Number(process.env['ANALYTICS_QUESTIONS'] ?? (isWhole ? 6 : 3));
const node = '0190a1b2-0000-7000-8000-0000000000a1';
const seed = Number(process.env['ANALYTICS_SEED'] ?? 17);
const rows = randomRows(seed, count, start, spanMs);
const feedback = randomFeedback(seed, rows);
placeFeedback(rows, feedback);

const groupOf: Readonly<Record<GroupName, (row: LedgerRow) => string | number | null>> = {
  ai_service: ({ provider }) => provider,
  model: modelOf,
  status_code: ({ status }) => status,
  api_key: ({ key }) => key,
  config: ({ config }) => config,
  workspace: ({ workspace }) => workspace,
  provider: ({ slug }) => slug,
  prompt: ({ prompt }) => prompt,
};

/** Percentiles to 2 %, all else to what additions of fractions lose. */
function expectSame(found: unknown, wanted: unknown, path: string): void {
  if (typeof wanted === 'number' && typeof found === 'number') {
    const share = /p\d\d/.test(path) ? 0.02 : 1e-9;
    if (Math.abs(found - wanted) > Math.abs(wanted) * share + 1e-9)
      expect.fail(`${path}: ${found} in place of ${wanted}`);
  } else if (typeof wanted === 'object' && wanted !== null && typeof found === 'object' && found !== null) {
    // By hand first: there are a hundred thousand of them.
    const names = Object.keys(wanted);
    if (Object.keys(found).length !== names.length || !names.every((name) => Object.hasOwn(found, name)))
      expect(Object.keys(found).sort(), path).to.deep.equal(names.sort());
    for (const [name, value] of Object.entries(wanted))
      expectSame((found as Record<string, unknown>)[name], value, `${path}.${name}`);
  } else if (found !== wanted) expect(found, path).to.equal(wanted);
}

const countCells = (of: string): string =>
  `SELECT rolled_by AS name, CAST(count(*) AS DOUBLE PRECISION) AS cells FROM day_values WHERE org = '${of}' GROUP BY 1`;
const numbersOf = (found: readonly object[]): Record<string, number> =>
  Object.fromEntries(
    (found as { name: string; cells: number }[]).map(({ name, cells }) => [name, Number(cells)]),
  );

const widthOf = (ms: number): number => (ms <= 6 * hourMs ? minuteMs : ms <= 14 * dayMs ? hourMs : dayMs);

describe('analytics', function () {
  this.timeout(scaled(count > 5000 ? 900_000 : 60_000));
  forEachStore(({ dialect, options }) => {
    let ledger: Ledger & { readonly feedbacks: LedgerFeedbacks };
    let ask: <Q extends AnalyticsQuestion>(question: Q) => Promise<AnswerTo<Q>>;
    let rollUp: () => Promise<unknown>;
    /** Has the file of DuckDB what the ledger has, and its rollups? */
    let isCurrent = false;
    /** How many cells names of metadata have. */
    let cellsOfValues: (org: string) => Promise<Readonly<Record<string, number>>>;
    let close = async (): Promise<void> => {};

    const batch = (given: readonly LedgerRow[]) => ({
      settled: { packed: null, rows: given.filter(({ state }) => state === 'settled') },
      unknown: given.filter(({ state }) => state === 'unknown'),
      positions: new Map(),
      opened: [],
      closed: [],
    });

    before(async () => {
      const dataDir = folder();
      const { databaseUrl = null } = dialect === 'sqlite' ? {} : await options(dataDir);
      if (databaseUrl === null) {
        const opened = await openLedger({ dataDir });
        ledger = opened;
        const follower = await Follower.open(dataDir);
        ask = async (question) => {
          if (!isCurrent) {
            isCurrent = true;
            await follower.catchUp(60_000);
            // All of these days are over.
            await follower.rollUp(Number.POSITIVE_INFINITY, 0);
          }
          return follower.file.ask(question);
        };
        rollUp = async () => {
          isCurrent = false;
        };
        const [apply, expire] = [opened.apply.bind(opened), opened.expire.bind(opened)];
        Object.assign(opened, {
          apply(...given: Parameters<typeof apply>) {
            isCurrent = false;
            return apply(...given);
          },
          expire(...given: Parameters<typeof expire>) {
            isCurrent = false;
            return expire(...given);
          },
        });
        cellsOfValues = async (org) => numbersOf(await follower.file.rows(countCells(org), []));
        close = () => follower.close();
      } else {
        const shared = await openPostgresLedger({ url: databaseUrl, node });
        ledger = shared;
        const analytics = new PostgresAnalytics(shared.statements);
        const rollups = new PostgresRollups((work) => shared.statements.apart(work));
        ask = (question) => analytics.ask(question);
        const copies = new PostgresCopies((work) => shared.statements.apart(work));
        rollUp = async () => {
          await rollups.rollUp(start + 3 * spanMs);
          await copies.copy(start + 3 * spanMs, Number.POSITIVE_INFINITY);
          await rollups.rollUpWeeks();
        };
        cellsOfValues = async (org) => numbersOf(await shared.statements.read(countCells(org), []));
      }
      for (let from = 0; from < rows.length; from += 2000)
        await ledger.apply(batch(rows.slice(from, from + 2000)));
      await rollUp();
      // Changes the days that are rolled up.
      await ledger.feedbacks.add(feedback);
      if (seed % 2 === 1) await rollUp();
    });
    after(async () => {
      await close();
      await ledger?.close();
    });

    beforeEach(() => {
      isCurrent = false;
    });

    const cases = () => {
      const random = seeded(seed + 1);
      return Array.from({ length: questions }, (_, number) => {
        // Every third one can be answered by rollups of days.
        const isRolled = number % 3 === 0;
        const range = isRolled ? longRange(random, start, spanMs) : randomRange(random, start, spanMs);
        const isPlain = isRolled || random() < 0.1;
        const one = number % 2 === 1 ? oneGroupFilters[number % oneGroupFilters.length] : {};
        const filters = isPlain ? { ...allLogs, ...one, at: range } : randomFilters(random, range);
        const sight = {
          org,
          workspaces: random() < 0.6 ? null : workspaces.slice(1),
          except: random() < 0.8 ? [] : ['w-3'],
          keys: isRolled || random() < 0.7 ? null : ['k-1', 'k-2'],
        };
        const about = { sight, filters };
        return { about, range, found: rows.filter((row) => matches(row, about)), random };
      });
    };

    it('draws graphs that equal a plain computation', async () => {
      for (const { about, range, found } of cases()) {
        const width = widthOf(range.max - range.min);
        const byBucket = new Map<number, LedgerRow[]>();
        for (const row of found) {
          const bucket = Math.floor(row.at / width) * width;
          const others = byBucket.get(bucket);
          if (others === undefined) byBucket.set(bucket, [row]);
          else others.push(row);
        }
        for (const [graph, plain] of Object.entries(plainGraphsByName)) {
          const groupBy = null;
          const answer = await ask({ kind: 'graph', graph: graph as GraphName, range, groupBy, ...about });
          expectSame(answer.summary, plain.summary(found), `${graph} summary`);
          const first = Math.floor(range.min / width) * width;
          const before: LedgerRow[] = [];
          answer.points.forEach(({ timestamp, ...point }, index) => {
            expect(timestamp, `${graph} buckets`).to.equal(first + index * width);
            const own = byBucket.get(first + index * width) ?? [];
            before.push(...own);
            expectSame(point, plain.point(own, before), `${graph} ${String(timestamp)}`);
          });
          expect(answer.points.length).to.equal(
            Math.floor(range.max / width) - Math.floor(range.min / width) + 1,
          );
        }
        const codes = await ask({
          kind: 'graph',
          graph: 'errors/status-codes',
          range,
          groupBy: null,
          ...about,
        });
        const wanted = countsOf(
          found.filter((row) => !isSuccess(row)),
          ({ status }) => status,
        );
        expect(codes.points).to.deep.equal(wanted.map(([status_code, of]) => ({ status_code, count: of })));
        expect(codes.summary['unique_error_codes']).to.equal(wanted.length);
        expectSame(await ask({ kind: 'cache', ...about }), plainCacheSummary(found), 'cache summary');
      }
    });

    it('answers filters by one group, and about own keys, as a plain computation does', async () => {
      const range = { min: start - dayMs, max: start + spanMs - dayMs / 3 };
      const sight = { org, workspaces: workspaces.slice(1), except: [], keys: null };
      const own = { ...sight, keys: ['k-2', 'k-4'] };
      const all = [
        ...oneGroupFilters.map((filters) => ({ sight, filters: { ...allLogs, ...filters, at: range } })),
        { sight: own, filters: { ...allLogs, at: range } },
        { sight: own, filters: { ...allLogs, keys: ['k-1', 'k-2'], at: range } },
        { sight: own, filters: { ...allLogs, models: ['model-1'], at: range } },
      ];
      for (const about of all) {
        const found = rows.filter((row) => matches(row, about));
        const name = JSON.stringify(about);
        const graph = { kind: 'graph', groupBy: null, range, ...about } as const;
        for (const graphName of [
          'requests',
          'cost',
          'users',
          'latency',
          'cache/hit-rate',
          'feedbacks',
        ] as const) {
          const answer = await ask({ ...graph, graph: graphName });
          expectSame(answer.summary, plainGraphsByName[graphName]!.summary(found), `${graphName} ${name}`);
        }
        expectSame(await ask({ kind: 'cache', ...about }), plainCacheSummary(found), name);
        const page = {
          orderBy: 'requests',
          isDescending: true,
          offset: 0,
          limit: 100,
          hasTotal: true,
        } as const;
        for (const column of Object.keys(groupColumns) as GroupName[]) {
          const of = (row: LedgerRow) => groupOf[column](row)?.toString() ?? null;
          const figures = ['cost', 'p95_latency', 'error_count'] as const;
          const groups = await ask({ kind: 'groups', by: { column }, figures, ...page, ...about });
          expect(groups.total, `${column} ${name}`).to.equal(new Set(found.map(of)).size);
          for (const { key, figures: found_ } of groups.rows) {
            const { requests, cost, p95_latency, error_count } = plainGroup(
              found.filter((row) => of(row) === key),
            );
            expectSame(found_, { requests, cost, p95_latency, error_count }, `${column} ${key} ${name}`);
          }
        }
      }
    });

    it('counts feedback by its value and by model, at the first request of its trace', async () => {
      for (const { about, range, found } of cases()) {
        const graph = { kind: 'graph', range, groupBy: null, ...about } as const;
        const scores = await ask({ ...graph, graph: 'feedbacks/scores' });
        const values = found.flatMap(feedbackOf).map(({ value }) => value);
        const wanted = [...new Set(values)].sort((a, b) => a - b);
        expect(scores.summary).to.deep.equal({ total: values.length });
        expect(scores.points).to.deep.equal(
          wanted.map((score) => ({ score, total: values.filter((value) => value === score).length })),
        );
        const models = await ask({ ...graph, graph: 'feedbacks/ai-models' });
        const having = found.filter((row) => feedbackOf(row).length > 0);
        expect(models.points.length).to.equal(new Set(having.map(modelOf)).size);
        for (const { ai_model, ...figures } of models.points) {
          const own = having.filter((row) => modelOf(row) === ai_model);
          expectSame(
            figures,
            { total: own.flatMap(feedbackOf).length, avg_weighted_feedback: weighted(own) },
            String(ai_model),
          );
        }
      }
    });

    it('adds a series for each of the ten groups with the most requests, and one for the others', async () => {
      for (const { about, range, found, random } of cases().slice(0, Math.ceil(questions / 2))) {
        const names = Object.keys(groupColumns) as GroupName[];
        const groupBy = names[Math.floor(random() * names.length)]!;
        const of = groupOf[groupBy];
        for (const graph of ['requests', 'cost', 'tokens', 'latency', 'ttft', 'errors'] as const) {
          const { series } = await ask({ kind: 'graph', graph, range, groupBy, ...about });
          const counts = countsOf(found, of).sort(([, a], [, b]) => b - a);
          expect(series?.length).to.equal(Math.min(11, counts.length));
          const own = new Set(series?.flatMap(({ key, isOther }) => (isOther ? [] : [key])));
          for (const { key, isOther, summary, points } of series ?? []) {
            const part = found.filter((row) => {
              const value = of(row);
              const text = value === null ? null : String(value);
              return isOther ? !own.has(text) : text === key;
            });
            expectSame(summary, plainGraphsByName[graph]!.summary(part), `${graph} by ${groupBy} ${key}`);
            const totals = points.map((point) => Number(point['total'] ?? 0)).reduce((a, b) => a + b, 0);
            if (graph === 'requests') expect(totals).to.equal(part.length);
          }
        }
      }
    });

    it('groups requests as a plain computation does, in any order, page by page', async () => {
      const orders = groupFigures.filter((name) => name !== 'avg_weighted_feedback');
      const figures = groupFigures;
      for (const { about, found, random } of cases()) {
        const names = Object.keys(groupColumns) as GroupName[];
        const column = names[Math.floor(random() * names.length)]!;
        const orderBy = orders[Math.floor(random() * orders.length)]!;
        const isDescending = random() < 0.5;
        const question = {
          kind: 'groups',
          by: { column },
          figures,
          orderBy,
          isDescending,
          hasTotal: true,
          ...about,
        } as const;
        const all = await ask({ ...question, offset: 0, limit: 1000 });
        const counts = new Map(countsOf(found, (row) => groupOf[column](row)?.toString() ?? null));
        expect(all.total).to.equal(counts.size);
        expect(all.rows.length).to.equal(counts.size);
        for (const { key, figures: of } of all.rows) {
          const own = found.filter((row) => (groupOf[column](row)?.toString() ?? null) === key);
          const ofFeedback = {
            avg_weighted_feedback: weighted(own),
            requests_with_feedback: own.filter((row) => feedbackOf(row).length > 0).length,
          };
          expectSame(of, { ...plainGroup(own), ...ofFeedback }, `${column} ${key}`);
        }
        const order = all.rows.map(({ figures: of }) => Number(of[orderBy]) * (isDescending ? -1 : 1));
        expect(order).to.deep.equal([...order].sort((a, b) => a - b));
        const second = await ask({ ...question, offset: 1, limit: 1 });
        expect(second.rows).to.deep.equal(all.rows.slice(1, 2));
      }
    });

    it('groups by users and by names of metadata, and lists their values, commonest first', async () => {
      for (const { about, found } of cases()) {
        const wanted = {
          figures: ['cost'],
          orderBy: 'requests',
          isDescending: true,
          offset: 0,
          limit: 1000,
          hasTotal: true,
        } as const;
        const users = await ask({ kind: 'groups', by: { user: true }, ...wanted, ...about });
        expect(users.total).to.equal(new Set(found.flatMap(({ user }) => user ?? [])).size);
        for (const { key, figures } of users.rows)
          expect(figures['requests']).to.equal(found.filter(({ user }) => user === key).length);
        for (const name of ['a/b~c "d"', "o'clock", 'team', '_user', 'none']) {
          const having = found.filter(({ metadata }) => metadata[name] !== undefined);
          const groups = await ask({ kind: 'groups', by: { metadata: name }, ...wanted, ...about });
          const values = await ask({ kind: 'values', name, limit: 3, ...about });
          const counts = countsOf(having, ({ metadata }) => metadata[name]!);
          expect(groups.total).to.equal(counts.length);
          expect(groups.rows.reduce((sum, { figures }) => sum + Number(figures['requests']), 0)).to.equal(
            having.length,
          );
          expect(values.total).to.equal(counts.length);
          expect(values.values).to.deep.equal(groups.rows.slice(0, 3).map(({ key }) => key));
        }
      }
    });

    it('adds up what requests used by all that a price depends on, so that they can be priced again', async () => {
      const plain = createPricing({
        prices: {
          openai: {
            'model-x': {
              ...{ input: 3, output: 7, cached: 1, cacheWrite: 4, cacheWriteHour: 6, reasoning: 9 },
              ...{ audioInput: 11, audioCached: 2, imageInput: 5, audioOutput: 13, imageOutput: 8 },
              ...{ character: 1, second: 0.001, request: 0.002 },
              above: { tokens: 3000, input: 6, output: 14 },
              tiers: { flex: 0.5 },
            },
          },
        },
      });
      const quote = plain.quoteOf('openai', 'model-x')!;
      for (const { about, found } of cases()) {
        const { groups } = await ask({ kind: 'usage', longInputs: [3000], ...about });
        const to = { provider: 'openai', model: 'model-x' };
        const names = groups.flatMap(({ provider, model }) =>
          provider === null || model === null ? [] : [`${provider}__${model}`],
        );
        const replacements = new Map(names.map((name) => [name, to]));
        const store = { integrations: {}, modelPrices: { of: async () => [] } } as never;
        const prices = new ReplacementPrices(store, plain, org);
        const { total, models } = await whatIf(groups, replacements, prices, [3000]);
        const isUsed = ({ state, usage, cache }: LedgerRow): boolean =>
          state === 'settled' && usage.source !== 'none' && !cache.endsWith('HIT');
        const wanted = found.reduce(
          (sum, row) =>
            sum +
            (isUsed(row) && row.provider !== null && modelOf(row) !== null
              ? costOf(row.usage, quote.price)
              : (row.cost ?? 0)),
          0,
        );
        expect(total.requests).to.equal(found.length);
        expect(total.cost).to.be.closeTo(
          found.reduce((sum, { cost }) => sum + (cost ?? 0), 0),
          1e6,
        );
        expect(total.whatIfCost).to.be.closeTo(wanted, 1e6);
        expect(models.reduce((sum, { requests }) => sum + requests, 0)).to.equal(found.length);
      }
    });

    it('counts a request once whose outcome was lost and reported after all', async () => {
      const lost = rows.find((row) => row.state === 'unknown' && row.org === org)!;
      const about = {
        sight: { org, workspaces: null, except: [], keys: null },
        filters: allLogs,
      };
      const range = { min: lost.at, max: lost.at };
      const filters = { ...about.filters, at: range };
      const total = async (graph: GraphName) => {
        const answer = await ask({ kind: 'graph', graph, groupBy: null, range, ...about, filters });
        return answer.summary['total'];
      };
      const before = { requests: await total('requests'), errors: Number(await total('errors')) };
      const { length } = rows.filter((row) => matches(row, { ...about, filters }));
      expect(before.requests).to.equal(length);
      await ledger.apply(batch([{ ...lost, state: 'settled', status: 200, error: null }]));
      expect(await total('requests')).to.equal(length);
      expect(await total('errors')).to.equal(before.errors - 1);
    });

    it('answers whatever numbers, metadata and lengths single rows have', async () => {
      const plain = { ...rows[0]!, org: 'org-3', state: 'settled' as const, at: start };
      const texts = ['v', '\ud800', 'v'.repeat(3_000_000), 'a\0b'];
      const hostile = texts.map((text, i) => ({
        ...plain,
        ...{
          id: `0190a1b2-0000-7000-9000-00000000000${i}`,
          retries: i === 0 && dialect === 'sqlite' ? 2 ** 53 - 1 : 0,
        },
        metadata: { team: text },
      }));
      await ledger.apply(batch(hostile));
      const about = {
        sight: { org: 'org-3', workspaces: null, except: [], keys: null },
        filters: allLogs,
      };
      const { total } = await ask({ kind: 'values', name: 'team', limit: 10, ...about });
      // Metadata beyond 64 KiB is left out of the file of DuckDB.
      // PostgreSQL reads no JSON with a NUL.
      expect(total).to.equal(3);
    });

    it('groups by metadata of which days have more names, values or characters than are rolled up', async () => {
      const about = { sight: { org: 'org-4', workspaces: null, except: [], keys: null } };
      const at = (day: number, i: number): number => (Math.floor(start / dayMs) + day) * dayMs + i;
      const made = (day: number, i: number, metadata: Record<string, string>): LedgerRow => ({
        ...{ ...rows[0]!, org: 'org-4', workspace: `w-${i % 2}`, state: 'settled' },
        ...{ id: `0190a1b2-0000-7000-a000-0${day}${String(i).padStart(10, '0')}`, at: at(day, i), metadata },
      });
      const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
      const given = [
        // Of `many` each workspace has more values than are kept.
        ...numbers(4200).map((i) => made(1, i, { many: `v${i}`, few: `v${i % 3}` })),
        ...numbers(300).map((i) => made(2, i, { [`name-${i % 240}`]: 'v', few: 'v1', many: `v${i % 7}` })),
        ...numbers(9).map((i) => made(3, i, { few: `v${i}`, long: i === 8 ? 'v'.repeat(5000) : 'v' })),
        ...numbers(5).map((i) => made(4, i, i === 0 ? {} : { few: 'v0', none: '' })),
      ];
      for (let from = 0; from < given.length; from += 1000)
        await ledger.apply(batch(given.slice(from, from + 1000)));
      await rollUp();
      const wanted = { figures: ['cost'], orderBy: 'requests', isDescending: true, offset: 0 } as const;
      const range = { min: at(0, 0), max: at(30, 0) };
      for (const name of ['many', 'few', 'long', 'none', 'name-7', 'name-239', 'absent']) {
        const having = given.filter(({ metadata }) => metadata[name] !== undefined);
        const counts = new Map(countsOf(having, ({ metadata }) => metadata[name]!));
        for (const filters of [allLogs, { ...allLogs, at: range }]) {
          const question = { ...about, ...wanted, filters, limit: 10_000, hasTotal: true } as const;
          const found = await ask({ kind: 'groups', by: { metadata: name }, ...question });
          expect(
            new Map(found.rows.map(({ key, figures }) => [key, figures['requests']])),
            name,
          ).to.deep.equal(counts);
          const { total } = await ask({ kind: 'values', name, limit: 1, ...about, filters });
          expect(total, name).to.equal(counts.size);
        }
      }
      const cells = await cellsOfValues('org-4');
      expect(cells['few'], 'few').to.equal(2 * 3 + 2 * 1 + 4 + 2 * 1);
      expect(cells['many'], 'many').to.equal(2 * 7);
      expect(cells['long'], 'a workspace without long metadata').to.equal(1);
      expect(Object.keys(cells).length, 'names').to.be.lessThan(205);
    });

    it('groups by metadata that many requests have in common, whatever filters leave', async () => {
      const about = { sight: { org: 'org-5', workspaces: null, except: [], keys: null } };
      const given = Array.from(
        { length: 12_000 },
        (_, i): LedgerRow => ({
          ...{ ...rows[0]!, org: 'org-5', state: 'settled', at: start + i, cost: i * 1e6 },
          id: `0190a1b2-0000-7000-b000-${String(i).padStart(12, '0')}`,
          metadata: i % 50 === 0 ? {} : { team: `v${i % 7}`, other: `v${i % 3}` },
        }),
      );
      const filters = { ...allLogs, cost: { min: 1000 * 1e6 } };
      const groups: GroupsQuestion = {
        ...{ kind: 'groups', by: { metadata: 'team' }, figures: groupFigures.slice(0, 6), limit: 10 },
        ...{ orderBy: 'key', isDescending: false, offset: 0, hasTotal: true, ...about, filters },
      };
      // Earlier names have taken all columns of values.
      const names = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`name ${i}`, 'v']));
      const early = { ...given[0]!, id: '0190a1b2-0000-7000-c000-000000000000', metadata: names };
      await ledger.apply(batch([early]));
      expect((await ask(groups)).total).to.equal(0);
      for (let from = 0; from < given.length; from += 2000)
        await ledger.apply(batch(given.slice(from, from + 2000)));
      const found = await ask(groups);
      const left = given.filter(
        ({ cost, metadata }) => cost! >= 1000 * 1e6 && metadata['team'] !== undefined,
      );
      expect(found.total).to.equal(7);
      for (const { key, figures } of found.rows) {
        const wanted = plainGroup(left.filter(({ metadata }) => metadata['team'] === key));
        expectSame(
          figures,
          Object.fromEntries(Object.keys(figures).map((name) => [name, wanted[name]])),
          `team ${key}`,
        );
      }
    });

    it('answers about 1970 to 3000, with the days that have requests', async () => {
      const range = { min: 0, max: Date.parse('3000-01-01T00:00:00Z') };
      const filters = { ...allLogs, at: range };
      const sight = { org, workspaces: null, except: [], keys: null };
      const answer = await ask({ kind: 'graph', graph: 'requests', groupBy: null, range, sight, filters });
      const days = Math.floor((start + spanMs) / dayMs) - Math.floor(start / dayMs) + 1;
      expect(answer.points.length).to.be.within(days - 2, days);
      expect(answer.summary['total']).to.equal(rows.filter((row) => row.org === org).length);
    });

    it('keeps what graphs by days show of rows whose time is over', async () => {
      const day = (number: number): number => (Math.floor(start / dayMs) + number) * dayMs;
      const range = { min: day(-1), max: day(60) };
      const filters = { ...allLogs, at: range };
      const sight = { org, workspaces: null, except: [], keys: null };
      const questions = (['requests', 'users', 'latency', 'errors/stacks'] as const).map(
        (graph) => ({ kind: 'graph', graph, groupBy: null, range, sight, filters }) as const,
      );
      const values = { kind: 'values', name: 'team', limit: 10, sight, filters } as const;
      const ofModel = { kind: 'cache', sight, filters: { ...filters, models: ['model-1'] } } as const;
      const answers = () => Promise.all([...questions, values, ofModel].map((question) => ask(question)));
      await rollUp();
      const [first] = questions as [(typeof questions)[0]];
      await ask(first);
      const before = await answers();
      const shared = ledger as PostgresLedger;
      if (dialect !== 'sqlite') shared.beforeExpiry = rollUp;
      const owned = { org, workspace: 'w-1', rowsBefore: day(30), bodiesBefore: null };
      await (ledger as BudgetLedger).expire({
        rowsBefore: day(20),
        bodiesBefore: null,
        workspaces: [owned],
      });
      // A day with feedback of the last ten seconds is counted row by row until it is rolled up again, as by the schedule.
      await eventually('the days of the latest feedback are rolled up again', async () => {
        if (isDeepStrictEqual(await answers(), before)) return true;
        await rollUp();
        return false;
      });
      expect(await answers()).to.deep.equal(before);
      // A row that comes in late has its day made again; that of w-1 stays.
      const late = { ...rows[0]!, id: '0190a1b2-0000-7000-8000-999999999999', state: 'settled' as const };
      await ledger.apply(batch([{ ...late, org, workspace: 'w-2', at: day(25) + 1 }]));
      await rollUp();
      const [requests] = before as [AnswerTo<typeof first>];
      expect((await ask(first)).summary['total']).to.equal(Number(requests.summary['total']) + 1);
    });
  });
});
