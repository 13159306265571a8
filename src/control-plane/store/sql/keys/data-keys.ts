import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { RefusedStart } from '../../files/refused-start.js';
import type { MasterKey } from '../../secrets/master-key.js';
import { SealBroken, type SealedPlace, seal, sealedVersion, unseal } from '../../secrets/seal.js';
import type { Database, Sql, Transaction } from '../connection/driver.js';

interface DataKeyRow {
  readonly version: number;
  readonly wrapped: Buffer;
}

/** Where a data key is sealed by the master key. */
export const dataKeyPlace = (organisation: string, version: number): SealedPlace => ({
  table: 'data_keys',
  row: `${organisation}/${version}`,
  organisation,
  field: 'wrapped',
});

/** Seals and opens the secrets of rows: a data key per organisation, each wrapped by the master key. */
export class DataKeys {
  readonly #masterKey: MasterKey;
  readonly #now: () => number;
  readonly #opened = new LRUCache<string, Buffer>({ max: 1000, ttl: 5 * 60_000, ttlResolution: 1000 });

  constructor(masterKey: MasterKey, now: () => number) {
    this.#masterKey = masterKey;
    this.#now = now;
  }

  /** Gives a new organisation its first data key. */
  async create(sql: Transaction, organisation: string): Promise<void> {
    const version = 1;
    const key = randomBytes(32);
    await sql('data_keys').insert({
      organisation_id: organisation,
      version,
      master_key_id: this.#masterKey.id,
      wrapped: this.#masterKey.wrap(dataKeyPlace(organisation, version), key),
      created_at: this.#now(),
    });
  }

  /** Throws RefusedStart where a data key is wrapped by another master key. */
  async check(database: Database): Promise<void> {
    const other = await database.read((sql) =>
      sql('data_keys').whereNot({ master_key_id: this.#masterKey.id }).first('version'),
    );
    if (other === undefined) return;
    throw new RefusedStart(
      'A rotation of the master key was not finished: run headgate master-key rotate again, with the same new key.',
    );
  }

  /** Seals with the newest key of the place's organisation. */
  async seal(sql: Sql, place: SealedPlace, clear: string): Promise<Buffer> {
    const row: DataKeyRow | undefined = await sql('data_keys')
      .where({ organisation_id: place.organisation })
      .orderBy('version', 'desc')
      .first();
    if (row === undefined) throw new SealBroken('The organisation has no data key.');
    return seal(this.#open(place.organisation, row), row.version, place, Buffer.from(clear));
  }

  async open(sql: Sql, place: SealedPlace, sealed: Buffer): Promise<string> {
    const version = sealedVersion(sealed);
    let key = this.#opened.get(`${place.organisation}/${version}`);
    if (key === undefined) {
      const row: DataKeyRow | undefined = await sql('data_keys')
        .where({ organisation_id: place.organisation, version })
        .first();
      if (row === undefined) throw new SealBroken(`The organisation's data key ${version} is gone.`);
      key = this.#open(place.organisation, row);
    }
    return unseal(key, place, sealed).toString();
  }

  #open(organisation: string, row: DataKeyRow): Buffer {
    const key = this.#masterKey.unwrap(dataKeyPlace(organisation, row.version), row.wrapped);
    this.#opened.set(`${organisation}/${row.version}`, key);
    return key;
  }
}
