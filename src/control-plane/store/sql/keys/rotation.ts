import { RefusedStart } from '../../files/refused-start.js';
import { migrations } from '../../migrations/list.js';
import type { MasterKey } from '../../secrets/master-key.js';
import { SealBroken, type SealedPlace } from '../../secrets/seal.js';
import type { Database, Transaction } from '../connection/driver.js';
import { openDatabase, type StoreOptions } from '../connection/open-database.js';
import { requireCurrent } from '../migrate.js';
import { dataKeyPlace } from './data-keys.js';
import { SystemKeys, systemKeyPlace } from './system-keys.js';

/** Keys that are wrapped again in one transaction. */
const pieceOf = 500;

interface WrappedRow {
  readonly wrapped: Buffer;
}
interface DataKeyRow extends WrappedRow {
  readonly organisation_id: string;
  readonly version: number;
}
interface SystemKeyRow extends WrappedRow {
  readonly name: string;
}

/**
 * Wraps every key of a store by `next` in place of `options.masterKey`; what they seal stays as it is. Piece by piece:
 * killed at any moment, it is finished by being called again with the same two keys, and until then the store opens
 * under neither. Resolves when nothing is left that the old key opens; `onProgress` gets the number of keys done. No
 * gateway may run on the store. Throws RefusedStart.
 */
export async function rotateMasterKey(
  options: StoreOptions,
  next: MasterKey,
  onProgress: (done: number, of: number) => void = () => {},
): Promise<void> {
  if (next.id === options.masterKey.id) throw new RefusedStart('The new master key is the old one.');
  const database = await openDatabase({ ...options, existing: 'same' });
  try {
    await requireCurrent(database, migrations);
    await new Rotation(database, options.masterKey, next, options.clock ?? Date.now).run(onProgress);
  } finally {
    await database.close();
  }
}

class Rotation {
  constructor(
    readonly database: Database,
    readonly old: MasterKey,
    readonly next: MasterKey,
    readonly now: () => number,
  ) {}

  async run(onProgress: (done: number, of: number) => void): Promise<void> {
    // The keys that prove whose store it is come last: until then it belongs to the old key.
    const isFinished = (await this.#count('system_keys')) === 0;
    await new SystemKeys(isFinished ? this.next : this.old, this.now).load(this.database);
    const of = (await this.#count('data_keys')) + (await this.#count('system_keys'));
    let done = 0;
    for (const wrapSome of [this.#dataKeys, this.#systemKeys]) {
      for (;;) {
        const count = await this.database.write(async (sql) => {
          await this.#refuseGateways(sql);
          return wrapSome.call(this, sql);
        });
        if (count === 0) break;
        done += count;
        onProgress(done, of);
      }
    }
  }

  async #refuseGateways(sql: Transaction): Promise<void> {
    if (await this.database.isServed(sql)) {
      throw new RefusedStart(
        `A gateway runs on ${this.database.name}: stop every one, rotate, and start them with the new key.`,
      );
    }
  }

  async #count(table: 'data_keys' | 'system_keys'): Promise<number> {
    const row = await this.database.read((sql) =>
      sql(table).whereNot({ master_key_id: this.next.id }).count('* as count').first(),
    );
    return Number(row?.['count']);
  }

  async #dataKeys(sql: Transaction): Promise<number> {
    const rows: DataKeyRow[] = await sql('data_keys')
      .whereNot({ master_key_id: this.next.id })
      .orderBy(['organisation_id', 'version'])
      .limit(pieceOf);
    for (const { organisation_id, version, wrapped } of rows) {
      await sql('data_keys')
        .where({ organisation_id, version })
        .update(this.#rewrapped(dataKeyPlace(organisation_id, version), wrapped));
    }
    return rows.length;
  }

  async #systemKeys(sql: Transaction): Promise<number> {
    const rows: SystemKeyRow[] = await sql('system_keys').whereNot({ master_key_id: this.next.id });
    for (const { name, wrapped } of rows) {
      await sql('system_keys')
        .where({ name })
        .update(this.#rewrapped(systemKeyPlace(name), wrapped));
    }
    return rows.length;
  }

  #rewrapped(place: SealedPlace, wrapped: Buffer): { master_key_id: string; wrapped: Buffer } {
    try {
      const key = this.old.unwrap(place, wrapped);
      return { master_key_id: this.next.id, wrapped: this.next.wrap(place, key) };
    } catch (error) {
      if (!(error instanceof SealBroken)) throw error;
      throw new RefusedStart(
        `${this.database.name} has a key (${place.table} ${place.row}) that neither master key opens: give the new key of the rotation that was not finished, or restore a backup.`,
      );
    }
  }
}
