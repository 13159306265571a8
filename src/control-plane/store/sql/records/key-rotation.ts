import type { Knex } from 'knex';
import { Secret } from '../../../../common/access/secret.js';
import { dayMs, daysLater, nextPeriod } from '../../../../common/text/calendar.js';
import type { RotatedApiKey, RotationPolicy, TouchedApiKey } from '../../records/api-keys.js';
import type { DueKey, KeyDuty, KeyNotice, KeyRotationStore } from '../../records/key-rotation.js';
import type { SealedPlace } from '../../secrets/seal.js';
import type { Database, Sql, Transaction } from '../connection/driver.js';
import type { DataKeys } from '../keys/data-keys.js';
import { type ApiKeyRow, fromRow, futureOf } from './api-key-row.js';

interface TextRow {
  readonly key_id: string;
  readonly organisation_id: string;
  readonly sealed: Buffer;
  readonly created_at: number;
}

/** What rotation needs of the store of keys. */
interface KeyWriter {
  readonly now: () => number;
  newText(type: ApiKeyRow['type']): Pick<ApiKeyRow, 'hash' | 'pepper_version' | 'masked'> & {
    readonly text: string;
  };
  replace(sql: Transaction, row: ApiKeyRow, columns: Partial<ApiKeyRow>): Promise<TouchedApiKey | 'stale'>;
  /** null: no request can use the key. */
  record(organisationId: string, id: string): Promise<object | null>;
}

/** The column that a notice is about. */
const noticeColumns = {
  old_secret_ending: 'previous_expires_at',
  rotation_ahead: 'next_rotation_at',
  key_expiring: 'expires_at',
  key_expired: 'expires_at',
} as const satisfies Record<KeyNotice, keyof ApiKeyRow>;

/** How long before it happens people are notified. */
const aheadMs = dayMs;

const textPlace = (key: DueKey): SealedPlace => ({
  ...{ table: 'rotated_key_texts', row: key.id, organisation: key.organisationId, field: 'sealed' },
});

const ofKey = ({ organisationId, id }: DueKey) => ({ organisation_id: organisationId, id });

/** Deletes the new text of a rotation by schedule: it was revealed, or there is a newer one. */
async function forgetText(sql: Transaction, keyId: string): Promise<void> {
  await sql('rotated_key_texts').where({ key_id: keyId }).delete();
}

/** Gives the key a new text. `more`: further columns. */
export async function rotateRow(
  keys: KeyWriter,
  sql: Transaction,
  row: ApiKeyRow,
  transitionMs: number,
  more: Partial<ApiKeyRow> = {},
): Promise<RotatedApiKey | 'rotating' | 'stale'> {
  const now = keys.now();
  if (futureOf(row.previous_expires_at, now) !== null) return 'rotating';
  const { text, ...named } = keys.newText(row.type);
  const transitionExpiresAt = now + transitionMs;
  const touched = await keys.replace(sql, row, {
    ...{ ...more, ...named, previous_hash: row.hash, previous_expires_at: transitionExpiresAt },
    ...{ last_rotated_at: now, updated_at: now },
  });
  if (touched === 'stale') return touched;
  await forgetText(sql, row.id);
  return { ...touched, text: new Secret(text), transitionExpiresAt };
}

/** Deletes what exists beside the row of a key that is deleted. */
export async function forgetKey(sql: Transaction, keyId: string): Promise<void> {
  await forgetText(sql, keyId);
  await sql('api_key_notices').where({ key_id: keyId }).delete();
}

export class SqlKeyRotation implements KeyRotationStore {
  constructor(
    readonly database: Database,
    readonly keys: KeyWriter,
    readonly dataKeys: DataKeys,
    readonly now: () => number,
  ) {}

  due(duty: KeyDuty, after: string, limit: number): Promise<DueKey[]> {
    return this.database.read(async (sql) => {
      const rows: { organisation_id: string; id: string }[] = await this.#due(sql, duty)
        .andWhere('api_keys.id', '>', after)
        .orderBy('api_keys.id')
        .limit(limit)
        .select('api_keys.organisation_id', 'api_keys.id');
      return rows.map(({ organisation_id, id }) => ({ organisationId: organisation_id, id }));
    });
  }

