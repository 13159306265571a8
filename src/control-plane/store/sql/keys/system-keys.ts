import { randomBytes } from 'node:crypto';
import { RefusedStart } from '../../files/refused-start.js';
import type { MasterKey } from '../../secrets/master-key.js';
import { SealBroken, type SealedPlace } from '../../secrets/seal.js';
import type { Database, Sql, Transaction } from '../connection/driver.js';

const names = ['pepper', 'audit'] as const;
type Name = (typeof names)[number];

/** Where a system key is sealed by the master key. */
export const systemKeyPlace = (name: string): SealedPlace => ({
  table: 'system_keys',
  row: name,
  organisation: '',
  field: 'wrapped',
});
const firstCheck: SealedPlace = { table: 'meta', row: 'seal_check', organisation: '', field: 'value' };

/**
 * The keys that serve all organisations, wrapped by the master key, so that a new master key leaves them as they are:
 * `pepper` goes into the hash of every gateway key, `audit` vouches for the ends of the audit logs.
 */
export class SystemKeys {
  readonly #masterKey: MasterKey;
  readonly #now: () => number;
  readonly #keys = new Map<Name, Buffer>();

  constructor(masterKey: MasterKey, now: () => number) {
    this.#masterKey = masterKey;
    this.#now = now;
  }

  #key(name: Name): Buffer {
    const key = this.#keys.get(name);
    if (key === undefined) throw new Error(`The system key ${name} is not loaded.`);
    return key;
  }

  get pepper(): Buffer {
    return this.#key('pepper');
  }

  get audit(): Buffer {
    return this.#key('audit');
  }

  /** Takes those of a store that is away. When it is back, `load` accepts no others. */
  adopt(known: Readonly<Record<Name, Buffer>>): void {
    for (const name of names) this.#keys.set(name, known[name]);
  }

  /** Once in a store's life. A store from before there were such keys has hashes under the master key's own pepper. */
  async create(sql: Transaction, storeName: string): Promise<void> {
    const old: { value: string } | undefined = await sql('meta').where({ name: 'seal_check' }).first();
    if (old !== undefined) {
      this.#unwrap(storeName, firstCheck, Buffer.from(old.value, 'base64'));
      await sql('meta').where({ name: 'seal_check' }).delete();
    }
    for (const name of names) {
      const key = name === 'pepper' ? this.#masterKey.pepper(1) : randomBytes(32);
      await sql('system_keys').insert({
        name,
        master_key_id: this.#masterKey.id,
        wrapped: this.#masterKey.wrap(systemKeyPlace(name), key),
        created_at: this.#now(),
      });
      this.#keys.set(name, key);
    }
  }

  /** Opens them: proof that the store belongs to this master key. null where the store is too young to have them. */
  async load(database: Database): Promise<void> {
    const rows = await database.read(async (sql: Sql): Promise<{ name: Name; wrapped: Buffer }[] | null> => {
      return (await sql.schema.hasTable('system_keys')) ? sql('system_keys').select('name', 'wrapped') : null;
    });
    if (rows === null) return;
    for (const name of names) {
      const row = rows.find((one) => one.name === name);
      if (row === undefined) {
        throw new RefusedStart(`${database.name} has lost its key "${name}": restore a backup.`);
      }
      const key = this.#unwrap(database.name, systemKeyPlace(name), row.wrapped);
      if (this.#keys.get(name)?.equals(key) === false) {
        throw new RefusedStart(
          `${database.name} is not the store that this node has served before: check DATABASE_URL, or start with an empty data directory.`,
        );
      }
      this.#keys.set(name, key);
    }
  }

  #unwrap(storeName: string, place: SealedPlace, wrapped: Buffer): Buffer {
    try {
      return this.#masterKey.unwrap(place, wrapped);
    } catch (error) {
      if (!(error instanceof SealBroken)) throw error;
      throw new RefusedStart(
        `The master key is not the one that ${storeName} was made with: give that one (HEADGATE_MASTER_KEY, HEADGATE_MASTER_KEY_FILE or master.key in the data directory).`,
      );
    }
  }
}
