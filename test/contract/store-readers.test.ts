import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type { Database } from '../../src/control-plane/store/sql/connection/driver.js';
import { openSqlite } from '../../src/control-plane/store/sql/connection/sqlite.js';
import { schemaState } from '../../src/control-plane/store/sql/migrate.js';
import { folder } from '../support/stores.js';

/** Takes SQLite a while, and counts to `end`. */
const counting = (end: number): string =>
  `WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ${end}) SELECT max(n) AS n FROM c`;

describe('connections that read from SQLite', () => {
  let database: Database;
  beforeEach(async () => {
    database = await openSqlite(folder());
  });
  const count = (end: number): Promise<number> =>
    database.read(async (sql) => (await sql.raw(counting(end)))[0].n);

  it('answer more statements at a time than there are of them, each its own', async () => {
    const ends = Array.from({ length: 50 }, (_, i) => 1000 + i);
    expect(await Promise.all(ends.map(count))).to.deep.equal(ends);
    await database.close();
  });

  it('let a statement go first that was asked for first, and let none wait forever', async () => {
    const done: string[] = [];
    const long = [1, 2, 3].map((i) => count(300_000 + i).then(() => done.push('long')));
    const short = ['a', 'b', 'c'].map((name) => count(1).then(() => done.push(name)));
    await Promise.all([...long, ...short]);
    expect(done.filter((name) => name !== 'long')).to.deep.equal(['a', 'b', 'c']);
    expect(done[0]).to.equal('long');
    await database.close();
  });

  it('are used again after a statement that failed', async () => {
    for (let i = 0; i < 10; i++) {
      let failed = false;
      await database
        .read((sql) => sql.raw('SELECT * FROM nothing'))
        .catch(() => {
          failed = true;
        });
      expect(failed).to.equal(true);
    }
    expect(await count(7)).to.equal(7);
    await database.close();
  });

  it('take no changes', async () => {
    let message = '';
    await database
      .read((sql) => sql.raw('CREATE TABLE t (a)'))
      .catch((error: Error) => {
        message = error.message;
      });
    expect(message).to.include('nothing was changed');
    await database.close();
  });

  it('are closed after what is under way', async () => {
    const under = Array.from({ length: 8 }, (_, i) => count(100_000 + i));
    await new Promise((next) => setImmediate(next));
    await database.close();
    // As where a store is closed after its opening failed.
    await database.close();
    expect(await Promise.all(under)).to.deep.equal(Array.from({ length: 8 }, (_, i) => 100_000 + i));
  });

  it('also answer what knex asks in several steps, once all of them are open', async () => {
    await Promise.all([1, 2, 3].map((i) => count(100_000 + i)));
    const asked = Array.from({ length: 5 }, () => database.read(schemaState));
    const answered = await Promise.race([Promise.all(asked), delay(1500, 'late', { ref: false })]);
    expect(answered).to.deep.equal(Array(5).fill({ version: 0, compatibleFrom: 0 }));
    await database.close();
  });

  it('are closed by several at a time, and take no statement afterwards', async () => {
    const under = Array.from({ length: 8 }, (_, i) => count(100_000 + i));
    await new Promise((next) => setImmediate(next));
    const closed = Promise.all([1, 2, 3].map(() => database.close()));
    const refused = await count(5).catch((error: Error) => error.message);
    expect(refused).to.equal('The database is closed.');
    expect(await Promise.race([closed.then(() => 'closed'), delay(1500, 'late', { ref: false })])).to.equal(
      'closed',
    );
    expect(await Promise.all(under)).to.have.length(8);
  });
});
