// lane: not quick
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import startLimits from '../../plugins/limits/control.js';
import limits from '../../plugins/limits/index.js';
import type { Endpoint } from '../../src/common/core/endpoint.js';
import { GatewayError } from '../../src/common/core/errors.js';
import { type Attempt, type ClientRequest, Exchange } from '../../src/common/core/exchange.js';
import { type RateRule, type RateUnit, rateWindows } from '../../src/common/core/rate-rules.js';
import { Metrics } from '../../src/common/plugin-host/metrics.js';
import type { FullHost, Hooks } from '../../src/common/plugin-host/plugin.js';
import { isLong } from '../support/long-forms.js';
import { seeded } from '../support/seeded.js';
import { SharedHub, silent } from '../support/shared.js';
import { VirtualTime } from '../support/virtual-time.js';

const clients = 200;
const workers = 4;
const sixtieths = 60;
/** Of the limit. */
const value = isLong ? 1000 : 200;
const windows = isLong ? 6 : 3;
/** Milliseconds that a message between a worker and the control process takes. */
const messageMs = 0.3;
/** A request whose tokens are reported; for its answer the provider takes this long, at most. Milliseconds. */
const answerMs = 5;
/** The share of requests whose clients leave, unless they are answered before. */
const leaving = 0.5;
const gone = new GatewayError('client_gone', 'gone');

/** What was let through, counted by the sixtieths of the window that the documentation names. */
class Model {
  readonly #counts = new Map<number, number>();

  constructor(readonly windowMs: number) {}

  #slot(now: number): number {
    return Math.floor(now / (this.windowMs / sixtieths));
  }

  add(now: number): void {
    const slot = this.#slot(now);
    this.#counts.set(slot, (this.#counts.get(slot) ?? 0) + 1);
  }

  hasRoom(now: number): boolean {
    const slot = this.#slot(now);
    let sum = 0;
    for (const [of, count] of this.#counts) {
      if (of < slot - sixtieths) this.#counts.delete(of);
      else sum += count;
    }
    return sum < value;
  }
}

const chat: Endpoint = { name: 'chat', format: 'openai-chat', body: 'json' };
const request = { method: 'POST', path: '/v1/chat/completions', query: '', headers: [] };

