import type { ChildProcess } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { expect } from 'chai';
import type { WorkerInit } from '../../src/common/ipc/messages.js';
import { WorkerGroup } from '../../src/process/workers/worker-group.js';
import { newMember, type WorkerMember } from '../../src/process/workers/worker-member.js';
import { restartDelay } from '../../src/process/workers/worker-process.js';
import { WorkerRenewal } from '../../src/process/workers/worker-renewal.js';
import { eventually } from '../support/gateway.js';
import { expectWithinMs } from '../support/time-limits.js';

const log = { info() {}, warn() {}, error() {} };

/** A process as the system gives it, or does not give it, without one. */
class FakeProcess extends EventEmitter {
  exitCode: number | null = null;
  signalCode: NodeJS.Signals | null = null;
  connected = true;

  constructor(readonly pid: number | undefined) {
    super();
  }

  /** What a data worker does with the message that holds its settings. */
  send(message: { t: string }): boolean {
    if (message.t === 'init') setImmediate(() => this.emit('message', { t: 'ready', port: 4711 }));
    if (message.t === 'drain') setImmediate(() => this.die(0));
    return true;
  }

  kill(): boolean {
    setImmediate(() => this.die(1));
    return true;
  }

  die(code: number): void {
    if (this.exitCode !== null) return;
    this.exitCode = code;
    this.connected = false;
    this.emit('exit', code, null);
  }
}

const emfile = (): Error => Object.assign(new Error('spawn node EMFILE'), { code: 'EMFILE' });

/** Starts well, on the whole. */
function good(): FakeProcess {
  const process = new FakeProcess(4711);
  setImmediate(() => process.emit('message', { t: 'up' }));
  return process;
}

/** Node reports some refusals of the system by an event, of a process that never was. */
function refused(): FakeProcess {
  const process = new FakeProcess(undefined);
  process.connected = false;
  setImmediate(() => process.emit('error', emfile()));
  return process;
}

/** It starts, and ends before it serves. */
function unable(): FakeProcess {
  const process = new FakeProcess(4712);
  setImmediate(() => {
    process.emit('message', { t: 'failed', message: 'The port is in use.' });
    process.die(1);
  });
  return process;
}

