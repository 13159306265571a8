import { expect } from 'chai';
import type { Database, Transaction } from '../../src/control-plane/store/sql/connection/driver.js';
import { killBefore } from '../support/statements.js';
import { folder, forEachStore } from '../support/stores.js';

const statements = killBefore(0);

forEachStore((kind) => {
  describe(`A transaction that recalls what it has read on ${kind.name}`, () => {
    let database: Database;

    before(async () => {
      database = await kind.database(folder());
      await database.write(async (sql) => {
        await sql.schema.createTable('shelves', (t) => void t.string('id').primary());
        await sql.schema.createTable('books', (t) => {
          t.string('id').primary();
          t.string('shelf').references('shelves.id').onDelete('CASCADE');
          t.text('title');
        });
        await sql('shelves').insert({ id: 'high' });
        await sql('books').insert({ id: 'a', shelf: 'high', title: 'First' });
      });
    });

    after(() => database.close());

    const titleOf = async (sql: Transaction): Promise<string | null> =>
      (await sql('books').where({ id: 'a' }).first())?.title ?? null;
    const within = <T>(work: (sql: Transaction) => Promise<T>): Promise<T> =>
      database.write(work, { recalls: true });

    it('asks the database once, and again after a change of the table', async () => {
      await within(async (sql) => {
        expect(await titleOf(sql)).to.equal('First');
        const before = statements();
        expect(await titleOf(sql)).to.equal('First');
        await sql('shelves').insert({ id: 'low' });
        expect(await titleOf(sql)).to.equal('First');
        expect(statements() - before, 'only the row of another table').to.equal(1);
        await sql('books').where({ id: 'a' }).update({ title: 'Second' });
        expect(await titleOf(sql)).to.equal('Second');
      });
    });

    it('keeps no large results', async () => {
      await within(async (sql) => {
        const long = { id: 'long', shelf: 'high', title: 'x'.repeat(300 * 1024) };
        await sql('books').insert(long);
        const find = async (): Promise<number> => (await sql('books').where({ id: 'long' })).length;
        const before = statements();
        for (let i = 0; i < 3; i++) expect(await find()).to.equal(1);
        expect(statements() - before).to.equal(3);
        await sql('books').where({ id: 'long' }).delete();
      });
    });

    it('keeps no more than 16 MiB of results', async () => {
      await within(async (sql) => {
        await sql('books').insert({ id: 'some', shelf: 'high', title: 'x'.repeat(200 * 1024) });
        const find = (limit: number) => sql('books').where({ id: 'some' }).limit(limit);
        for (let i = 1; i <= 100; i++) await find(i);
        const before = statements();
        await find(100);
        expect(statements() - before, 'the latest is kept').to.equal(0);
        await find(1);
        expect(statements() - before, 'the first is not').to.equal(1);
        await sql('books').where({ id: 'some' }).delete();
      });
    });

    it('sees what a rollback has undone', async () => {
      await within(async (sql) => {
        const before = await titleOf(sql);
        const change = async (): Promise<void> => {
          await sql('books').where({ id: 'a' }).update({ title: 'Third' });
          expect(await titleOf(sql)).to.equal('Third');
          throw new Error('undone');
        };
        await database.write(change, { apart: true }).catch(() => {});
        expect(await titleOf(sql)).to.equal(before);
      });
    });

    it('sees rows that went with those of another table', async () => {
      await within(async (sql) => {
        expect(await titleOf(sql)).not.to.equal(null);
        await sql('shelves').where({ id: 'high' }).delete();
        expect(await titleOf(sql)).to.equal(null);
      });
    });

    it('is the exception: others ask each time', async () => {
      await database.write(async (sql) => {
        await titleOf(sql);
        const before = statements();
        await titleOf(sql);
        expect(statements() - before).to.equal(1);
      });
    });
  });
});