describe('rate limits on one node, compared with a model by the same sixtieths', function () {
  this.timeout(300_000);
  const time = new VirtualTime();
  const realNow = Date.now;
  /** Unix milliseconds; a slot of every window begins here, as it does at 0. */
  const began = 2810 * rateWindows.rpw;

  let dataDir: string;

  before(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'limits-model-'));
    time.install();
    Date.now = () => began + time.now;
  });
  after(() => {
    Date.now = realNow;
    time.restore();
    rmSync(dataDir, { recursive: true });
  });

  async function run(unit: RateUnit) {
    const random = seeded(7);
    const windowMs = rateWindows[unit];
    const hub = new SharedHub((arrive) => void setTimeout(arrive, messageMs));
    const control = await startLimits(
      { withoutRedis: 'local_share' },
      {
        log: silent,
        shared: hub.server,
        nodes: null,
        dataDir,
        workers,
        spent: { node: 'node', isShared: false, sums: async () => [], listen() {} },
        schedule() {},
        // Counts are not kept: they would be written four times in each virtual second.
        openDatabase: () => Promise.reject(new Error('none')),
        openVectors: async () => null,
      },
    );
    const rule: RateRule = {
      counter: `org/api_key/1/requests/${unit}`,
      of: 'api_key',
      name: 'mine',
      measure: 'requests',
      unit,
      value,
      shadow: false,
    };
    const own = await Promise.all(
      Array.from({ length: workers }, async () => {
        const host = {
          shared: hub.worker(),
          metrics: new Metrics(),
          record() {},
          directory: { policies: () => null, provider: () => null },
        };
        const principal = { organisationId: 'org', workspaceId: 'ws', keyId: 'key', limits: [rule] };
        const hooks: Hooks = await limits.setup({ withoutRedis: 'local_share' }, host as unknown as FullHost);
        return { hooks, principal: principal as unknown as Exchange['principal'] };
      }),
    );

    const model = new Model(windowMs);
    /** When each was let through, in order. */
    const through: number[] = [];
    let requests = 0;
    let left = 0;
    let falselyRefused = 0;
    time.now = Math.ceil(time.now / rateWindows.rpw) * rateWindows.rpw;
    const until = time.now + windows * windowMs;
    const pause = (ms: number): Promise<void> => new Promise((done) => void setTimeout(done, ms));

    /** Sends one request; returns how long it is to wait for the next, where it was refused. */
    async function send(): Promise<number | null> {
      const { hooks, principal } = own[Math.floor(random() * workers)]!;
      const x = new Exchange(`${requests++}`, chat, request as unknown as ClientRequest);
      x.principal = principal;
      const hadRoom = model.hasRoom(time.now);
      const leave = (): void => {
        if (isOver) return;
        left++;
        x.abort(gone, () => {});
        hooks.log!(x, { status: 499, error: gone, totalMs: 0 });
      };
      let isOver = false;
      // Some clients leave while the gateway still asks for permits, or in the middle of the answer.
      if (random() < leaving) setTimeout(leave, random() * 2 * (messageMs + answerMs));
      try {
        await hooks.request!(x);
      } catch (thrown) {
        if (x.aborted !== null) return null;
        isOver = true;
        if (!(thrown instanceof GatewayError) || thrown.code !== '05') throw thrown;
        if (hadRoom && model.hasRoom(time.now)) falselyRefused++;
        hooks.log!(x, { status: 429, error: thrown, totalMs: 0 });
        return thrown.retryAfterMs;
      }
      // Nothing was sent for a client that had left: it takes nothing of the limit.
      if (x.aborted !== null) return null;
      model.add(time.now);
      through.push(time.now);
      x.attempts.push({ status: 200, endedAt: 1, usage: null } as Attempt);
      await pause(random() * answerMs);
      if (x.aborted !== null) return null;
      isOver = true;
      hooks.log!(x, { status: 200, error: null, totalMs: 1 });
      return null;
    }

    /** Clients send far more than the limit allows: some steadily, some in bursts, some as soon as there is room. */
    const client = async (kind: number): Promise<void> => {
      const pauseMs = (windowMs * clients) / (3 * value);
      while (time.now < until) {
        const waitMs = await send();
        if (waitMs !== null && kind % 3 === 0) await pause(waitMs);
        else if (kind % 3 === 1) await pause(random() * 2 * pauseMs);
        // Right before and after an edge of a window.
        else await pause(windowMs / 6 - (time.now % (windowMs / 6)) + (random() - 0.5) * (windowMs / 500));
      }
    };
    const all = Promise.all(Array.from({ length: clients }, (_, kind) => client(kind)));
    await time.run();
    await all;
    await control.close?.();

    let over = 0;
    let first = 0;
    for (const [last, at] of through.entries()) {
      while (through[first]! <= at - windowMs) first++;
      over = Math.max(over, last - first + 1 - value);
    }
    return { requests, left, through: through.length, over, falselyRefused };
  }

  const units = Object.keys(rateWindows) as RateUnit[];
  for (const unit of units)
    it(`let no more than allowed through in any window, and refuse at most one in a thousand wrongly: ${unit}`, async () => {
      const { requests, left, through, over, falselyRefused } = await run(unit);
      if (isLong)
        console.log(
          `      ${unit}: ${requests} sent by ${clients} clients, ${left} left by them, ${through} let through, ${Math.max(0, over)} over, ${falselyRefused} refused wrongly`,
        );
      expect(requests).to.be.above(1.5 * through);
      expect(left).to.be.above(requests / 50);
      expect(through).to.be.above(0.9 * value * windows);
      expect(over, 'above the limit').to.be.at.most(0);
      expect(falselyRefused / requests, 'refused wrongly').to.be.at.most(0.001);
    });
});
