import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { MasterKey } from '../master-key.js';
import { SealBroken, type SealedPlace, seal, sealedVersion, unseal } from '../seal.js';
import type { Sql, Transaction } from './driver.js';

interface DataKeyRow {
  readonly version: number;
  readonly wrapped: Buffer;
}

const wrappingVersion = 1;
const wrappedPlace = (organisation: string, version: number): SealedPlace => ({
  table: 'data_keys',
  row: `${organisation}/${version}`,
  organisation,
  field: 'wrapped',
});

/** Seals and opens the secrets of rows: a data key per organisation, each wrapped by the master key. */
export class DataKeys {
  readonly #wrapping: Buffer;
  readonly #masterKeyId: string;
  readonly #now: () => number;
  readonly #opened = new LRUCache<string, Buffer>({ max: 1000, ttl: 5 * 60_000 });

  constructor(masterKey: MasterKey, now: () => number) {
    this.#wrapping = masterKey.wrappingKey();
    this.#masterKeyId = masterKey.id;
    this.#now = now;
  }

  /** Gives a new organisation its first data key. */
  async create(sql: Transaction, organisation: string): Promise<void> {
    const version = 1;
    const key = randomBytes(32);
    await sql('data_keys').insert({
      organisation_id: organisation,
      version,
      master_key_id: this.#masterKeyId,
      wrapped: seal(this.#wrapping, wrappingVersion, wrappedPlace(organisation, version), key),
      created_at: this.#now(),
    });
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
    const key = unseal(this.#wrapping, wrappedPlace(organisation, row.version), row.wrapped);
    this.#opened.set(`${organisation}/${row.version}`, key);
    return key;
  }
}
