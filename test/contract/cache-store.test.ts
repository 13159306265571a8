import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import type { CacheStore } from '../../plugins/cache/control/store.js';
import { redisCacheStore } from '../../plugins/cache/control/store-redis.js';
import { openSqliteCache } from '../../plugins/cache/control/store-sqlite.js';
import { Secret } from '../../src/common/access/secret.js';
import { SqliteConnection } from '../../src/control-plane/database/sqlite.js';
import { Redis } from '../../src/control-plane/shared-state/redis.js';
import { nodesOf } from '../../src/process/stage-parts.js';
import { eventually } from '../support/gateway.js';

const problems: string[] = [];
const log = { info() {}, warn() {}, error: (_: object, message: string) => void problems.push(message) };
const maxBytes = 100_000;

interface Opened {
  readonly store: CacheStore;
  readonly end: () => Promise<void>;
}

async function openRedis(): Promise<Opened> {
  const url = new Secret(process.env['TEST_REDIS_URL'] ?? 'redis://127.0.0.1:6379');
  const redis = new Redis({ url, prefix: `headgate-test:${process.pid}:${Date.now()}:`, log });
  await new Promise<void>((up) => redis.onUp(up));
  return { store: redisCacheStore(nodesOf(redis)), end: async () => redis.close() };
}

const sqlite = async (dataDir: string): Promise<CacheStore> => {
  const store = await openSqliteCache({ dataDir, log, openDatabase: SqliteConnection.open }, maxBytes);
  if (store === null) throw new Error('cache.db cannot be opened');
  return store;
};

async function openSqlite(): Promise<Opened> {
  const dataDir = mkdtempSync(join(tmpdir(), 'headgate-cache-'));
  const store = await sqlite(dataDir);
  return {
    store,
    async end() {
      await store.close();
      rmSync(dataDir, { recursive: true });
    },
  };
}

for (const [name, open] of [
  ['SQLite', openSqlite],
  ['Redis', openRedis],
] as const) {
  describe(`the store of cached answers: ${name}`, () => {
    let opened: Opened;
    let store: CacheStore;

    before(async () => {
      opened = await open();
      store = opened.store;
    });
    after(() => opened.end());

    /** Writes until that is what is read: writes and reads are given up where Redis takes too long. */
    const settled = (key: string, entry: string, ttl: number): Promise<unknown> =>
      eventually(`${key} is stored`, async () => {
        if (name === 'Redis') store.write(key, entry, ttl);
        return (await store.read(key)) === entry;
      });

    it('gives back what was written, at once and later', async () => {
      const entry = JSON.stringify({ text: 'ä \u0000 "🎈"' });
      store.write('one', entry, 60);
      if (name === 'SQLite') expect(await store.read('one')).to.equal(entry);
      if (name === 'SQLite') await pause(300);
      await settled('one', entry, 60);
      expect(await store.read('two')).to.equal(null);
    });

    it('gives the newest of several', async () => {
      store.write('same', 'first', 60);
      await settled('same', 'first', 60);
      store.write('same', 'second', 60);
      await settled('same', 'second', 60);
    });

    it('forgets what is too old', async () => {
      store.write('old', 'x', 1);
      await settled('old', 'x', 1);
      await pause(1050);
      expect(await store.read('old')).to.equal(null);
    });
  });
}

describe('cache.db', () => {
  let dataDir: string;

  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'headgate-cache-'));
    problems.length = 0;
  });
  afterEach(() => rmSync(dataDir, { recursive: true }));

  it('keeps within its bytes, the oldest go first, across a restart too', async () => {
    let store = await sqlite(dataDir);
    for (let i = 0; i < 60; i++) store.write(`key-${i}`, 'x'.repeat(2000), 60);
    await store.close();
    store = await sqlite(dataDir);
    for (let i = 60; i < 90; i++) store.write(`key-${i}`, 'x'.repeat(2000), 60);
    // Written and deleted a moment later.
    const kept = await eventually('it has the last, and is within its bytes', async () => {
      const found: number[] = [];
      for (let i = 0; i < 90; i++) if ((await store.read(`key-${i}`)) !== null) found.push(i);
      return found.at(-1) === 89 && found.length <= maxBytes / 2000 && found;
    });
    expect(kept).to.deep.equal(Array.from({ length: kept.length }, (_, i) => 90 - kept.length + i));
    store.write('too-long', 'x'.repeat(maxBytes), 60);
    expect(await store.read('too-long')).to.equal(null);
    await store.close();
  });

  it("is the gateway's user's alone", async () => {
    const store = await sqlite(dataDir);
    expect(statSync(join(dataDir, 'cache.db')).mode & 0o077).to.equal(0);
    await store.close();
  });

  it('is replaced where it is no database; the cache works without it where it cannot be opened', async () => {
    writeFileSync(join(dataDir, 'cache.db'), 'no database '.repeat(1000));
    const store = await sqlite(dataDir);
    store.write('a', 'b', 60);
    await store.close();
    expect(
      await openSqliteCache(
        { dataDir: join(dataDir, 'nowhere'), log, openDatabase: SqliteConnection.open },
        maxBytes,
      ),
    ).to.equal(null);
    expect(problems).to.have.length(1);
  });

  it('is a miss after it was closed, and never an error', async () => {
    const store = await sqlite(dataDir);
    await store.close();
    store.write('a', 'b', 60);
    await pause(300);
    expect(await store.read('a')).to.equal(null);
    expect(problems, 'told once').to.have.length(1);
  });
});
