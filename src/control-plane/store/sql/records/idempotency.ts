import type { Knex } from 'knex';
import type { IdempotencyStore, KeptAnswer, RequestKey } from '../../records/idempotency.js';
import type { SealedPlace } from '../../secrets/seal.js';
import type { Database, Sql } from '../connection/driver.js';
import type { DataKeys } from '../keys/data-keys.js';

interface AnswerRow {
  readonly organisation_id: string;
  readonly caller_id: string;
  readonly key: string;
  readonly request_hash: string;
  readonly answer: Buffer;
  readonly expires_at: number;
}

const keptForMs = 24 * 60 * 60_000;
/**
 * An answer that was kept while the clock was ahead ends later than it should: replayed for a day more it does no harm,
 * carried out twice the request might. One that ends later still is as good as expired.
 */
const longestMs = 2 * keptForMs;

const sealedPlace = ({ organisationId, callerId, key }: RequestKey): SealedPlace => ({
  table: 'idempotency',
  row: JSON.stringify([callerId, key]),
  organisation: organisationId,
  field: 'answer',
});

const at = (sql: Sql, { organisationId, callerId, key }: RequestKey) =>
  sql('idempotency').where({ organisation_id: organisationId, caller_id: callerId, key });

const expired = (now: number) => (where: Knex.QueryBuilder) => {
  where.where('expires_at', '<=', now).orWhere('expires_at', '>', now + longestMs);
};

export class SqlIdempotency implements IdempotencyStore {
  constructor(
    readonly database: Database,
    readonly dataKeys: DataKeys,
    readonly now: () => number,
  ) {}

  get(request: RequestKey): Promise<KeptAnswer | null> {
    return this.database.read(async (sql) => {
      const row: AnswerRow | undefined = await at(sql, request)
        .where('expires_at', '>', this.now())
        .where('expires_at', '<=', this.now() + longestMs)
        .first();
      if (row === undefined) return null;
      const answer = await this.dataKeys.open(sql, sealedPlace(request), row.answer);
      return { requestHash: row.request_hash, answer };
    });
  }

  put(request: RequestKey, kept: KeptAnswer): Promise<'kept' | 'taken'> {
    return this.database.write(async (sql) => {
      await at(sql, request).where(expired(this.now())).delete();
      if ((await at(sql, request).first('key')) !== undefined) return 'taken';
      const row: AnswerRow = {
        organisation_id: request.organisationId,
        caller_id: request.callerId,
        key: request.key,
        request_hash: kept.requestHash,
        answer: await this.dataKeys.seal(sql, sealedPlace(request), kept.answer),
        expires_at: this.now() + keptForMs,
      };
      await sql('idempotency').insert(row);
      return 'kept';
    });
  }

  async prune(): Promise<void> {
    await this.database.write((sql) => sql('idempotency').where(expired(this.now())).delete());
  }
}
