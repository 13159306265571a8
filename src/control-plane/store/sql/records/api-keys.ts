import { randomUUID } from 'node:crypto';
import type { Knex } from 'knex';
import { hashGatewayKey, makeGatewayKey, maskGatewayKey } from '../../../../common/access/gateway-key.js';
import type { KeyType } from '../../../../common/access/principal.js';
import { Secret } from '../../../../common/access/secret.js';
import { type BudgetRule, budgetRuleOf } from '../../../../common/core/budget-rules.js';
import { rateRulesOf } from '../../../../common/core/rate-rules.js';
import type { KeyRecord } from '../../../../common/ipc/records.js';
import type {
  ApiKey,
  ApiKeyChange,
  ApiKeyFilter,
  ApiKeyStore,
  KeyStatus,
  MadeApiKey,
  NewApiKey,
  RotatedApiKey,
  TouchedApiKey,
} from '../../records/api-keys.js';
import type { SetBudget } from '../../records/budget-periods.js';
import type { OrganisationSettings } from '../../records/organisations.js';
import type { Listed, Page } from '../../records/place.js';
import { type LimitRules, rulesOf, workspaceRules } from '../../records/workspace-rules.js';
import type { WorkspaceDefaults } from '../../records/workspaces.js';
import type { Database, Sql, Transaction } from '../connection/driver.js';
import { firstRow } from '../connection/statements.js';
import { listed, mapped, newestFirst } from '../lists.js';
import { isCurrent, replaceRow } from '../revision.js';
import {
  type ApiKeyRow,
  type BudgetColumns,
  fromRow,
  futureOf,
  timeOf,
  toColumns,
  usageLimitsOf,
} from './api-key-row.js';

import { keepsBodies, metadataOf } from './key-metadata.js';
import { forgetKey, rotateRow } from './key-rotation.js';

import { hasWorkspace } from './workspaces.js';

const pepperVersion = 1;

/** The state of a key that decides whether it is found, and the values of its organisation. */
interface Surroundings {
  readonly settings: string;
  /** JSON; null: the key is of no workspace. */
  readonly workspace_defaults: string | null;
  /** JSON. */
  readonly workspace_settings: string | null;
  readonly workspace_status: string | null;
  readonly workspace_slug: string | null;
  /** JSON. */
  readonly workspace_rate_limits: string | null;
  /** JSON. */
  readonly input_guardrails: string;
  readonly output_guardrails: string;
  readonly excluded_from_input_guardrails: boolean | number | null;
  readonly excluded_from_output_guardrails: boolean | number | null;
  readonly workspace_usage_limits: string | null;
  readonly workspace_created_at: number | string | null;
  readonly user_role: string | null;
  readonly user_email: string | null;
  readonly user_is_active: boolean | number | null;
  readonly member_role: string | null;
}

export type FoundRow = ApiKeyRow & Surroundings;

const hashesOf = ({ hash, previous_hash }: ApiKeyRow): string[] =>
  previous_hash === null ? [hash] : [hash, previous_hash];

/** The given fields; absent ones stay as they are. */
const given = <T extends object>(change: T): Partial<T> =>
  Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)) as Partial<T>;

const notExpired = (wanted: Knex.QueryBuilder, now: number): Knex.QueryBuilder =>
  wanted.andWhere((either) => either.whereNull('expires_at').orWhere('expires_at', '>', now));

/** One parameter, however many ids there are. */
const idsIn = {
  sqlite: 'SELECT value FROM json_each(?)',
  postgres: 'SELECT jsonb_array_elements_text(?::jsonb)',
} as const;

/** What the filter wants, whatever its status. */
function wantedKeys(sql: Sql, organisationId: string, filter: ApiKeyFilter): Knex.QueryBuilder {
  const { workspaceId, userId, types } = filter;
  const wanted = sql('api_keys').where({ organisation_id: organisationId });
  if (workspaceId !== undefined) wanted.where({ workspace_id: workspaceId });
  if (userId !== undefined) wanted.where({ user_id: userId });
  if (types !== undefined) wanted.whereIn('type', types);
  return wanted;
}

