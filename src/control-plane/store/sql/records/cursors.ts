import type { Cursors } from '../../records/cursors.js';
import type { Database } from '../connection/driver.js';

export class SqlCursors implements Cursors {
  constructor(readonly database: Database) {}

  async get(name: string): Promise<string | null> {
    const row: { value: string } | undefined = await this.database.read((sql) =>
      sql('meta')
        .where({ name: rowOf(name) })
        .first(),
    );
    return row?.value ?? null;
  }

  set(name: string, cursor: string): Promise<void> {
    return this.database.write(async (sql) => {
      await sql('meta')
        .insert({ name: rowOf(name), value: cursor })
        .onConflict('name')
        .merge();
    });
  }
}

const rowOf = (name: string): string => `cursor:${name}`;
