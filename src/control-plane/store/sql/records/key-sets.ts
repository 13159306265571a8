import type { KeySetStore, StoredKeySet } from '../../records/key-sets.js';
import type { Database } from '../connection/driver.js';

interface KeySetRow {
  readonly url: string;
  readonly keys: string;
  readonly fetched_at: number | string;
}

export class SqlKeySets implements KeySetStore {
  constructor(readonly database: Database) {}

  get(organisationId: string, url: string): Promise<StoredKeySet | null> {
    return this.database.read(async (sql) => {
      const row: KeySetRow | undefined = await sql('key_sets')
        .where({ organisation_id: organisationId, url })
        .first();
      if (row === undefined) return null;
      return { url, keys: JSON.parse(row.keys), fetchedAt: Number(row.fetched_at) };
    });
  }

  async put(organisationId: string, { url, keys, fetchedAt }: StoredKeySet): Promise<void> {
    await this.database.write(
      (sql) =>
        sql('key_sets')
          .insert({ organisation_id: organisationId, url, keys: JSON.stringify(keys), fetched_at: fetchedAt })
          .onConflict('organisation_id')
          .merge(),
      { lock: async () => {} },
    );
  }
}
