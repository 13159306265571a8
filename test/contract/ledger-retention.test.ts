import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { TraceFeedback } from '../../src/common/ledger/logs/feedback.js';
import { type LogRetention, retentionAt } from '../../src/common/ledger/logs/retention.js';
import type { LedgerRow } from '../../src/common/ledger/record.js';
import { SqliteConnection } from '../../src/control-plane/database/sqlite.js';
import { bodyRecord } from '../../src/control-plane/ingestion/body-appender.js';
import type { BudgetLedger } from '../../src/control-plane/ledger/ledger.js';
import { openPostgresLedger, type PostgresLedger } from '../../src/control-plane/ledger/postgres/ledger.js';
import { openLedger } from '../../src/control-plane/ledger/sql.js';
import { settlementOf } from '../fault/journal-records.js';
import { forEachStore } from '../support/stores.js';

const node = '0190a1b2-0000-7000-8000-0000000000a1';
const day = 86_400_000;
const org = 'org-a';
const nobodysPid = 4_194_304;

const row = (id: string, daysAgo: number, workspace = 'w1', of = org): LedgerRow => ({
  ...settlementOf(id),
  state: 'settled',
  node,
  at: Date.now() - daysAgo * day,
  org: of,
  workspace,
});

const bodiesOf = ({ id, at, workspace }: LedgerRow) => ({
  id,
  at,
  org,
  workspace,
  request: `asked ${id}`,
  response: 'answered',
  cut: false,
});

const feedback = (id: string, trace: string, daysAgo = 0, of = org): TraceFeedback => ({
  ...{ id, org: of, workspace: 'w1', trace, key: null, guardrail: null, value: 5, weight: 1, metadata: {} },
  ...{ createdAt: Date.now() - daysAgo * day, updatedAt: Date.now(), rowId: null, rowAt: null },
});

const nothing: LogRetention = { rowsBefore: null, bodiesBefore: null, workspaces: [] };

