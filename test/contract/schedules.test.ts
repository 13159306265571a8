import { expect } from 'chai';
import type { ScheduledRun } from '../../src/common/plugin-host/control.js';
import type { Database } from '../../src/control-plane/store/sql/connection/driver.js';
import type { ScheduleRun, Store } from '../../src/control-plane/store/store.js';
import { ScheduleRunner } from '../../src/process/node/schedule-runner.js';
import { eventually } from '../support/gateway.js';
import { folder, forEachStore } from '../support/stores.js';

const silent = { info: () => {}, warn: () => {}, error: () => {} };
const minute = 60_000;

describe('schedules', function () {
  this.timeout(30_000);

  forEachStore(({ open, database, dialect }) => {
    let stores: Store[];
    let bare: Database;
    /** The product's clock, the same on every node. */
    let now: number;
    let done: { readonly node: string; readonly dueAt: number; readonly fence: number }[];

    beforeEach(async () => {
      const dataDir = folder();
      now = 1_000_000 * minute;
      done = [];
      stores = [await open(dataDir, () => now)];
      // PostgreSQL is shared by nodes; a SQLite store belongs to one.
      if (dialect === 'postgres') stores.push(await open(dataDir, () => now), await open(dataDir, () => now));
      bare = await database(dataDir);
    });
    afterEach(async () => {
      await bare.close();
      await Promise.all(stores.map((store) => store.close()));
    });

    function runnerOf(
      node: string,
      store: Store,
      work: (run: ScheduledRun) => Promise<void> = async () => {},
    ): ScheduleRunner {
      const runner = new ScheduleRunner({
        schedules: store.schedules,
        nodeId: node,
        intervals: { tidy: 60 },
        log: silent,
        clock: () => now,
      });
      runner.add('tidy', async (run) => {
        done.push({ node, dueAt: run.dueAt, fence: run.fence });
        await work(run);
      });
      return runner;
    }

    /** All nodes look at the same moment, and what has begun ends. */
    async function look(runners: readonly ScheduleRunner[]): Promise<void> {
      await Promise.all(runners.map((runner) => runner.look()));
      await Promise.all(runners.map((runner) => runner.idle()));
    }

    const runs = async (): Promise<readonly ScheduleRun[]> =>
      (await stores[0]!.schedules.runs('tidy', { offset: 0, limit: 100 }))!.rows;

    it('run once per due time, however many nodes look at the same moment', async () => {
      const runners = stores.map((store, i) => runnerOf(`node ${i}`, store));
      await look(runners);
      expect(done).to.have.length(0);
      for (let i = 1; i <= 5; i++) {
        now += minute;
        await look(runners);
        await look(runners);
      }
      const due = [1, 2, 3, 4, 5].map((i) => (1_000_000 + i) * minute);
      expect(done.map(({ dueAt }) => dueAt)).to.deep.equal(due);
      expect(done.map(({ fence }) => fence)).to.deep.equal([1, 2, 3, 4, 5]);
      const [schedule] = await stores[0]!.schedules.list();
      expect(schedule).to.deep.include({ name: 'tidy', intervalS: 60, nextDueAt: now + minute });
      expect(schedule!.lastRun).to.deep.include({ dueAt: now, outcome: 'done', nodeId: done.at(-1)!.node });
      expect((await runs()).map(({ dueAt }) => dueAt)).to.deep.equal(due.reverse());
      expect(await stores[0]!.schedules.runs('nothing', { offset: 0, limit: 1 })).to.equal(null);
    });

    it('are made up for where nodes were away for a short time, and once where it was long', async () => {
      const runner = runnerOf('node', stores[0]!);
      await look([runner]);
      now += minute + 30_000;
      await look([runner]);
      now += 30_000 + minute;
      // Two due times have passed; one run of a schedule at a time.
      await look([runner]);
      await look([runner]);
      expect(done.map(({ dueAt }) => dueAt / minute)).to.deep.equal([1_000_001, 1_000_002, 1_000_003]);
      now += 100 * minute;
      await look([runner]);
      await look([runner]);
      expect(done.map(({ dueAt }) => dueAt / minute).slice(3)).to.deep.equal([1_000_103]);
    });

    it('have failed runs too, and the next one comes all the same', async () => {
      const runner = runnerOf('node', stores[0]!, async () => {
        if (done.length === 1) throw new Error('broken');
      });
      await look([runner]);
      for (let i = 0; i < 2; i++) {
        now += minute;
        await look([runner]);
      }
      expect((await runs()).map(({ outcome }) => outcome)).to.deep.equal(['done', 'failed']);
      const counts = runner.metrics().map(({ labels, value }) => [labels['outcome'], value]);
      expect(counts).to.have.deep.members([
        ['failed', 1],
        ['done', 1],
      ]);
    });

    it('keep to an interval that was changed', async () => {
      const { schedules } = stores[0]!;
      await schedules.declare(new Map([['tidy', 60]]));
      now += 10_000;
      await schedules.declare(new Map([['tidy', 5]]));
      const [schedule] = await schedules.list();
      expect(schedule).to.deep.include({ intervalS: 5, nextDueAt: now + 5000 });
    });

    it('forget runs after a week, but never the last one', async () => {
      const runner = runnerOf('node', stores[0]!);
      await look([runner]);
      now += minute;
      await look([runner]);
      now += minute;
      await look([runner]);
      now += 8 * 24 * 60 * minute;
      await stores[0]!.prune();
      expect((await runs()).map(({ dueAt }) => dueAt / minute)).to.deep.equal([1_000_002]);
    });

    if (dialect !== 'postgres') return;

    /** The database's clock goes on by so much, as far as leases are concerned. */
    const expireLeases = (): Promise<unknown> =>
      bare.write((sql) => sql('schedule_runs').update({ lease_until: sql.raw('lease_until - 60000') }));

    it('wait for a run of another node as long as it lives; one whose node has died is lost, and made by no other', async () => {
      let end: () => void = () => {};
      const stuck = new Promise<void>((resolve) => {
        end = resolve;
      });
      const refused: string[] = [];
      const stopped = runnerOf('stopped', stores[0]!, async (run) => {
        await stuck;
        // What it still wanted to write when it came back.
        await stores[0]!.unit('o', () => run.confirm()).catch((error) => refused.push(error.message));
      });
      const other = runnerOf('other', stores[1]!);
      await stopped.look();
      now += minute;
      await stopped.look();
      expect(done.map(({ node }) => node)).to.deep.equal(['stopped']);
      now += minute;
      await look([other]);
      expect(done).to.have.length(1);
      await expireLeases();
      await look([other]);
      end();
      await stopped.idle();
      expect(done.map(({ node, fence }) => [node, fence])).to.deep.equal([
        ['stopped', 1],
        ['other', 2],
      ]);
      expect((await runs()).map(({ nodeId, outcome }) => [nodeId, outcome])).to.deep.equal([
        ['other', 'done'],
        ['stopped', 'lost'],
      ]);
      expect(refused).to.deep.equal(['The run of the schedule tidy is lost.']);
      expect(other.metrics().map(({ labels }) => labels['outcome'])).to.include('lost');
    });

    it('are not held up by a node that was stopped in the middle of taking a run', async () => {
      const runners = stores.map((store, i) => runnerOf(`node ${i}`, store));
      await look(runners);
      now += minute;
      let begun: () => void = () => {};
      const locked = new Promise<void>((resolve) => {
        begun = resolve;
      });
      let release: () => void = () => {};
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      // As a process does that is stopped after its statement: its transaction stays open.
      const stopped = bare
        .write(
          async (sql) => {
            await sql('schedules').where({ name: 'tidy' }).forUpdate();
            begun();
            await released;
          },
          { lock: (sql) => sql.raw("SET LOCAL idle_in_transaction_session_timeout = '2s'") },
        )
        .catch(() => {});
      await locked;
      await look(runners.slice(1));
      expect(done).to.have.length(0);
      await eventually('a run of another node', async () => {
        await look(runners.slice(1));
        return done.length === 1;
      });
      release();
      await stopped;
    });
  });
});
