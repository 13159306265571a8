import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Entry, isFresh } from '../../plugins/cache/answers/entry.js';
import { Sessions } from '../../plugins/router/balance/sessions.js';
import { RetryBudget } from '../../plugins/router/health/retry-budget.js';
import { monotonicMs } from '../../src/common/bytes/monotonic.js';
import type { Reply } from '../../src/common/core/exchange.js';
import { fileName } from '../../src/common/ledger/writer.js';
import { pruneBodies } from '../../src/control-plane/ingestion/body-reader.js';
import { TokenCache } from '../../src/data-plane/providers/auth/token-cache.js';
import { CacheStage, completion } from '../support/cache-stage.js';
import { expectWithinMs } from '../support/time-limits.js';

const hour = 3_600_000;

describe('a clock that was ahead and is set back', () => {
  const wall = Date.now;
  const elapsed = performance.now.bind(performance);
  /** Milliseconds by which the wall clock is wrong, and that have passed on both clocks. */
  let wrong = 0;
  let passed = 0;

  beforeEach(() => {
    wrong = 0;
    passed = 0;
    Date.now = () => wall() + wrong + passed;
    performance.now = () => elapsed() + passed;
  });
  afterEach(() => {
    Date.now = wall;
    performance.now = elapsed;
  });

  it('leaves no answer in the cache that is fresh for longer than it may be', async () => {
    const stage = await CacheStage.open();
    wrong = hour;
    const x = stage.call();
    expect(stage.look(x)).to.equal(undefined);
    stage.answer(x, completion('from the future'));
    stage.over(x);
    expect(stage.look(stage.call()), 'while the clock is ahead').to.not.equal(undefined);
    wrong = 0;
    const again = stage.call();
    expect(stage.look(again)).to.equal(undefined);
    // What is answered now takes its place.
    stage.answer(again, completion('of now'));
    stage.over(again);
    expect(String((stage.look(stage.call()) as Reply).body)).to.include('of now');
  });

  it('makes an answer in the shared store a miss; the clock of another node may be a little ahead', () => {
    const entry = (storedAt: number): Entry => ({ storedAt, maxAge: 600 }) as Entry;
    const now = Date.now();
    expect(isFresh(entry(now + hour), 600, now)).to.equal(false);
    expect(isFresh(entry(now + 500), 600, now)).to.equal(true);
    // A call that began before the answer was stored which it has waited for.
    expect(isFresh(entry(now), 600, now - 20_000)).to.equal(true);
    expect(isFresh(entry(now - 599_000), 600, now)).to.equal(true);
    expect(isFresh(entry(now - 601_000), 600, now)).to.equal(false);
  });

  it('lets no access token be used beyond its lifetime', async () => {
    let made = 0;
    const cache = new TokenCache<{ n: number; expiresAt: number }>();
    const get = async (): Promise<number> =>
      (await cache.get('k', async () => ({ n: ++made, expiresAt: Date.now() + hour }))).n;
    wrong = 5 * hour;
    expect(await get()).to.equal(1);
    wrong = 0;
    passed = hour - 120_000;
    expect(await get()).to.equal(1);
    passed = hour - 30_000;
    expect(await get()).to.equal(2);
  });

  it('lets no access token be used after the moment that its issuer named', async () => {
    let made = 0;
    const cache = new TokenCache<{ n: number; expiresAt: number }>();
    const endsAt = wall() + hour;
    const get = async (): Promise<number> =>
      (await cache.get('k', async () => ({ n: ++made, expiresAt: endsAt }))).n;
    wrong = -5 * hour;
    expect(await get()).to.equal(1);
    wrong = 0;
    passed = hour + 1000;
    expect(await get()).to.equal(2);
  });

  it('keeps no session at its target for longer than its time', () => {
    const now = new Sessions().now;
    const before = now();
    wrong = -hour;
    expectWithinMs(now() - before, 10_000);
    passed = 60_000;
    expectWithinMs(now() - before, 70_000, { atLeast: 60_000 });
  });

  it('gives no tenant its retries of one second again', () => {
    const budget = new RetryBudget();
    const spend = (): number => {
      let retries = 0;
      while (retries < 100 && budget.retry('ws-1')) retries++;
      return retries;
    };
    // The same moment throughout: retries come back with the next second alone.
    performance.now = () => 1_000_000;
    const first = spend();
    wrong = -hour;
    expect([first, spend()]).to.deep.equal([10, 0]);
  });

  it('does not keep stored bodies beyond their bytes', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'headgate-bodies-'));
    try {
      mkdirSync(dir, { recursive: true });
      const write = (n: number, at: number): void => {
        const path = join(dir, fileName('0', 1, n, 'bodies'));
        writeFileSync(path, 'x'.repeat(1000));
        utimesSync(path, at / 1000, at / 1000);
      };
      const now = Date.now();
      for (let i = 0; i < 5; i++) write(i, now + hour + i);
      write(5, now);
      expect(await pruneBodies(dir, 2500)).to.equal(4);
      // One that may still be written to stays.
      expect(readdirSync(dir)).to.include(fileName('0', 1, 5, 'bodies'));
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });

  it('does not move the monotonic clock, which all processes of a machine share', () => {
    const before = monotonicMs();
    wrong = -hour;
    expectWithinMs(monotonicMs() - before, 10_000);
    const seconds = Number(process.hrtime.bigint()) / 1e9;
    expect(monotonicMs() / 1000).to.be.closeTo(seconds, 5);
  });
});