describe('the group of data workers', () => {
  let group: WorkerGroup | null = null;

  /** One worker; its processes come from `starts` in turn, the last of them again and again. */
  function groupOf(...starts: (() => FakeProcess)[]): WorkerGroup {
    let next = 0;
    group = new WorkerGroup({
      count: 1,
      fork: () =>
        (starts[Math.min(next++, starts.length - 1)] as () => FakeProcess)() as unknown as ChildProcess,
      log,
    });
    return group;
  }

  function start(workers: WorkerGroup): Promise<number> {
    workers.fork();
    return workers.serve({
      init: () => ({ port: 4711 }) as WorkerInit,
      lookup: async () => null,
      admin: () => Promise.reject(new Error('nothing asks')),
    });
  }

  afterEach(() => group?.stop(100));

  for (const [what, failing] of [
    [
      'the system throws',
      () => {
        throw emfile();
      },
    ],
    ['the system refuses', refused],
    ['the worker cannot listen', unable],
  ] as const) {
    it(`starts a worker again until it serves, where ${what} at first`, async function () {
      this.timeout(10_000);
      const first = good();
      const workers = groupOf(() => first, failing, good);
      expect(await start(workers)).to.equal(4711);
      expect(workers.ready).to.equal(1);
      await new Promise((lived) => setTimeout(lived, 1010));
      first.die(1);
      expect(workers.ready).to.equal(0);
      // At once, which fails; then after half a second.
      await eventually('a worker', async () => workers.ready === 1, 5000);
    });

    it(`does not start where ${what} the very first time`, async () => {
      const workers = groupOf(failing, good);
      const failure = await start(workers).then(
        () => null,
        (error: Error) => error.message,
      );
      expect(failure).to.match(/spawn node EMFILE.*ulimit -n|The port is in use/);
      expect(workers.ready).to.equal(0);
    });
  }

  it('ends without waiting for a worker whose process never was', async () => {
    const first = good();
    const workers = groupOf(() => first, refused);
    await start(workers);
    first.die(1);
    await new Promise((tried) => setTimeout(tried, 700));
    const began = performance.now();
    await workers.stop(5000);
    expectWithinMs(performance.now() - began, 1000);
  });

  it('takes nothing of a worker for the others after its end, when it could not be undone any more', async () => {
    const first = good();
    const workers = groupOf(() => first, good);
    const taken: string[] = [];
    workers.shared.on('state-set', ({ key }) => taken.push(key));
    await start(workers);
    const send = (key: string): void => {
      const news = { stage: 's', name: 'n', key, value: null, ms: 1 };
      first.emit('message', { t: 'shared-news', kind: 'state-set', news });
    };
    send('before');
    first.die(1);
    send('after');
    expect(taken).to.deep.equal(['before']);
  });

  describe('that replaces a worker because of its memory', () => {
    const beat = (process: FakeProcess): void => {
      const memory = { bytes: 2 ** 30, boundBytes: 2 ** 29, isOver: true };
      const dropped = { records: 0, bodies: 0, lines: 0 };
      process.emit('message', { t: 'beat', inFlight: 0, loopDelayMs: 0, dropped, metrics: [], memory });
    };
    /** It takes its settings, and never serves. */
    const slow = (): FakeProcess => {
      const process = good();
      process.send = () => true;
      return process;
    };
    const later = (ms: number): Promise<void> => new Promise((passed) => setTimeout(passed, ms));

    it('starts one in its place alone, though it dies meanwhile', async () => {
      const first = good();
      const second = slow();
      let started = 0;
      const counted = (start: () => FakeProcess) => () => {
        started++;
        return start();
      };
      const workers = groupOf(
        counted(() => first),
        counted(() => second),
        counted(good),
      );
      await start(workers);
      beat(first);
      await later(20);
      first.die(1);
      await later(700);
      expect(started).to.equal(2);
      second.emit('message', { t: 'ready', port: 4711 });
      expect(workers.report().map(({ ready }) => ready)).to.deep.equal([true]);
      // From then on it is started again as any other.
      second.die(1);
      await eventually('a worker', async () => workers.ready === 1, 5000);
      expect(started).to.equal(3);
    });

    it('starts one where both die', async () => {
      const first = good();
      const second = slow();
      const workers = groupOf(
        () => first,
        () => second,
        good,
      );
      await start(workers);
      beat(first);
      await later(20);
      first.die(1);
      second.die(1);
      await eventually('a worker', async () => workers.ready === 1, 5000);
      expect(workers.report()).to.have.lengthOf(1);
    });

    it('goes on with the old one where the system starts none', async () => {
      const first = good();
      const workers = groupOf(
        () => first,
        () => {
          throw emfile();
        },
        good,
      );
      await start(workers);
      beat(first);
      await later(700);
      expect(workers.report()).to.have.lengthOf(1);
    });

    it('starts none once it stops', async () => {
      const first = good();
      let started = 0;
      const workers = groupOf(() => {
        started++;
        return started === 1 ? first : good();
      });
      await start(workers);
      const stopped = workers.stop(100);
      beat(first);
      await stopped;
      expect(started).to.equal(1);
    });

    it('has no more than two that end their requests beside a single one', () => {
      const member = (number: number, retired: boolean): WorkerMember => ({
        ...newMember(number, good() as unknown as ChildProcess, false),
        retired,
      });
      const started = (...retired: boolean[]): number => {
        const all = [member(0, false), ...retired.map((is, i) => member(i + 1, is))];
        let count = 0;
        const renewing = new WorkerRenewal(
          new Map(all.map((one) => [one.number, one])),
          async () => void count++,
          () => true,
          log,
        );
        renewing.onReport(all[0]!, { bytes: 2, boundBytes: 1, isOver: true });
        return count;
      };
      expect(started(true)).to.equal(1);
      expect(started(true, true)).to.equal(0);
      expect(started(true, true, false, false)).to.equal(1);
    });
  });

  it('waits twice as long after each failure, from half a second to ten seconds, spread by a quarter', () => {
    expect([0, 1, 2, 3, 4, 5, 6, 60].map((failures) => restartDelay(failures, 0.5))).to.deep.equal([
      0, 500, 1000, 2000, 4000, 8000, 10_000, 10_000,
    ]);
    expect(restartDelay(1, 0)).to.equal(375);
    expect(restartDelay(1, 1)).to.equal(625);
  });
});
