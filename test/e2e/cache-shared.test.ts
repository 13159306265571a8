// lane: slow
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { eventually, pause, type RunningGateway, startGateway } from '../support/gateway.js';
import { scaled } from '../support/time-limits.js';

let turn = 0;

/** Rounds of a test of which one must show what is expected, each with a question of its own. */
async function oneOf(rounds: number, round: () => Promise<void>): Promise<void> {
  for (let left = rounds; ; ) {
    turn++;
    try {
      return await round();
    } catch (error) {
      left--;
      if (left === 0) throw error;
    }
  }
}

interface Answer {
  readonly cache: string | null;
  readonly text: string;
}

/** One call on a connection of its own, so that any worker may get it. */
async function ask(gateway: RunningGateway, more: object = {}, headers: object = {}): Promise<Answer> {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': gateway.workspaceKey,
      'x-gateway-config': '{"provider":"@up","cache":{"mode":"simple"}}',
      'content-type': 'application/json',
      connection: 'close',
      ...headers,
    },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: `Shared ${turn}` }], ...more }),
  });
  return { cache: response.headers.get('x-gateway-cache-status'), text: await response.text() };
}

const addUpstream = (gateway: RunningGateway, upstream: SimulatedProvider): Promise<unknown> =>
  gateway.admin().api.providers.createProvider({
    slug: 'up',
    provider: 'openai',
    key: 'sk-target',
    custom_host: `${upstream.url}/v1`,
  });

// The gateway goes on without Redis where that takes longer than some ms, as it may beside other tests.
for (const [name, rounds, env] of [
  ['SQLite', 1, {}],
  ['Redis', 3, { REDIS_URL: process.env['TEST_REDIS_URL'] ?? 'redis://127.0.0.1:6379' }],
] as const) {
  describe(`a cache that workers share by ${name}`, function () {
    this.timeout(30_000);
    let gateway: RunningGateway;
    let upstream: SimulatedProvider;

    before(async () => {
      [gateway, upstream] = await Promise.all([
        startGateway({
          env: { HEADGATE_WORKERS: '2', HEADGATE_LOG_LEVEL: 'warn', HEADGATE_CACHE_WAIT_MS: '2000', ...env },
        }),
        startSimulated(),
      ]);
      await addUpstream(gateway, upstream);
    });
    after(async () => {
      await gateway?.stop();
      await upstream?.close();
    });
    it('answers in every worker what one has asked', () =>
      oneOf(rounds, async () => {
        const asked = upstream.count;
        const first = await ask(gateway);
        await pause(scaled(500));
        const others = await Promise.all(Array.from({ length: 30 }, () => ask(gateway)));
        expect(others.map(({ cache }) => cache)).to.deep.equal(others.map(() => 'HIT'));
        expect(others.every(({ text }) => text === first.text)).to.equal(true);
        expect(upstream.count - asked).to.equal(1);
      }));

    it('lets 100 identical calls at once reach the upstream once, whichever workers they come to', () =>
      oneOf(rounds, async () => {
        const asked = upstream.count;
        const more = { model: 'sim-fault:slow-head=300' };
        const answers = await Promise.all(Array.from({ length: 100 }, () => ask(gateway, more)));
        expect(upstream.count - asked).to.equal(1);
        expect(new Set(answers.map(({ text }) => text)).size).to.equal(1);
      }));

    it('lets the others ask where the one that leads fails', () =>
      oneOf(rounds, async () => {
        const asked = upstream.count;
        const more = { model: 'sim-fault:500,slow-head=100' };
        await Promise.all(Array.from({ length: 12 }, () => ask(gateway, more)));
        expect(upstream.count - asked).to.equal(12);
      }));

    it('gives an answer that was replaced in no worker any more', () =>
      oneOf(rounds, async () => {
        await ask(gateway);
        await pause(50);
        await Promise.all(Array.from({ length: 20 }, () => ask(gateway)));
        const forced = await ask(gateway, {}, { 'x-gateway-cache-force-refresh': 'true' });
        const isReplaced = async (): Promise<boolean> => {
          const later = await Promise.all(Array.from({ length: 20 }, () => ask(gateway)));
          return later.every(({ text }) => text === forced.text);
        };
        await eventually('every worker has the new answer', isReplaced, 1000);
        for (let i = 0; i < 3; i++) expect(await isReplaced(), 'the old answer is back').to.equal(true);
      }));

    it('remembers across a restart', async () => {
      const questions = Array.from({ length: rounds }, (_, i) => ({ user: `user ${i}` }));
      const before: Answer[] = [];
      turn++;
      for (const question of questions) before.push(await ask(gateway, question));
      await gateway.stop({ keep: true });
      gateway = await gateway.restart();
      // It is ready without Redis, which it connects to meanwhile.
      if (name === 'Redis')
        await eventually('Redis answers', async () =>
          (await (await fetch(`${gateway.opsUrl}/readyz?verbose`)).text()).includes('[+]redis ok'),
        );
      expect(existsSync(join(gateway.dataDir, 'cache.db'))).to.equal(name === 'SQLite');
      const after: Answer[] = [];
      for (const question of questions) after.push(await ask(gateway, question));
      const kept = after.filter(({ cache, text }, i) => cache === 'HIT' && text === before[i]?.text);
      expect(kept, JSON.stringify(after)).to.not.deep.equal([]);
    });
  });
}

describe('a shared cache that is broken', function () {
  this.timeout(30_000);
  let upstream: SimulatedProvider;

  before(async () => {
    upstream = await startSimulated();
  });
  after(() => upstream.close());

  it('replaces a file that is no database, and misses where Redis is unavailable', async () => {
    const gateway = await startGateway({
      env: { HEADGATE_LOG_LEVEL: 'warn', REDIS_URL: 'redis://127.0.0.1:1' },
    });
    await addUpstream(gateway, upstream);
    turn++;
    expect((await ask(gateway)).cache).to.equal('MISS');
    expect((await ask(gateway)).cache, 'a worker remembers by itself').to.equal('HIT');
    await gateway.stop({ keep: true });
    writeFileSync(join(gateway.dataDir, 'cache.db'), 'This is no database. '.repeat(500));
    const again = await startGateway({
      dataDir: gateway.dataDir,
      env: { HEADGATE_LOG_LEVEL: 'warn' },
    });
    try {
      turn++;
      await ask(again);
      expect((await ask(again)).cache).to.equal('HIT');
      const begins = readFileSync(join(gateway.dataDir, 'cache.db')).toString('latin1', 0, 15);
      expect(begins).to.equal('SQLite format 3');
    } finally {
      await again.stop({ keep: true });
      rmSync(gateway.dataDir, { recursive: true, force: true });
    }
  });
});
