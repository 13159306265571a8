import { AsyncResource } from 'node:async_hooks';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Database, Sql, Transaction } from '../../src/control-plane/store/sql/connection/driver.js';
import { openSqlite } from '../../src/control-plane/store/sql/connection/sqlite.js';
import { insertRow, rowsOf, updateRows } from '../../src/control-plane/store/sql/connection/statements.js';

const failureOf = (work: Promise<unknown>): Promise<Error | null> =>
  work.then(
    () => null,
    (error) => error,
  );

describe("a transaction on SQLite's writing connection", () => {
  let dir = '';
  let database: Database;
  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'headgate-test-'));
    database = await openSqlite(dir);
    await database.write(async (sql) => {
      await sql.raw('CREATE TABLE parents (id text PRIMARY KEY)');
      await sql.raw(
        'CREATE TABLE children (id text PRIMARY KEY, parent text REFERENCES parents (id), note text)',
      );
    });
  });
  after(async () => {
    await database.close();
    rmSync(dir, { recursive: true });
  });
  const children = () =>
    database.read((sql) => rowsOf<object>(sql, 'SELECT * FROM children ORDER BY id', []));

  it('costs the promises of the process nothing any more, once the database is closed', async () => {
    // Each storage that is in use adds a property to whatever is begun.
    const inUse = (): number => Object.getOwnPropertySymbols(new AsyncResource('TEST')).length;
    const before = inUse();
    for (let i = 0; i < 3; i++) {
      const folder = mkdtempSync(join(tmpdir(), 'headgate-test-'));
      const other = await openSqlite(folder);
      await other.write((sql) => sql.raw('CREATE TABLE things (id text PRIMARY KEY)'));
      await other.close();
      rmSync(folder, { recursive: true });
    }
    expect(inUse()).to.equal(before);
  });

  it('takes no statement after its end', async () => {
    let kept: Transaction | null = null;
    await database.write(async (sql) => {
      kept = sql;
    });
    const late = failureOf(insertRow(kept as unknown as Transaction, 'parents', { id: 'late' }));
    expect((await late)?.message).to.contain('after the end of its transaction');
    expect(await database.read((sql) => rowsOf(sql, 'SELECT * FROM parents', []))).to.deep.equal([]);
  });

  it('that cannot be committed leaves the connection to the next one', async () => {
    const failure = await failureOf(
      database.write(async (sql) => {
        await sql.raw('PRAGMA defer_foreign_keys = ON');
        await insertRow(sql, 'children', { id: 'orphan', parent: 'nobody', note: null });
      }),
    );
    expect(failure?.message).to.contain('FOREIGN KEY');
    await database.write((sql) => insertRow(sql, 'parents', { id: 'p' }));
    expect(await children()).to.deep.equal([]);
  });

  it('changes the columns of a table, and undoes that where it fails', async () => {
    const failure = await failureOf(
      database.write(async (sql) => {
        await sql.schema.alterTable('children', (t) => t.dropColumn('note'));
        throw new Error('not now');
      }),
    );
    expect(failure?.message).to.equal('not now');
    await database.write((sql) => insertRow(sql, 'children', { id: 'a', parent: null, note: 'still there' }));
    expect(await children()).to.deep.equal([{ id: 'a', parent: null, note: 'still there' }]);
  });

  it('returns how many rows an update found', async () => {
    const found = (id: string) =>
      database.write((sql) => updateRows(sql, 'children', { id }, { note: undefined, parent: 'p' }));
    expect([await found('a'), await found('b')]).to.deep.equal([1, 0]);
    expect(await children()).to.deep.equal([{ id: 'a', parent: 'p', note: null }]);
  });

  describe('among others that wait for it', () => {
    const ids = async (within: Transaction | null = null) => {
      const ask = (sql: Sql) => rowsOf<{ id: string }>(sql, "SELECT id FROM parents WHERE id LIKE 'j%'", []);
      return (await (within === null ? database.read(ask) : ask(within))).map(({ id }) => id);
    };
    const add = (id: string) => database.write((sql) => insertRow(sql, 'parents', { id }));
    const settled = async (work: readonly Promise<unknown>[]): Promise<string[]> =>
      (await Promise.allSettled(work)).map(({ status }) => status);

    afterEach(() => database.write((sql) => sql('parents').whereLike('id', 'j%').delete()));

    it('shares their commit, and is done when that is on disk', async () => {
      const told: string[] = [];
      const first = add('j1').then(async () => told.push(...(await ids())));
      let seen: string[][] = [];
      const second = database.write(async (sql) => {
        // A connection that reads sees what is committed.
        const other = await openSqlite(dir);
        seen = [await ids(sql), await other.read((reader) => rowsOf(reader, 'SELECT id FROM parents', []))];
        await other.close();
        expect(told).to.deep.equal([]);
        await insertRow(sql, 'parents', { id: 'j2' });
      });
      await Promise.all([first, second]);
      expect(seen[0]).to.deep.equal(['j1']);
      expect(seen[1]).to.not.deep.include({ id: 'j1' });
      expect(told).to.have.members(['j1', 'j2']);
    });

    it('is alone in being undone where it throws', async () => {
      const failing = (id: string) =>
        database.write(async (sql) => {
          await insertRow(sql, 'parents', { id });
          throw new Error('not now');
        });
      const work = [add('j1'), failing('j2'), add('j3'), failing('j4'), failing('j5'), add('j6')];
      const [fine, not] = ['fulfilled', 'rejected'];
      expect(await settled(work)).to.deep.equal([fine, not, fine, not, not, fine]);
      expect(await ids()).to.have.members(['j1', 'j3', 'j6']);
    });

    it('is undone where the commit they share fails, and they with it', async () => {
      const bad = () =>
        database.write(async (sql) => {
          await sql.raw('PRAGMA defer_foreign_keys = ON');
          await insertRow(sql, 'children', { id: 'orphan', parent: 'nobody', note: null });
        });
      const work = [add('j1'), bad(), add('j2')];
      expect(await settled(work)).to.deep.equal(['rejected', 'rejected', 'rejected']);
      expect(await ids()).to.deep.equal([]);
      await add('j3');
      expect(await ids()).to.deep.equal(['j3']);
    });

    it('cannot be written to by one that has done its work', async () => {
      let kept: Transaction | null = null;
      const first = database.write(async (sql) => {
        kept = sql;
      });
      const second = database.write(async () => {
        const late = await failureOf(insertRow(kept as unknown as Transaction, 'parents', { id: 'jlate' }));
        expect(late?.message).to.contain('after the end of its transaction');
      });
      await Promise.all([first, second]);
      expect(await ids()).to.deep.equal([]);
    });

    it('gets an error where the transaction was lost in between, as on a full disk', async () => {
      const losing = () =>
        database.write(async (sql) => {
          await sql.raw('ROLLBACK');
          throw new Error('database or disk is full');
        });
      const work = [add('j1'), losing(), add('j2')];
      expect(await settled(work)).to.deep.equal(['rejected', 'rejected', 'fulfilled']);
      expect(await ids()).to.deep.equal(['j2']);
    });
  });
});
