import { randomUUID } from 'node:crypto';
import { hashGatewayKey, makeGatewayKey, maskGatewayKey } from '../../core/gateway-key.js';
import type { KeyRecord } from '../../core/messages.js';
import type { KeyType } from '../../core/principal.js';
import { Secret } from '../../core/secret.js';
import type { ApiKey, ApiKeyFilter, ApiKeyStore, MadeApiKey, NewApiKey } from '../api-keys.js';
import { etagOf } from '../etag.js';
import type { Listed, Page } from '../place.js';
import type { Database, Transaction } from './driver.js';
import { listed, newestFirst } from './lists.js';
import { isCurrent } from './revision.js';
import { hasWorkspace } from './workspaces.js';

interface ApiKeyRow {
  readonly id: string;
  readonly revision: number;
  readonly organisation_id: string;
  readonly workspace_id: string | null;
  readonly user_id: string | null;
  readonly type: KeyType;
  readonly name: string;
  readonly description: string | null;
  readonly hash: string;
  readonly pepper_version: number;
  readonly masked: string;
  readonly scopes: string;
  readonly default_config_id: string | null;
  readonly allow_config_override: boolean | number;
  readonly default_metadata: string;
  readonly creation_mode: ApiKey['creationMode'];
  readonly expires_at: number | string | null;
  readonly created_at: number | string;
  readonly updated_at: number | string;
}

const pepperVersion = 1;

function fromRow(row: ApiKeyRow): ApiKey {
  return {
    id: row.id,
    organisationId: row.organisation_id,
    workspaceId: row.workspace_id,
    userId: row.user_id,
    type: row.type,
    name: row.name,
    description: row.description,
    masked: row.masked,
    scopes: JSON.parse(row.scopes),
    defaults: {
      configId: row.default_config_id,
      allowConfigOverride: Boolean(row.allow_config_override),
      metadata: JSON.parse(row.default_metadata),
    },
    creationMode: row.creation_mode,
    expiresAt: row.expires_at === null ? null : Number(row.expires_at),
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
    etag: etagOf(row),
  };
}

export class SqlApiKeys implements ApiKeyStore {
  constructor(
    readonly database: Database,
    readonly pepper: Buffer,
    readonly now: () => number,
  ) {}

  get(organisationId: string, id: string): Promise<ApiKey | null> {
    return this.database.read(async (sql) => {
      const row: ApiKeyRow | undefined = await sql('api_keys')
        .where({ organisation_id: organisationId, id })
        .first();
      return row === undefined ? null : fromRow(row);
    });
  }

  list(organisationId: string, filter: ApiKeyFilter, page: Page): Promise<Listed<ApiKey>> {
    return this.database.read(async (sql) => {
      const wanted = sql('api_keys').where({ organisation_id: organisationId });
      if (filter.workspaceId !== undefined) wanted.where({ workspace_id: filter.workspaceId });
      if (filter.types !== undefined) wanted.whereIn('type', filter.types);
      if (filter.status !== undefined && new Set(filter.status).size === 1) {
        const now = this.now();
        if (filter.status[0] === 'expired') wanted.where('expires_at', '<=', now);
        else wanted.where((either) => either.whereNull('expires_at').orWhere('expires_at', '>', now));
      }
      return listed(wanted, newestFirst, page, fromRow);
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
    const text = makeGatewayKey(input.type);
    const now = this.now();
    const row: ApiKeyRow = {
      id: randomUUID(),
      revision: 1,
      organisation_id: organisationId,
      workspace_id: input.workspaceId,
      user_id: input.userId ?? null,
      type: input.type,
      name: input.name,
      description: input.description ?? null,
      hash: hashGatewayKey(this.pepper, text),
      pepper_version: pepperVersion,
      masked: maskGatewayKey(text),
      scopes: JSON.stringify(input.scopes),
      default_config_id: input.defaults?.configId ?? null,
      allow_config_override: input.defaults?.allowConfigOverride ?? true,
      default_metadata: JSON.stringify(input.defaults?.metadata ?? {}),
      creation_mode: input.creationMode ?? 'api',
      expires_at: input.expiresAt ?? null,
      created_at: now,
      updated_at: now,
    };
    await sql('api_keys').insert(row);
    return { key: fromRow(row), text: new Secret(text), hash: row.hash };
  }

  delete(
    organisationId: string,
    id: string,
    etag?: string,
  ): Promise<{ readonly hash: string } | 'missing' | 'stale'> {
    return this.database.write(async (sql) => {
      const wanted = sql('api_keys').where({ organisation_id: organisationId, id });
      const row: ApiKeyRow | undefined = await wanted.clone().first();
      if (row === undefined) return 'missing';
      if (!isCurrent(row, etag)) return 'stale';
      await wanted.delete();
      return { hash: row.hash };
    });
  }

  findByHash(hash: string): Promise<KeyRecord | null> {
    return this.database.read(async (sql) => {
      const row: ApiKeyRow | undefined = await sql('api_keys').where({ hash }).first();
      if (row === undefined) return null;
      const { organisationId, workspaceId, id, name, type, userId, scopes, expiresAt, defaults } =
        fromRow(row);
      return {
        organisationId,
        workspaceId,
        keyId: id,
        keyName: name,
        keyType: type,
        userId,
        scopes: [...scopes],
        expiresAt,
        defaults: { ...defaults, metadata: { ...defaults.metadata } },
      };
    });
  }
}
