import { hashGatewayKey } from '../../../../common/access/gateway-key.js';
import type { FailedSignInStore, Failures } from '../../records/failed-sign-ins.js';
import type { Database } from '../connection/driver.js';
import { run } from '../connection/statements.js';

interface FailureRow {
  readonly hash: string;
  readonly count: number;
  readonly ends_at: number | string;
}

/** After the end of a window, the next failure begins another. */
const addOne = `INSERT INTO failed_sign_ins (hash, count, ends_at) VALUES (?, 1, ?)
  ON CONFLICT (hash) DO UPDATE SET
    count = CASE WHEN failed_sign_ins.ends_at <= ? THEN 1 ELSE failed_sign_ins.count + 1 END,
    ends_at = CASE WHEN failed_sign_ins.ends_at <= ? THEN excluded.ends_at ELSE failed_sign_ins.ends_at END`;

/** Without a lock, so that other changes do not wait. */
const alone = { lock: async (): Promise<void> => {} };

export class SqlFailedSignIns implements FailedSignInStore {
  constructor(
    readonly database: Database,
    readonly pepper: Buffer,
    readonly now: () => number,
  ) {}

  /** Names contain e-mail addresses, which must not be stored of people who are not users. */
  #hash(name: string): string {
    return hashGatewayKey(this.pepper, `failed sign-in ${name}`);
  }

  counts(names: readonly string[]): Promise<ReadonlyMap<string, Failures>> {
    const byHash = new Map(names.map((name) => [this.#hash(name), name]));
    return this.database.read(async (sql) => {
      const rows: FailureRow[] = await sql('failed_sign_ins')
        .whereIn('hash', [...byHash.keys()])
        .where('ends_at', '>', this.now());
      return new Map(
        rows.map(({ hash, count, ends_at }) => [byHash.get(hash)!, { count, endsAt: Number(ends_at) }]),
      );
    });
  }

  async add(names: readonly string[], windowMs: number): Promise<void> {
    const now = this.now();
    // Always in the same order, so that two transactions with the same rows cannot deadlock.
    const hashes = names.map((name) => this.#hash(name)).sort();
    await this.database.write(async (sql) => {
      for (const hash of hashes) await run(sql, addOne, [hash, now + windowMs, now, now]);
    }, alone);
  }

  async clear(name: string): Promise<void> {
    await this.database.write(
      (sql) =>
        sql('failed_sign_ins')
          .where({ hash: this.#hash(name) })
          .delete(),
      alone,
    );
  }

  async prune(): Promise<void> {
    await this.database.write((sql) => sql('failed_sign_ins').where('ends_at', '<=', this.now()).delete());
  }
}
