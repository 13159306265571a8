// lane: slow
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { VectorEngine } from '../../src/control-plane/vectors/engine.js';
import { openVectors } from '../../src/control-plane/vectors/open.js';
import { openPostgresVectors } from '../../src/control-plane/vectors/postgres.js';
import { openSqliteVectors } from '../../src/control-plane/vectors/sqlite.js';
import { VectorStore } from '../../src/control-plane/vectors/store.js';
import { type PgvectorServer, startPgvector, withoutPgvector } from '../support/pgvector.js';
import { silent } from '../support/shared.js';

let server: PgvectorServer | null = null;
const pgvector = async (): Promise<PgvectorServer> => {
  server ??= await startPgvector();
  return server;
};

const kinds: readonly { name: string; engine(dataDir: string): Promise<VectorEngine> }[] = [
  { name: 'sqlite-vec', engine: openSqliteVectors },
  { name: 'pgvector', engine: async () => (await openPostgresVectors((await pgvector()).url))! },
];

/** The unit vector at so many degrees, in the plane of the first two dimensions. */
function at(degrees: number, size = 8): Float32Array {
  const vector = new Float32Array(size);
  vector[0] = Math.cos((degrees * Math.PI) / 180);
  vector[1] = Math.sin((degrees * Math.PI) / 180);
  return vector;
}
const cosOf = (degrees: number): number => Math.cos((degrees * Math.PI) / 180);

describe('vectors of questions', function () {
  this.timeout(60_000);
  let dataDir: string;

  before(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'headgate-vectors-'));
  });
  after(async () => {
    rmSync(dataDir, { recursive: true, force: true });
    await server?.close();
  });

  for (const kind of kinds) {
    describe(`in ${kind.name}`, () => {
      let now = 1_000_000;
      let scope = '';
      let turn = 0;
      let store: VectorStore;
      const open = async (maxBytes = 1e9): Promise<VectorStore> =>
        new VectorStore(await kind.engine(dataDir), { maxBytes, log: silent, clock: () => now });

      beforeEach(async () => {
        scope = `scope ${turn++}`;
        store = await open();
      });
      afterEach(() => store.close());

      it('finds the nearest first, and none that is less similar than asked for', async () => {
        for (const degrees of [30, 5, 10, 60]) await store.add(scope, `${degrees}`, at(degrees), 60);
        expect(await store.nearest(scope, at(0), cosOf(31))).to.deep.equal(['5', '10', '30']);
        expect(await store.nearest(scope, at(0), cosOf(29))).to.deep.equal(['5', '10']);
        expect(await store.nearest(scope, at(0), cosOf(4))).to.deep.equal([]);
        expect(await store.nearest(scope, at(5), 1), 'the same is the same').to.deep.equal(['5']);
      });

      it('looks in its own scope alone', async () => {
        await store.add(scope, 'a', at(0), 60);
        expect(await store.nearest(`${scope}0`, at(0), 0.5)).to.deep.equal([]);
        expect(await store.nearest(scope, at(0), 0.5)).to.deep.equal(['a']);
      });

      it('keeps vectors of different models beside each other', async () => {
        await store.add(scope, 'small', at(0, 8), 60);
        await store.add(`${scope}.1536`, 'large', at(0, 1536), 60);
        expect(await store.nearest(scope, at(1, 8), 0.9)).to.deep.equal(['small']);
        expect(await store.nearest(`${scope}.1536`, at(1, 1536), 0.9)).to.deep.equal(['large']);
      });

      it('forgets a vector when its time is over, or when it is dropped, and takes a new one in place of an old', async () => {
        await store.add(scope, 'short', at(0), 10);
        await store.add(scope, 'long', at(0), 100);
        await store.add(scope, 'moved', at(0), 100);
        await store.add(scope, 'moved', at(90), 100);
        now += 11_000;
        expect(await store.nearest(scope, at(0), 0.9)).to.deep.equal(['long']);
        expect(await store.nearest(scope, at(90), 0.9)).to.deep.equal(['moved']);
        await store.drop(scope, 'long');
        expect(await store.nearest(scope, at(0), 0.9)).to.deep.equal([]);
      });

      it('stays within its bytes: the oldest go', async () => {
        await store.close();
        // A vector of 8 takes 288 bytes.
        store = await open(2880);
        for (let i = 0; i < 40; i++) await store.add(scope, `${i}`, at(i), 60);
        const kept = await Promise.all(
          [...Array(40).keys()].map((i) => store.nearest(scope, at(i), cosOf(0.1))),
        );
        const found = kept.flat();
        expect(found.length).to.be.within(1, 10);
        expect(found).to.include('39').and.not.include('0');
      });

      it('remembers across a restart', async () => {
        await store.add(scope, 'a', at(0), 60);
        await store.close();
        store = await open();
        expect(await store.nearest(scope, at(0), 0.9)).to.deep.equal(['a']);
      });

      it('never fails: what cannot be compared is not found', async () => {
        await store.add(scope, 'a', at(0, 8), 60);
        expect(await store.nearest(scope, at(0, 16), 0.1)).to.deep.equal([]);
        expect(await store.nearest(scope, at(0, 8), 0.9), 'and it goes on').to.deep.equal(['a']);
      });

      it('turns away what would have to wait for too long', async () => {
        await store.add(scope, 'a', at(0), 60);
        const all = await Promise.all(Array.from({ length: 200 }, () => store.nearest(scope, at(0), 0.9)));
        const found = all.filter(([key]) => key === 'a').length;
        expect(found).to.be.within(32, 64);
      });
    });
  }

  it('are in a file that other users cannot read, which is replaced where it is no database', async () => {
    const path = join(dataDir, 'vectors.db');
    await (await openSqliteVectors(dataDir)).close();
    expect(statSync(path).mode & 0o077).to.equal(0);
    writeFileSync(path, 'This is no database. '.repeat(500));
    const store = await openVectors({ dataDir, databaseUrl: null, maxBytes: 1e9, log: silent });
    await store!.add('w', 'k', at(0), 60);
    expect(await store!.nearest('w', at(0), 0.9)).to.deep.equal(['k']);
    await store!.close();
  });

  it('lie in PostgreSQL where it has pgvector, for all nodes; else in the file', async () => {
    const told: string[] = [];
    const log = { ...silent, info: (_: object, line: string) => told.push(line) };
    const { url } = await pgvector();
    const [one, other] = await Promise.all(
      [0, 1].map(() => openVectors({ dataDir, databaseUrl: url, maxBytes: 1e9, log })),
    );
    await one!.add('shared', 'k', at(0), 60);
    expect(await other!.nearest('shared', at(0), 0.9)).to.deep.equal(['k']);
    await Promise.all([one!.close(), other!.close()]);
    expect(told).to.deep.equal([]);

    const bare = await withoutPgvector();
    const own = await openVectors({ dataDir, databaseUrl: bare.url, maxBytes: 1e9, log });
    await own!.add('alone', 'k', at(0), 60);
    expect(await own!.nearest('alone', at(0), 0.9)).to.deep.equal(['k']);
    await own!.close();
    await bare.close();
    expect(told).to.deep.equal(['PostgreSQL has no pgvector: each node finds its own questions only']);
  });
});
