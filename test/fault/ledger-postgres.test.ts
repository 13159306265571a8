// lane: slow
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import pg from 'pg';
import { Secret } from '../../src/common/access/secret.js';
import { budgetName } from '../../src/common/core/budget-rules.js';
import type { Charge } from '../../src/common/core/charges.js';
import type { LedgerRow } from '../../src/common/ledger/record.js';
import { uuidv7 } from '../../src/common/text/id.js';
import { type Ingestion, startIngestion } from '../../src/control-plane/ingestion/ingest.js';
import type {
  BudgetLedger,
  Ledger,
  LedgerBatch,
  TakingLedger,
} from '../../src/control-plane/ledger/ledger.js';
import { openPostgresLedger, type PostgresLedger } from '../../src/control-plane/ledger/postgres/ledger.js';
import { openLedger } from '../../src/control-plane/ledger/sql.js';
import { takeOver } from '../../src/control-plane/ledger/take-over.js';
import { openJournal } from '../../src/data-plane/journal/journal.js';
import { nodeIdOf } from '../../src/process/node/node-id.js';
import { headgate } from '../support/command.js';
import { FaultyProxy } from '../support/faulty-proxy.js';
import { builtProgram, eventually, pause } from '../support/gateway.js';
import { isLong } from '../support/long-forms.js';
import { folder, forEachStore } from '../support/stores.js';
import { expectWithinMs } from '../support/time-limits.js';
import { intentOf, org, settlementOf, workspace } from './journal-records.js';

const nothing: LedgerBatch = { settled: null, unknown: [], positions: new Map(), opened: [], closed: [] };
const at0 = Date.UTC(2026, 0, 31, 12);
const day = 86_400_000;

