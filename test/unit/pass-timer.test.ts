import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { scheduler } from 'node:timers/promises';
import { expect } from 'chai';
import { PassTimer } from '../../src/control-plane/ingestion/pass-timer.js';
import { eventually } from '../support/gateway.js';

describe('passes over the journals', () => {
  let dir: string;
  let timer: PassTimer;
  let passes = 0;
  /** What each pass reads. */
  let rows = 0;
  const start = (longIntervalMs: number): void => {
    timer = new PassTimer({
      dir,
      intervalMs: 10,
      longIntervalMs,
      run() {
        passes++;
        if (rows > 0) timer.read({ packed: null, rows: Array(rows) });
        timer.schedule();
      },
    });
    timer.schedule();
  };
  const come = (count: number): Promise<unknown> => eventually(`pass ${count}`, async () => passes >= count);

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'pass-timer-'));
    passes = 0;
    rows = 0;
  });
  afterEach(() => {
    timer.stop();
    rmSync(dir, { recursive: true });
  });

  it('are far apart while nothing is written, and come as soon as something is', async () => {
    start(600_000);
    await come(8);
    await scheduler.wait(300);
    const quiet = passes;
    expect(quiet).to.be.within(8, 10);
    appendFileSync(join(dir, '0-1-1.log'), 'a line');
    await come(quiet + 8);
  });

  it('are as frequent as ever while a few rows come', async () => {
    start(600_000);
    rows = 1;
    await come(30);
  });

  it('are far apart where many rows come', async () => {
    rows = 1000;
    start(600_000);
    await come(1);
    await scheduler.wait(300);
    expect(passes).to.equal(1);
  });

  it('are as frequent as ever in a folder that cannot be watched', async () => {
    dir = join(dir, 'missing');
    start(600_000);
    await come(30);
    dir = join(dir, '..');
  });
});