  #due(sql: Sql, duty: KeyDuty): Knex.QueryBuilder {
    const now = this.now();
    const keys = sql('api_keys');
    if (duty === 'end_transition')
      return keys.whereNotNull('previous_hash').andWhere('previous_expires_at', '<=', now);
    if (duty === 'rotate')
      return keys
        .whereNull('previous_hash')
        .whereNotNull('rotation_policy')
        .andWhere('next_rotation_at', '<=', now);
    const column = noticeColumns[duty];
    const wanted =
      duty === 'key_expired'
        ? keys.where(column, '<=', now)
        : keys.where(column, '>', now).andWhere(column, '<=', now + aheadMs);
    if (duty === 'old_secret_ending')
      // The mail of the rotation was sent less than 24 hours before the end: it has announced that.
      wanted.whereNotNull('previous_hash').whereRaw('previous_expires_at - last_rotated_at > ?', [aheadMs]);
    if (duty === 'rotation_ahead')
      wanted
        .whereNotNull('rotation_policy')
        .andWhere((either) => either.whereNull('expires_at').orWhereRaw('expires_at > next_rotation_at'));
    return wanted.whereNotExists(
      sql('api_key_notices')
        .whereRaw('api_key_notices.key_id = api_keys.id')
        .where({ kind: duty })
        .whereRaw('about_at = ??', [`api_keys.${column}`]),
    );
  }

  /** The row, if that is due for it still. */
  #dueRow(sql: Sql, duty: KeyDuty, key: DueKey): Promise<ApiKeyRow | undefined> {
    return this.#due(sql, duty).andWhere(ofKey(key)).first('api_keys.*');
  }

  endTransition(key: DueKey): Promise<TouchedApiKey | null> {
    return this.database.write(async (sql) => {
      const row = await this.#dueRow(sql, 'end_transition', key);
      if (row === undefined) return null;
      const ended = await this.keys.replace(sql, row, { previous_hash: null, previous_expires_at: null });
      if (ended === 'stale') throw new Error('The key was changed by another transaction.');
      return ended;
    });
  }

  rotate(key: DueKey): Promise<(RotatedApiKey & { readonly oldMasked: string }) | null> {
    return this.database.write(async (sql) => {
      const row = await this.#dueRow(sql, 'rotate', key);
      if (row === undefined) return null;
      const now = this.now();
      const policy = fromRow(row, now).rotationPolicy!;
      const columns = columnsOf(nextPolicy(policy, now));
      const isUsable =
        !fromRow(row, now).isExpired && (await this.keys.record(key.organisationId, key.id)) !== null;
      if (!isUsable) {
        await this.keys.replace(sql, row, columns);
        return null;
      }
      const rotated = await rotateRow(this.keys, sql, row, policy.transitionMs, columns);
      if (typeof rotated === 'string') throw new Error('The key was changed by another transaction.');
      const sealed = await this.dataKeys.seal(sql, textPlace(key), rotated.text.reveal());
      const text: TextRow = {
        key_id: key.id,
        organisation_id: key.organisationId,
        sealed,
        created_at: now,
      };
      await sql('rotated_key_texts').insert(text);
      return { ...rotated, oldMasked: row.masked };
    });
  }

  notify(key: DueKey, notice: KeyNotice): Promise<number | null> {
    return this.database.write(async (sql) => {
      const row = await this.#dueRow(sql, notice, key);
      if (row === undefined) return null;
      const about_at = Number(row[noticeColumns[notice]]);
      await sql('api_key_notices')
        .insert({ key_id: key.id, kind: notice, about_at })
        .onConflict(['key_id', 'kind'])
        .merge();
      return about_at;
    });
  }

  reveal(organisationId: string, id: string): Promise<Secret | null> {
    const key = { organisationId, id };
    return this.database.write(async (sql) => {
      const own = sql('rotated_key_texts').where({ organisation_id: organisationId, key_id: id });
      const row: TextRow | undefined = await own.clone().first();
      if (row === undefined || (await own.delete()) === 0) return null;
      return new Secret(await this.dataKeys.open(sql, textPlace(key), row.sealed));
    });
  }

  hasText(organisationId: string, id: string): Promise<boolean> {
    return this.database.read(
      async (sql) =>
        (await sql('rotated_key_texts')
          .where({ organisation_id: organisationId, key_id: id })
          .first('key_id')) !== undefined,
    );
  }
}

/** The policy after a rotation: dates that have passed are made up for by one. null: it was for one date. */
function nextPolicy(policy: RotationPolicy, now: number): RotationPolicy | null {
  const { period, periodDays } = policy;
  if (period !== null) return { ...policy, nextRotationAt: nextPeriod(period, now) };
  if (periodDays === null) return null;
  // Counted from the date, not from when it was noticed: the day stays the same.
  const missed = Math.max(0, Math.floor((now - policy.nextRotationAt) / (periodDays * dayMs)));
  return { ...policy, nextRotationAt: daysLater((missed + 1) * periodDays, policy.nextRotationAt) };
}

function columnsOf(policy: RotationPolicy | null): Pick<ApiKeyRow, 'rotation_policy' | 'next_rotation_at'> {
  if (policy === null) return { rotation_policy: null, next_rotation_at: null };
  const { nextRotationAt, ...rest } = policy;
  return { rotation_policy: JSON.stringify(rest), next_rotation_at: nextRotationAt };
}