describe('how long logs are kept', () => {
  it('is the time of the gateway, and of a workspace a shorter one; bodies go with their rows', () => {
    const own = (rows: number, bodies: number) => [{ org, workspace: 'w1', rows, bodies }];
    const days = (usual: [number, number], set: [number, number]) => {
      const given = retentionAt(100 * day, { rows: usual[0], bodies: usual[1] }, own(...set));
      const ago = (before: number | null) => (before === null ? null : 100 - before / day);
      const [one] = given.workspaces;
      return [given.rowsBefore, given.bodiesBefore, one!.rowsBefore, one!.bodiesBefore].map(ago);
    };
    expect(days([0, 0], [0, 0])).to.deep.equal([null, null, null, null]);
    expect(days([30, 0], [0, 0])).to.deep.equal([30, 30, 30, 30]);
    expect(days([30, 7], [90, 90])).to.deep.equal([30, 7, 30, 7]);
    expect(days([30, 7], [3, 0])).to.deep.equal([30, 7, 3, 3]);
    expect(days([0, 0], [0, 2])).to.deep.equal([null, null, null, 2]);
  });

  forEachStore(({ dialect, options }) => {
    let dataDir: string;
    let ledger: BudgetLedger;
    beforeEach(async () => {
      dataDir = mkdtempSync(join(tmpdir(), 'ledger-retention-'));
      if (dialect === 'sqlite') ledger = await openLedger({ dataDir });
      else ledger = await openPostgresLedger({ url: (await options(dataDir)).databaseUrl!, node });
    });
    afterEach(async () => {
      await ledger.close();
      rmSync(dataDir, { recursive: true, force: true });
    });

    const ids = async (of = org): Promise<string[]> =>
      (await ledger.recent({ org: of, limit: 1000 })).rows.map(({ id }) => id).sort();

    it('ends for rows of every organisation that are older, with their feedback', async () => {
      await ledger.addRows([
        row('old', 12),
        row('new', 3),
        row('foreign', 12, 'w9', 'org-b'),
        row('now', 0, 'w9', 'org-b'),
      ]);
      const traceOf = async (id: string) => (await ledger.get(org, id))!.trace;
      const [oldTrace, newTrace] = [await traceOf('old'), await traceOf('new')];
      await ledger.feedbacks.add([feedback('f-old', oldTrace), feedback('f-new', newTrace)]);
      await ledger.expire({ ...nothing, rowsBefore: Date.now() - 10 * day });
      expect(await ids()).to.deep.equal(['new']);
      expect(await ids('org-b')).to.deep.equal(['now']);
      expect(await ledger.feedbacks.ofTrace(org, 'w1', newTrace)).to.have.length(1);
      if (oldTrace !== newTrace)
        expect(await ledger.feedbacks.ofTrace(org, 'w1', oldTrace)).to.deep.equal([]);
    });

    const feedbackIds = async (): Promise<string[]> => {
      const found: string[] = [];
      for await (const some of ledger.feedbacks.all()) found.push(...some.map(({ id }) => id));
      return found;
    };

    it('ends for feedback that counts at no request, also where an organisation has none', async () => {
      await ledger.addRows([row('now', 0)]);
      await ledger.feedbacks.add([
        feedback('a-new', 'never', 3),
        feedback('b-old', 'never', 12),
        feedback('c-old', 'never', 12, 'org-without-requests'),
        feedback('d-new', 'never', 3, 'org-without-requests'),
      ]);
      await ledger.expire({ ...nothing, rowsBefore: Date.now() - 10 * day });
      expect(await feedbackIds()).to.deep.equal(['a-new', 'd-new']);
      const own = { org, workspace: 'w1', rowsBefore: Date.now() - 2 * day, bodiesBefore: null };
      await ledger.expire({ ...nothing, workspaces: [own] });
      expect(await feedbackIds()).to.deep.equal(['d-new']);
    });

    it('leaves late feedback on a deleted request without effect', async () => {
      await ledger.addRows([row('old', 12), row('now', 0)]);
      const { trace } = (await ledger.get(org, 'old'))!;
      const own = { ...nothing, rowsBefore: Date.now() - 10 * day };
      await ledger.expire(own);
      await ledger.feedbacks.add([feedback('late', trace)]);
      await ledger.feedbacks.placeMissed(Date.now());
      const [late] = await ledger.feedbacks.ofTrace(org, 'w1', trace);
      expect(late).to.include({ id: 'late', rowId: null, rowAt: null });
      await ledger.expire(own);
      expect(await feedbackIds()).to.deep.equal(['late']);
    });

    it('may be shorter for one workspace, again and again', async () => {
      await ledger.addRows([row('a', 5), row('b', 5, 'w2'), row('c', 2), row('d', 0)]);
      const within = (days: number) => ({
        ...nothing,
        workspaces: [{ org, workspace: 'w1', rowsBefore: Date.now() - days * day, bodiesBefore: null }],
      });
      expect(await ledger.expire(within(3))).to.equal(1);
      expect(await ids()).to.deep.equal(['b', 'c', 'd']);
      expect(await ledger.expire(within(3))).to.equal(0);
      expect(await ledger.expire(within(1))).to.equal(1);
      expect(await ids()).to.deep.equal(['b', 'd']);
    });

    it('of a workspace ends within a day for rows that arrive later, such as imported ones', async () => {
      await ledger.addRows([row('a', 5), row('d', 0)]);
      const before = Date.now() - 3 * day;
      const until = (rowsBefore: number) => ({
        ...nothing,
        workspaces: [{ org, workspace: 'w1', rowsBefore, bodiesBefore: rowsBefore }],
      });
      await ledger.expire(until(before));
      const [late, other] = [row('late', 9), row('other', 9, 'w2')];
      await ledger.addRows([late, other]);
      await ledger.feedbacks.add([feedback('f-late', (await ledger.get(org, 'late'))!.trace)]);
      await ledger.expire(until(before + day));
      expect(await ids()).to.deep.equal(['d', 'other']);
      expect(await feedbackIds()).to.deep.equal([]);
    });

    it('may be shorter for bodies than for rows', async () => {
      const [old, now] = [row('old', 5), row('now', 0)];
      await ledger.addRows([old, now]);
      await ledger.addBodies([bodiesOf(old), bodiesOf(now)]);
      await ledger.expire({ ...nothing, bodiesBefore: Date.now() - 3 * day });
      expect(await ids()).to.deep.equal(['now', 'old']);
      expect(await ledger.bodies(org, 'old')).to.equal(null);
      if (dialect !== 'sqlite') expect((await ledger.bodies(org, 'now'))?.request).to.equal('asked now');
    });

    if (dialect !== 'sqlite') {
      it('ends for feedback together with the days of the ledger', async () => {
        await ledger.addRows([row('old', 12), row('new', 3)]);
        const traceOf = async (id: string) => (await ledger.get(org, id))!.trace;
        await ledger.feedbacks.add([
          feedback('a-old', await traceOf('old')),
          feedback('b-new', await traceOf('new')),
          feedback('c-unplaced', 'never', 12),
          feedback('d-unplaced', 'never', 3),
        ]);
        await (ledger as PostgresLedger).dropPartitions(Date.now(), 10, Number.POSITIVE_INFINITY);
        expect(await feedbackIds()).to.deep.equal(['b-new', 'd-unplaced']);
      });
      return;
    }

    it('frees the disk, while other work of the ledger goes on', async () => {
      await ledger.addRows(Array.from({ length: 8000 }, (_, i) => row(`old-${i}`, 9)));
      await ledger.checkpoint();
      const bytes = (): number => statSync(join(dataDir, 'ledger.db')).size;
      const before = bytes();
      let put = 0;
      const expiring = ledger.expire({ ...nothing, rowsBefore: Date.now() - day });
      let isOver = false;
      expiring.finally(() => {
        isOver = true;
      });
      while (!isOver) put += await ledger.addRows([row(`new-${put}`, 0)]);
      // The newest row stays, so that numbers of rows are never given twice.
      expect(await expiring).to.be.within(7999, 8000);
      expect(put).to.be.above(3);
      await ledger.checkpoint();
      expect(bytes()).to.be.below(before / 2);
    });

    it('never gives a number of a row twice, though all rows go', async () => {
      await ledger.addRows([row('one', 9), row('two', 9)]);
      const { cursor } = await ledger.changes('0', 10);
      await ledger.expire({ ...nothing, rowsBefore: Date.now() - day });
      await ledger.addRows([row('three', 0)]);
      expect((await ledger.changes(cursor, 10)).rows.map(({ id }) => id)).to.deep.equal(['three']);
    });

    it('ends for single bodies in files that are not written any more', async () => {
      const rows = [row('a', 5), row('b', 5, 'w2'), row('c', 0)];
      await ledger.addRows(rows);
      mkdirSync(join(dataDir, 'journal'), { recursive: true });
      const path = join(dataDir, 'journal', `0-${nobodysPid}-${Date.now() - 6 * day}.bodies`);
      writeFileSync(path, Buffer.concat(rows.map((one) => bodyRecord(bodiesOf(one)))));
      const writtenAt = Math.floor(Date.now() / 1000);
      utimesSync(path, writtenAt, writtenAt);
      const bodiesBefore = Date.now() - 3 * day;
      await ledger.expire({
        ...nothing,
        workspaces: [{ org, workspace: 'w1', rowsBefore: null, bodiesBefore }],
      });
      const text = readFileSync(path, 'utf8');
      expect(text).to.not.include('asked a');
      expect(text).to.include('asked b').and.to.include('asked c');
      expect((await ledger.bodies(org, 'b'))?.request).to.equal('asked b');
      expect(statSync(path).mtimeMs).to.equal(writtenAt * 1000);
    });

    it('makes new files so that they become smaller', async () => {
      const own = await SqliteConnection.open(join(dataDir, 'ledger.db'), []);
      expect(await own.all('PRAGMA auto_vacuum')).to.deep.equal([{ auto_vacuum: 2 }]);
      await own.close();
    });
  });
});