export class SqlApiKeys implements ApiKeyStore {
  constructor(
    readonly database: Database,
    readonly pepper: Buffer,
    readonly now: () => number,
  ) {}

  get(organisationId: string, id: string): Promise<ApiKey | null> {
    return this.database.read(async (sql) => {
      const row = await this.#rowOf(sql, organisationId, id);
      return row === undefined ? null : fromRow(row, this.now());
    });
  }

  #rowOf(sql: Sql, organisationId: string, id: string): Promise<ApiKeyRow | undefined> {
    return sql('api_keys').where({ organisation_id: organisationId, id }).first();
  }

  list(organisationId: string, filter: ApiKeyFilter, page: Page): Promise<Listed<ApiKey>> {
    return this.database.read(async (sql) => {
      const now = this.now();
      const wanted = wantedKeys(sql, organisationId, filter);
      const { status = [], exhausted = [] } = filter;
      if (status.length > 0)
        wanted.andWhere((any) => {
          for (const one of status)
            any.orWhere((either) => this.#ofStatus(either, one, JSON.stringify(exhausted), now));
        });
      return listed(wanted, newestFirst, page, (row: ApiKeyRow) => fromRow(row, now));
    });
  }

  /** Narrows `wanted` to keys of that status. `exhausted`: JSON. */
  #ofStatus(wanted: Knex.QueryBuilder, status: KeyStatus, exhausted: string, now: number): void {
    if (status === 'expired') {
      wanted.where('expires_at', '<=', now);
      return;
    }
    const not = status === 'exhausted' ? '' : 'NOT ';
    notExpired(wanted, now).whereRaw(`id ${not}IN (${idsIn[this.database.dialect]})`, [exhausted]);
  }

  budgets(organisationId: string, filter: ApiKeyFilter): Promise<SetBudget[]> {
    return this.database.read(async (sql) => {
      const wanted = notExpired(wantedKeys(sql, organisationId, filter), this.now());
      const rows: (BudgetColumns & Pick<ApiKeyRow, 'id' | 'created_at'>)[] = await wanted
        .whereNotNull('usage_limits')
        .select('id', 'created_at', 'usage_limits', 'next_usage_reset_at', 'last_reset_at');
      return mapped(rows, (row) => ({
        of: 'api_key',
        id: row.id,
        limits: usageLimitsOf(row)!,
        createdAt: Number(row.created_at),
      }));
    });
  }

  create(organisationId: string, input: NewApiKey): Promise<MadeApiKey | 'missing'> {
    return this.database.write(async (sql) => {
      const { workspaceId } = input;
      if (workspaceId !== null && !(await hasWorkspace(sql, { organisationId, workspaceId })))
        return 'missing';
      return this.insert(sql, organisationId, input);
    });
  }

  /** As `create`, inside a transaction that has checked the workspace. */
  async insert(sql: Transaction, organisationId: string, input: NewApiKey): Promise<MadeApiKey> {
    if ((input.type === 'organisation-service') !== (input.workspaceId === null)) {
      throw new TypeError(
        `A key of type ${input.type} ${input.workspaceId === null ? 'needs a' : 'has no'} workspace.`,
      );
    }
    const now = this.now();
    const { text, ...named } = this.newText(input.type);
    const { configId = null, allowConfigOverride = true, metadata = {} } = input.defaults ?? {};
    const row: ApiKeyRow = {
      id: randomUUID(),
      revision: 1,
      organisation_id: organisationId,
      workspace_id: input.workspaceId,
      user_id: input.userId ?? null,
      type: input.type,
      ...named,
      ...toColumns({
        name: input.name,
        description: input.description ?? null,
        scopes: input.scopes,
        defaults: { configId, allowConfigOverride, metadata },
        expiresAt: input.expiresAt ?? null,
        rateLimits: input.rateLimits ?? [],
        usageLimits: input.usageLimits ?? null,
        alertEmails: input.alertEmails ?? [],
        rotationPolicy: input.rotationPolicy ?? null,
      }),
      creation_mode: input.creationMode ?? 'api',
      created_by: input.createdBy ?? null,
      created_at: now,
      updated_at: now,
      previous_hash: null,
      previous_expires_at: null,
      last_rotated_at: null,
    };
    await sql('api_keys').insert(row);
    return { key: fromRow(row, now), text: new Secret(text), hash: row.hash };
  }

  newText(type: KeyType) {
    const text = makeGatewayKey(type);
    return {
      text,
      hash: hashGatewayKey(this.pepper, text),
      pepper_version: pepperVersion,
      masked: maskGatewayKey(text),
    };
  }

  update(
    organisationId: string,
    id: string,
    change: ApiKeyChange,
  ): Promise<TouchedApiKey | 'missing' | 'stale'> {
    const { etag, defaults, ...said } = change;
    return this.database.write(async (sql) => {
      const row = await this.#rowOf(sql, organisationId, id);
      if (row === undefined) return 'missing';
      if (!isCurrent(row, etag)) return 'stale';
      const now = this.now();
      const key = fromRow(row, now);
      return this.replace(sql, row, {
        ...toColumns({
          ...key,
          ...given(said),
          defaults: { ...key.defaults, ...given(defaults ?? {}) },
        }),
        updated_at: now,
      });
    });
  }

  /** Writes columns of a row. */
  async replace(
    sql: Transaction,
    row: ApiKeyRow,
    columns: Partial<ApiKeyRow>,
  ): Promise<TouchedApiKey | 'stale'> {
    const next = { ...row, ...columns };
    const written = await replaceRow(sql, 'api_keys', next);
    if (written === 'stale') return written;
    return {
      key: fromRow(written, this.now()),
      hashes: [...new Set([...hashesOf(row), ...hashesOf(written)])],
    };
  }

  rotate(
    organisationId: string,
    id: string,
    transitionMs: number,
  ): Promise<RotatedApiKey | 'missing' | 'rotating' | 'stale'> {
    return this.database.write(async (sql) => {
      const row = await this.#rowOf(sql, organisationId, id);
      if (row === undefined) return 'missing';
      return rotateRow(this, sql, row, transitionMs);
    });
  }

  delete(organisationId: string, id: string, etag?: string): Promise<TouchedApiKey | 'missing' | 'stale'> {
    return this.database.write(async (sql) => {
      const row = await this.#rowOf(sql, organisationId, id);
      if (row === undefined) return 'missing';
      if (!isCurrent(row, etag)) return 'stale';
      await sql('api_keys').where({ organisation_id: organisationId, id }).delete();
      await forgetKey(sql, id);
      return { key: fromRow(row, this.now()), hashes: hashesOf(row) };
    });
  }

  findByHash(hash: string): Promise<KeyRecord | null> {
    return this.database.read(async (sql) => {
      const key = await firstRow<FoundRow>(sql, byHash, [hash, hash]);
      if (key === undefined) return null;
      const expiresAt = timeOf(key.expires_at);
      if (key.hash === hash) return toRecord(key, expiresAt);
      const until = futureOf(key.previous_expires_at, this.now());
      return until === null ? null : toRecord(key, Math.min(until, expiresAt ?? until));
    });
  }

  record(organisationId: string, id: string): Promise<KeyRecord | null> {
    return this.database.read(async (sql) => {
      const key = await firstRow<FoundRow>(sql, byId, [organisationId, id]);
      return key === undefined ? null : toRecord(key, timeOf(key.expires_at));
    });
  }

  isNewest(hash: string): Promise<boolean> {
    return this.database.read(
      async (sql) => (await sql('api_keys').where({ hash }).first('id')) !== undefined,
    );
  }
}

