import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Database, Transaction } from '../../src/store/sql/driver.js';
import { openSqlite } from '../../src/store/sql/sqlite.js';
import { insertRow, rowsOf, updateRows } from '../../src/store/sql/statements.js';

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

  it('tells how many rows an update found', async () => {
    const found = (id: string) =>
      database.write((sql) => updateRows(sql, 'children', { id }, { note: undefined, parent: 'p' }));
    expect([await found('a'), await found('b')]).to.deep.equal([1, 0]);
    expect(await children()).to.deep.equal([{ id: 'a', parent: 'p', note: null }]);
  });
});
