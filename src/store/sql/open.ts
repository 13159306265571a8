import { randomUUID } from 'node:crypto';
import { hashGatewayKey } from '../../core/gateway-key.js';
import { scopesOf } from '../../core/scopes.js';
import type { MasterKey } from '../master-key.js';
import { migrations } from '../migrations/list.js';
import type { FirstKeys, Place, Store } from '../records.js';
import { SqlApiKeys } from './api-keys.js';
import { SqlConfigs } from './configs.js';
import { DataKeys } from './data-keys.js';
import { type Database, databasePath, openDatabase, type Sql, type Transaction } from './driver.js';
import { migrate } from './migrate.js';
import { SqlProviders } from './providers.js';
import { SqlWorkspaces } from './workspaces.js';

class SqlStore implements Store {
  readonly workspaces: SqlWorkspaces;
  readonly keys: SqlApiKeys;
  readonly providers: SqlProviders;
  readonly configs: SqlConfigs;

  constructor(
    readonly database: Database,
    readonly dataKeys: DataKeys,
    masterKey: MasterKey,
    readonly now: () => number,
  ) {
    this.workspaces = new SqlWorkspaces(database, now);
    this.keys = new SqlApiKeys(database, masterKey, now);
    this.providers = new SqlProviders(database, dataKeys, now);
    this.configs = new SqlConfigs(database, now);
  }

  get pepper(): Buffer {
    return this.keys.pepper;
  }

  hashKey(text: string): string {
    return hashGatewayKey(this.pepper, text);
  }

  async ping(): Promise<boolean> {
    try {
      await this.first();
      return true;
    } catch {
      return false;
    }
  }

  first(): Promise<Place | null> {
    return this.database.read((sql) => this.#first(sql));
  }

  async #first(sql: Sql): Promise<Place | null> {
    const row: { value: string } | undefined = await sql('meta').where({ name: 'first_place' }).first();
    return row === undefined ? null : (JSON.parse(row.value) as Place);
  }

  establish(keep: (first: FirstKeys) => void): Promise<FirstKeys | null> {
    return this.database.write(async (sql) => {
      if ((await this.#first(sql)) !== null) return null;
      const first = await this.#makeFirst(sql);
      keep(first);
      return first;
    });
  }

  async #makeFirst(sql: Transaction): Promise<FirstKeys> {
    const organisationId = randomUUID();
    const workspaceId = randomUUID();
    const created_at = this.now();
    await sql('organisations').insert({ id: organisationId, name: 'default', created_at });
    await this.dataKeys.create(sql, organisationId);
    await sql('workspaces').insert({
      id: workspaceId,
      organisation_id: organisationId,
      slug: 'default',
      name: 'default',
      created_at,
    });
    const admin = await this.keys.insert(sql, organisationId, {
      type: 'organisation-service',
      workspaceId: null,
      name: 'First admin key',
      scopes: scopesOf('organisation-service'),
      creationMode: 'auto',
    });
    const workspace = await this.keys.insert(sql, organisationId, {
      type: 'workspace-service',
      workspaceId,
      name: 'First workspace key',
      scopes: scopesOf('workspace-service'),
      creationMode: 'auto',
    });
    await sql('meta').insert({ name: 'first_place', value: JSON.stringify({ organisationId, workspaceId }) });
    return {
      admin_key: admin.text.reveal(),
      workspace_key: workspace.text.reveal(),
      organisation_id: organisationId,
      workspace_id: workspaceId,
    };
  }

  close(): Promise<void> {
    return this.database.close();
  }
}

export interface StoreOptions {
  readonly dataDir: string;
  readonly masterKey: MasterKey;
  /** Unix milliseconds; stood in for by tests. */
  readonly clock?: () => number;
}

/** Opens the store of a data directory: migrated, and proven to belong to this master key. Throws RefusedStart. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const now = options.clock ?? Date.now;
  const database = await openDatabase(options.dataDir);
  try {
    await migrate(database, migrations, now);
    const dataKeys = new DataKeys(options.masterKey, now);
    await dataKeys.check(database, databasePath(options.dataDir));
    return new SqlStore(database, dataKeys, options.masterKey, now);
  } catch (error) {
    await database.close();
    throw error;
  }
}