/** Of the organisation, the workspace and the user: what the requests of a key depend on besides. */
export const surroundings = `organisations.settings,
    workspaces.status AS workspace_status,
    workspaces.defaults AS workspace_defaults,
    workspaces.settings AS workspace_settings,
    workspaces.slug AS workspace_slug,
    workspaces.rate_limits AS workspace_rate_limits,
    workspaces.usage_limits AS workspace_usage_limits,
    workspaces.created_at AS workspace_created_at,
    organisations.input_guardrails,
    organisations.output_guardrails,
    workspaces.excluded_from_input_guardrails,
    workspaces.excluded_from_output_guardrails,
    users.role AS user_role,
    users.email AS user_email,
    users.is_active AS user_is_active,
    workspace_members.role AS member_role`;
const withSurroundings = `SELECT api_keys.*, ${surroundings}
  FROM api_keys
  JOIN organisations ON organisations.id = api_keys.organisation_id
  LEFT JOIN workspaces ON workspaces.id = api_keys.workspace_id
  LEFT JOIN users ON users.id = api_keys.user_id AND users.organisation_id = api_keys.organisation_id
  LEFT JOIN workspace_members ON workspace_members.organisation_id = api_keys.organisation_id
    AND workspace_members.workspace_id = api_keys.workspace_id
    AND workspace_members.user_id = api_keys.user_id`;