describe('the ledger of several nodes', function () {
  this.timeout(60_000);

  forEachStore(({ options, dialect }) => {
    if (dialect !== 'postgres') return;
    let url: string;
    let proxy: FaultyProxy;
    const ledgers: Ledger[] = [];
    const ingestions: Ingestion[] = [];
    const children: ChildProcess[] = [];
    const problems: string[] = [];
    const onProblem = (error: Error): void => void problems.push(error.message);

    before(async () => {
      const { hostname, port } = new URL((await options(folder())).databaseUrl!.reveal());
      proxy = await FaultyProxy.start(Number(port || 5432), hostname);
    });
    beforeEach(async () => {
      url = (await options(folder())).databaseUrl!.reveal();
      problems.length = 0;
    });
    afterEach(async () => {
      for (const child of children.splice(0)) child.kill('SIGKILL');
      await proxy.pass();
      for (const ingestion of ingestions.splice(0)) await ingestion.stop();
      for (const ledger of ledgers.splice(0)) await ledger.close();
    });
    after(() => proxy?.close());

    const open = async (node: string, through = url, bodiesBytes?: number): Promise<PostgresLedger> => {
      const ledger = await openPostgresLedger({
        url: new Secret(through),
        node,
        onProblem,
        ...(bodiesBytes && { bodiesBytes }),
      });
      ledgers.push(ledger);
      return ledger;
    };
    const ingest = (dir: string, ledger: Ledger, intervalMs = 60_000): Ingestion => {
      const ingestion = startIngestion({ dir, ledger, onProblem, intervalMs });
      ingestions.push(ingestion);
      return ingestion;
    };
    const sql = async <Row extends pg.QueryResultRow>(...statements: string[]): Promise<Row[]> => {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      try {
        let rows: Row[] = [];
        for (const statement of statements) rows = (await client.query<Row>(statement)).rows;
        return rows;
      } finally {
        await client.end();
      }
    };
    const rowOf = (id: string, change: Partial<LedgerRow> = {}): LedgerRow => ({
      ...settlementOf(id, { at: at0 }),
      state: 'settled',
      node: 'a',
      ...change,
    });
    const settle = (ledger: Ledger, ...rows: LedgerRow[]): Promise<unknown> =>
      ledger.apply({ ...nothing, settled: { packed: null, rows } });

    it('shows a follower every row once, although transactions end in another order than they began', async () => {
      const ledger = await open('a');
      await settle(ledger, rowOf('first'));
      const { cursor } = await ledger.recent({ org, limit: 10 });
      const slow = new pg.Client({ connectionString: url });
      await slow.connect();
      await slow.query('BEGIN');
      // Of a node that has begun and not ended: its rows come before those of the next one.
      await slow.query(
        `INSERT INTO exchanges (n, state, id, at, org, rest) VALUES (1, 0, 'slow', ${at0}, '${org}', '{"attempts":[]}')`,
      );
      await settle(ledger, rowOf('fast'));
      const listed = await ledger.recent({ org, limit: 10 });
      expect(listed.rows.map(({ id }) => id)).to.deep.equal(['fast', 'first']);
      const early = await ledger.recent({ org, limit: 10, after: cursor });
      expect(early.rows.map(({ id }) => id)).to.deep.equal([]);
      await slow.query('COMMIT');
      await slow.end();
      const follow = async (from: string, count: number): Promise<string[]> => {
        const seen: string[] = [];
        let after = from;
        await eventually(`${count} rows`, async () => {
          const page = await ledger.recent({ org, limit: 1, after });
          after = page.cursor;
          seen.push(...page.rows.map(({ id }) => id));
          return seen.length >= count;
        });
        return [...seen, ...(await ledger.recent({ org, limit: 5, after })).rows.map(({ id }) => id)];
      };
      expect(await follow(early.cursor, 2)).to.deep.equal(['slow', 'fast']);
      expect(await follow('0', 3)).to.deep.equal(['first', 'slow', 'fast']);
      // One that has listed `fast` follows with what the list did not have.
      expect(await follow(listed.cursor, 1)).to.deep.equal(['slow']);
    });

    it('follows transactions in the order of their numbers, however many digits these have', async () => {
      const ledger = await open('a');
      await settle(ledger, rowOf('made'));
      await sql(
        ...['99', '100', '1000'].map(
          (tx) =>
            `INSERT INTO exchanges (tx, n, state, id, at, org, rest) VALUES ('${tx}', 1, 0, '${tx}', ${at0}, '${org}', '{}')`,
        ),
      );
      const first = await ledger.recent({ org, limit: 2, after: '0' });
      expect(first.rows.map(({ id }) => id)).to.deep.equal(['99', '100']);
      const second = await ledger.recent({ org, limit: 1, after: first.cursor });
      expect(second.rows.map(({ id }) => id)).to.deep.equal(['1000']);
      expect((await ledger.recent({ org, limit: 2 })).rows.map(({ id }) => id)).to.deep.equal([
        'made',
        '1000',
      ]);
    });

    it('keeps journals while PostgreSQL is away, reports what cannot be read within 6 s, and catches up', async () => {
      const dir = join(folder(), 'journal');
      const journal = openJournal({ dir, worker: '0', node: 'a', onProblem });
      const ledger = await open('a', proxy.through(url));
      const ingestion = ingest(dir, ledger, 100);
      journal.settle(settlementOf('before', { at: at0 }));
      await eventually('a row', () => ledger.get(org, 'before').catch(() => null));
      for (const fault of ['refuse', 'swallow'] as const) {
        proxy[fault]();
        journal.settle(settlementOf(`during ${fault}`, { at: at0 + 1 }));
        const asked = performance.now();
        const error = await ledger.recent({ org, limit: 5 }).catch((reason: unknown) => reason);
        expectWithinMs(performance.now() - asked, 6000);
        expect(error).to.include({ code: 'store_unavailable' });
        const behind = ingestion.behindMs;
        await proxy.pass();
        await eventually('the row', () => ledger.get(org, `during ${fault}`).catch(() => null));
        await eventually('caught up', async () => ingestion.behindMs < behind);
      }
      expect((await ledger.recent({ org, limit: 10 })).rows).to.have.length(3);
      journal.close();
      expect(problems.join('\n')).to.match(/^Journals cannot be turned into the ledger now: PostgreSQL at /);
      expect(problems.join('\n')).to.not.contain('postgres@');
    });

    it('takes over the rows of a ledger in SQLite, in their order, also when it is interrupted', async () => {
      const dataDir = folder();
      const before = await openLedger({ dataDir });
      const budget = budgetName(org, 'api_key', 'k', 'tokens');
      const charges: Charge[] = [[budget, at0, null, 1000, null, 1]];
      const rows = Array.from({ length: 4100 }, (_, i) =>
        rowOf(`id-${i}`, { at: at0 + i * 100_000, charges }),
      );
      await settle(before, ...rows);
      await before.budgets.reset(org, { budget, startsAt: at0 }, at0);
      for (const { id } of await before.alerts.unaddressed(10)) {
        await before.alerts.address(id, { name: 'n', recipients: [] }, true);
      }
      const [sent] = await before.alerts.claim(Date.now(), Date.now() + 1000, 10);
      await before.alerts.settle(sent!.id, { is: 'sent', at: at0 });
      const page = { offset: 0, limit: 10 };
      const usageIn = (from: BudgetLedger) =>
        Promise.all([
          from.budgets.usage(org, [{ budget, startsAt: at0 }]),
          from.budgets.sums(org, [{ budget, startsAt: at0 }]),
          from.budgets.courses(org, [{ budget, startsAt: at0, since: at0 }]),
          from.alerts.list(org, {}, page),
        ]);
      const usage = await usageIn(before);
      expect(usage[0][0]).to.include({ used: 0, exhaustedAlertAt: null });
      expect(usage[3].alerts.map(({ event }) => event)).to.have.members(['exhausted', 'reset']);
      const open1 = { writer: 'w 1 x', intent: intentOf('open') };
      await before.apply({
        ...nothing,
        unknown: [rowOf('lost', { state: 'unknown' })],
        opened: [open1],
        positions: new Map([['0-1-1.log', 77]]),
      });
      await before.close();
      const ledger = await open(nodeIdOf(dataDir));
      let batches = 0;
      const failing = {
        positions: () => ledger.positions(),
        apply: (batch: LedgerBatch) =>
          ++batches === 2 || batches === 5 ? Promise.reject(new Error('killed')) : ledger.apply(batch),
        takeBudgets: ledger.takeBudgets.bind(ledger),
      } as unknown as TakingLedger;
      const progress: number[] = [];
      const over = (to: TakingLedger) =>
        takeOver({ dataDir, to, onProgress: ({ done }) => progress.push(done), onUpgrade: () => {} });
      expect(await over(failing).catch((error: Error) => error.message)).to.equal('killed');
      // Also after its budgets are there, before the file has its new name.
      expect(await over(failing).catch((error: Error) => error.message)).to.equal('killed');
      const kept = await over(ledger);
      expect(progress).to.deep.equal([2000, 4000, 4101]);
      expect(readdirSync(dataDir).filter((name) => name.startsWith('ledger'))).to.deep.equal([
        kept.slice(dataDir.length + 1),
      ]);
      await eventually('all rows', async () => (await ledger.changes('0', 5000)).rows.length === 4101);
      const found = (await ledger.changes('0', 5000)).rows;
      expect(found.map(({ id }) => id)).to.deep.equal([...rows.map(({ id }) => id), 'lost']);
      expect(found[17]).to.deep.equal(rows[17]);
      expect(found.at(-1)?.state).to.equal('unknown');
      expect((await ledger.positions()).get('0-1-1.log')).to.equal(77);
      expect(await ledger.openIntents()).to.deep.equal([open1]);
      expect(await usageIn(ledger)).to.deep.equal(usage);
      await settle(ledger, rows[17]!, rowOf('next', { charges }));
      expect((await usageIn(ledger))[0][0]?.used).to.equal(1);
    });

    it('makes partitions by day and drops those whose time is over, bodies first', async () => {
      const ledger = await open('a', url, 1);
      const now = at0 + 9 * day;
      for (const age of [9, 5, 1, 0]) {
        await settle(ledger, rowOf(`${age}`, { at: now - age * day }));
        const body = { id: `${age}`, at: now - age * day, org, workspace, cut: false };
        await ledger.keepBodies({
          bodies: [{ ...body, request: Buffer.from('x'), response: null }],
          source: 's',
          position: 1,
        });
      }
      await Promise.all([ledger.ensurePartitions(now), (await open('b')).ensurePartitions(now)]);
      const { names } = await ledger.dropPartitions(now, 5, 1);
      expect(names).to.include('exchanges_20260131').and.to.include('exchange_bodies_20260131');
      expect(names.filter((name) => name.startsWith('exchanges_'))).to.deep.equal(['exchanges_20260131']);
      expect((await ledger.recent({ org, limit: 10 })).rows.map(({ id }) => id)).to.deep.equal([
        '0',
        '1',
        '5',
      ]);
      expect(await ledger.bodies(org, '1')).to.equal(null);
      // A row of a day whose partition is gone gets a new one.
      await settle(ledger, rowOf('late'));
      expect(await ledger.get(org, 'late')).to.include({ at: at0 });
      const tables = await sql<{ name: string }>(
        "SELECT relname AS name FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relname ~ '^exchanges_202602'",
      );
      expect(tables.map(({ name }) => name)).to.include('exchanges_20260211');
    });

    it('drops new bodies while those of today take too much, and reports it', async () => {
      const ledger = await open('a', url, 1);
      const keep = (id: string) =>
        ledger.keepBodies({
          bodies: [{ id, at: at0, org, workspace, cut: false, request: Buffer.from('x'), response: null }],
          source: 's',
          position: 1,
        });
      await settle(ledger, rowOf('one'));
      await keep('one');
      expect(await ledger.bodies(org, 'one')).to.equal(null);
      expect(problems.join()).to.match(
        /Bodies take more than ledger_bodies_bytes \(1\) in PostgreSQL: new ones are dropped/,
      );
    });

    it('keeps what no table of PostgreSQL takes as it is: a NUL, half a number, a time beyond all days', async () => {
      const ledger = await open('a');
      const odd = rowOf('odd\0', {
        modelAsked: 'a\0\\b\tc\n',
        metadata: { 'k\0': '\ud800' },
        errorMessage: '\0\\N',
        status: 1.5,
        cost: Number.POSITIVE_INFINITY,
        at: 9e15,
      });
      await settle(ledger, odd, rowOf('even'));
      const found = await ledger.get(org, 'odd\ufffd');
      expect(found).to.deep.include({
        modelAsked: 'a\ufffd\\b\tc\n',
        metadata: { 'k\0': '\ufffd' },
        errorMessage: '\0\\N',
        status: 2,
        cost: null,
        at: 0,
      });
      expect(await ledger.get(org, 'no\0such')).to.equal(null);
      expect((await ledger.recent({ org, limit: 5, trace: 'a\0' })).rows).to.deep.equal([]);
    });

    // As fast in both forms.
    const [count, within] = isLong ? [20_000, 3000] : [5000, 750];
    it(`is caught up with ${count} rows within ${within} ms, and lists the newest in 50 ms`, async () => {
      const dir = join(folder(), 'journal');
      const journal = openJournal({ dir, worker: '0', node: 'a', onProblem });
      for (let i = 0; i < count; i++) {
        journal.settle(settlementOf(uuidv7()));
        if (i % 64 === 0) await new Promise((turn) => setImmediate(turn));
      }
      journal.close();
      const ledger = await open('a');
      await ledger.prepare();
      const ingestion = ingest(dir, ledger);
      const begun = performance.now();
      await ingestion.flush();
      expectWithinMs(performance.now() - begun, within);
      expectWithinMs(ingestion.behindMs, within);
      const [{ n = 0 } = {}] = await sql<{ n: number }>('SELECT count(*)::integer AS n FROM exchanges');
      expect(n).to.equal(count);
      const list = () => ledger.recent({ org, workspace, limit: 50 });
      expect((await list()).rows).to.have.length(50);
      let best = Number.POSITIVE_INFINITY;
      for (let i = 0; i < 5; i++) {
        const asked = performance.now();
        await list();
        best = Math.min(best, performance.now() - asked);
      }
      expectWithinMs(best, 50);
    });

    const start = (name: string, ...parts: string[]): ChildProcess => {
      const child = spawn(process.execPath, [builtProgram(`fault/${name}`), ...parts], {
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      children.push(child);
      return child;
    };
    const kill = async (child: ChildProcess): Promise<void> => {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    };

    it('has every request that a provider saw once, whatever is killed and however often PostgreSQL is away; also from a node that never comes back', async function () {
      this.timeout(isLong ? 300_000 : 90_000);
      const rounds = isLong ? 20 : 2;
      const nodes = [folder(), folder()];
      const upstream = (dataDir: string): string => join(dataDir, 'upstream');
      const lines = (dataDir: string): string[] =>
        existsSync(upstream(dataDir))
          ? readFileSync(upstream(dataDir), 'utf8')
              .split('\n')
              .filter((id) => id.length === 36)
          : [];
      for (const dataDir of nodes) mkdirSync(join(dataDir, 'journal'), { mode: 0o700 });
      for (let round = 0; round < rounds; round++) {
        const dataDir = nodes[round % 2]!;
        const other = nodes[(round + 1) % 2]!;
        const before = lines(dataDir).length;
        const writer = start('journal-writer', join(dataDir, 'journal'), upstream(dataDir), 'paced');
        const workers = [dataDir, other].map((each) => start('journal-ingester', each, proxy.through(url)));
        await eventually('requests', async () => lines(dataDir).length > before + 20, 30_000);
        if (round % 2 === 1) {
          if (round % 4 === 1) proxy.refuse();
          else proxy.freeze();
          await pause(300);
        }
        await pause(Math.random() * 300);
        await Promise.all([writer, ...workers].map(kill));
        await proxy.pass();
      }
      // The first node is started again, the journals of the second are brought in by hand.
      const [first = '', second = ''] = nodes;
      const ledger = await open(nodeIdOf(first));
      const ingestion = ingest(join(first, 'journal'), ledger);
      await eventually('handed over', async () => {
        await ingestion.flush();
        return !readdirSync(join(first, 'journal')).some((name) => name.endsWith('.log'));
      });
      for (let times = 0; times < 2; times++) {
        const { code, stdout, stderr } = await headgate({ LEDGER_DATABASE_URL: url }, [
          'journal',
          'ingest',
          second,
        ]);
        expect(code, stderr).to.equal(0);
        expect(stdout).to.contain(`The records of ${second} are in the ledger.`);
      }
      expect(readdirSync(join(second, 'journal'))).to.deep.equal([]);
      const seen = nodes.flatMap(lines);
      const found = await sql<{ id: string; state: number; node_id: string }>(
        'SELECT id, state, node_id FROM exchanges',
      );
      const ids = new Set(found.map(({ id }) => id));
      expect(ids.size).to.equal(found.length);
      expect(seen.filter((id) => !ids.has(id))).to.deep.equal([]);
      // An intent may have been written just before its writer was killed.
      expect(found.length - seen.length).to.be.within(0, rounds);
      expect(found.filter(({ state }) => state === 1).length).to.be.greaterThan(0);
      expect(await sql('SELECT * FROM open_intents')).to.deep.equal([]);
    });
  });
});