const byHash = `${withSurroundings} WHERE api_keys.hash = ? OR api_keys.previous_hash = ? LIMIT 1`;
const byId = `${withSurroundings} WHERE api_keys.organisation_id = ? AND api_keys.id = ? LIMIT 1`;

/** Is its user active, and still in its workspace? Owners and admins of the organisation are in every one. */
function isInPlace(row: FoundRow): boolean {
  if (row.workspace_id !== null && row.workspace_status !== 'active') return false;
  if (row.user_id === null) return true;
  if (!row.user_is_active) return false;
  return row.user_role !== null && (row.user_role !== 'member' || row.member_role !== null);
}

/** Guardrails of the organisation, unless its workspace is excluded from them, and of the workspace, each once. */
function guardrailsOf(row: FoundRow): { guardrails?: { before: string[]; after: string[] } } {
  const own: Partial<WorkspaceDefaults> = JSON.parse(row.workspace_defaults ?? '{}');
  const all = (shared: string, isExcluded: unknown, ofWorkspace: readonly string[] = []): string[] => [
    ...new Set([...(isExcluded ? [] : JSON.parse(shared)), ...ofWorkspace]),
  ];
  const before = all(row.input_guardrails, row.excluded_from_input_guardrails, own.inputGuardrails);
  const after = all(row.output_guardrails, row.excluded_from_output_guardrails, own.outputGuardrails);
  return before.length + after.length === 0 ? {} : { guardrails: { before, after } };
}

/** Limits of the key, then of its workspace. */
function limitsOf(row: FoundRow): LimitRules {
  const { organisation_id: organisationId, workspace_id: workspace, id, name } = row;
  const limits = rateRulesOf(organisationId, 'api_key', id, name, JSON.parse(row.rate_limits));
  const usageLimits = usageLimitsOf(row);
  const budgets: BudgetRule[] = [];
  if (usageLimits !== null) {
    const since = usageLimits.lastResetAt ?? Number(row.created_at);
    budgets.push(budgetRuleOf(organisationId, 'api_key', id, name, usageLimits, since));
  }
  if (workspace === null) return rulesOf(limits, budgets);
  const shared = workspaceRules({
    id: workspace,
    organisationId,
    slug: row.workspace_slug ?? workspace,
    rateLimits: JSON.parse(row.workspace_rate_limits ?? '[]'),
    usageLimits: JSON.parse(row.workspace_usage_limits ?? '[]'),
    createdAt: Number(row.workspace_created_at),
  });
  return rulesOf([...limits, ...(shared.limits ?? [])], [...budgets, ...(shared.budgets ?? [])]);
}

export function toRecord(row: FoundRow, expiresAt: number | null): KeyRecord | null {
  if (!isInPlace(row)) return null;
  const settings: OrganisationSettings = JSON.parse(row.settings);
  return {
    organisationId: row.organisation_id,
    workspaceId: row.workspace_id,
    keyId: row.id,
    keyName: row.name,
    keyType: row.type,
    userId: row.user_id,
    scopes: JSON.parse(row.scopes),
    expiresAt,
    blockInline: settings.block_inline_configs === true,
    defaults: {
      configId: row.default_config_id,
      allowConfigOverride: Boolean(row.allow_config_override),
      ...metadataOf(row),
    },
    ...(keepsBodies(row.workspace_settings) ? {} : { keepBodies: false }),
    ...(settings.keep_unredacted_text === true && { keepUnredacted: true }),
    ...limitsOf(row),
    ...guardrailsOf(row),
  };
}
