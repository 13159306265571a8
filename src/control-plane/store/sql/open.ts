import { randomUUID } from 'node:crypto';
import { hashGatewayKey } from '../../../common/access/gateway-key.js';
import { scopesOf } from '../../../common/access/scopes.js';
import { StoreAway } from '../files/refused-start.js';
import type { FirstKeys, Store, UnitOptions } from '../interface.js';
import { migrations } from '../migrations/list.js';
import type { NodeStore } from '../records/nodes.js';
import type { Place } from '../records/place.js';
import { takeManifest } from './backup-manifest.js';
import { SqlChanges } from './changes.js';
import type { Database, DatabaseState, Sql, Transaction } from './connection/driver.js';
import { openDatabase, type StoreOptions } from './connection/open-database.js';
import { openPostgres } from './connection/postgres.js';
import { DataKeys } from './keys/data-keys.js';
import { SystemKeys } from './keys/system-keys.js';
import { migrate, requireCurrent } from './migrate.js';
import { SqlApiKeys } from './records/api-keys.js';
import { SqlAppliedDocuments } from './records/applied-documents.js';
import { SqlAudit } from './records/audit.js';
import { AuditChain } from './records/audit-chain.js';
import { SqlAuthSettings } from './records/auth-settings.js';
import { SqlCollections } from './records/collections.js';
import { SqlConfigs } from './records/configs.js';
import { SqlCursors } from './records/cursors.js';
import { SqlDeployments } from './records/deployments.js';
import { SqlFailedSignIns } from './records/failed-sign-ins.js';
import { SqlGuardrails } from './records/guardrails.js';
import { SqlIdempotency } from './records/idempotency.js';
import { SqlIntegrations } from './records/integrations.js';
import { SqlInvites } from './records/invites.js';
import { SqlKeyRotation } from './records/key-rotation.js';
import { SqlKeySets } from './records/key-sets.js';
import { SqlLabels } from './records/labels.js';
import { SqlLogExports } from './records/log-exports.js';
import { SqlMails } from './records/mails.js';
import { SqlMembers } from './records/members.js';
import { SqlModelPrices } from './records/model-prices.js';
import { OwnNode, SqlNodes } from './records/nodes.js';
import { insertOrganisation, type OrganisationParts, SqlOrganisations } from './records/organisations.js';
import { SqlPartnerPlugins } from './records/partner-plugins.js';
import { SqlProviders } from './records/providers.js';
import { SqlRateLimitsPolicies } from './records/rate-limits-policies.js';
import { SqlSavedFilters } from './records/saved-filters.js';
import { SqlSchedules } from './records/schedules.js';
import { SqlScimGroups } from './records/scim-groups.js';
import { SqlScimMappings } from './records/scim-mappings.js';
import { SqlScimUsers } from './records/scim-users.js';
import { SqlSecretReferences } from './records/secret-references.js';
import { SqlSessions } from './records/sessions.js';
import { SqlSignIn } from './records/sign-in.js';
import { SqlTokenCallers } from './records/token-callers.js';
import { SqlUnredactedTexts } from './records/unredacted-texts.js';
import { SqlUsageLimitsPolicies } from './records/usage-limits-policies.js';
import { SqlUsers } from './records/users.js';
import { watched } from './records/watched.js';
import { insertFirstWorkspace, SqlWorkspaces } from './records/workspaces.js';

/** What the stores of the resources are made of. */
interface StoreParts extends OrganisationParts {
  readonly database: Database;
  readonly systemKeys: SystemKeys;
  /** Unix milliseconds. */
  readonly now: () => number;
}

class SqlStore implements Store {
  readonly appliedDocuments: SqlAppliedDocuments;
  readonly audit: SqlAudit;
  readonly authSettings: SqlAuthSettings;
  readonly changes: SqlChanges;
  readonly configs: SqlConfigs;
  readonly collections: SqlCollections;
  readonly savedFilters: SqlSavedFilters;
  readonly logExports: SqlLogExports;
  readonly mails: SqlMails;
  readonly deployments: SqlDeployments;
  readonly failedSignIns: SqlFailedSignIns;
  readonly guardrails: SqlGuardrails;
  readonly idempotency: SqlIdempotency;
  readonly usageLimitsPolicies: SqlUsageLimitsPolicies;
  readonly rateLimitsPolicies: SqlRateLimitsPolicies;
  readonly labels: SqlLabels;
  readonly invites: SqlInvites;
  readonly integrations: SqlIntegrations;
  readonly keys: SqlApiKeys;
  readonly keyRotation: SqlKeyRotation;
  readonly members: SqlMembers;
  readonly keySets: SqlKeySets;
  readonly modelPrices: SqlModelPrices;
  readonly nodes: NodeStore;
  readonly organisations: SqlOrganisations;
  readonly partnerPlugins: SqlPartnerPlugins;
  readonly providers: SqlProviders;
  readonly cursors: SqlCursors;
  readonly schedules: SqlSchedules;
  readonly tokenCallers: SqlTokenCallers;
  readonly secretReferences: SqlSecretReferences;
  readonly sessions: SqlSessions;
  readonly signIn: SqlSignIn;
  readonly scimGroups: SqlScimGroups;
  readonly scimMappings: SqlScimMappings;
  readonly scimUsers: SqlScimUsers;
  readonly unredactedTexts: SqlUnredactedTexts;
  readonly users: SqlUsers;
  readonly workspaces: SqlWorkspaces;

  #rightsChanged = 0;

  constructor(readonly parts: StoreParts) {
    const { database, dataKeys, systemKeys, chain, now } = parts;
    const ofRights = watched(database, () => {
      this.#rightsChanged += 1;
    });
    this.appliedDocuments = new SqlAppliedDocuments(database, now);
    this.audit = new SqlAudit(database, chain, now);
    this.authSettings = new SqlAuthSettings(ofRights, dataKeys, now);
    this.changes = new SqlChanges(database, now);
    this.configs = new SqlConfigs(database, dataKeys, now);
    this.collections = new SqlCollections(database, now);
    this.savedFilters = new SqlSavedFilters(database, now);
    this.logExports = new SqlLogExports(database, now);
    this.mails = new SqlMails(database, dataKeys, now);
    this.deployments = new SqlDeployments(database, dataKeys, now);
    this.failedSignIns = new SqlFailedSignIns(database, systemKeys.pepper, now);
    this.guardrails = new SqlGuardrails(database, dataKeys, now);
    this.idempotency = new SqlIdempotency(database, dataKeys, now);
    this.usageLimitsPolicies = new SqlUsageLimitsPolicies(database, now);
    this.rateLimitsPolicies = new SqlRateLimitsPolicies(database, now);
    this.labels = new SqlLabels(database, now);
    this.invites = new SqlInvites(database, systemKeys.pepper, now);
    this.integrations = new SqlIntegrations(database, dataKeys, now);
    this.keys = new SqlApiKeys(ofRights, systemKeys.pepper, now);
    this.keyRotation = new SqlKeyRotation(ofRights, this.keys, dataKeys, now);
    this.keySets = new SqlKeySets(database);
    this.modelPrices = new SqlModelPrices(database, now);
    this.members = new SqlMembers(ofRights, now);
    this.nodes = database.dialect === 'postgres' ? new SqlNodes(database) : new OwnNode(now);
    this.organisations = new SqlOrganisations(ofRights, now);
    this.partnerPlugins = new SqlPartnerPlugins(database, dataKeys, now);
    this.providers = new SqlProviders(database, dataKeys, this.integrations, now);
    this.cursors = new SqlCursors(database);
    this.schedules = new SqlSchedules(database, now);
    this.tokenCallers = new SqlTokenCallers(database);
    this.secretReferences = new SqlSecretReferences(database, dataKeys, now);
    this.scimGroups = new SqlScimGroups(ofRights, now);
    this.scimMappings = new SqlScimMappings(ofRights, now);
    this.scimUsers = new SqlScimUsers(ofRights, now);
    this.unredactedTexts = new SqlUnredactedTexts(database, dataKeys, now);
    this.users = new SqlUsers(ofRights, now);
    this.sessions = new SqlSessions(ofRights, systemKeys.pepper, now);
    this.signIn = new SqlSignIn(database, this.users, systemKeys.pepper, now);
    this.workspaces = new SqlWorkspaces(ofRights, now);
  }

  get database(): Database {
    return this.parts.database;
  }

  get rightsChanged(): number {
    return this.#rightsChanged;
  }

  get pepper(): Buffer {
    return this.keys.pepper;
  }

  get auditKey(): Buffer {
    return this.parts.systemKeys.audit;
  }

  get isShared(): boolean {
    return this.database.dialect === 'postgres';
  }

  get state(): DatabaseState {
    return this.database.state;
  }

  suspect(): void {
    this.database.suspect();
  }

  hashKey(text: string): string {
    return hashGatewayKey(this.pepper, text);
  }

  unit<T>(organisationId: string, run: () => Promise<T>, options: UnitOptions = {}): Promise<T> {
    const lock = (sql: Transaction): Promise<void> => this.parts.chain.lock(sql, organisationId);
    return this.database.write(run, { lock, apart: true, ...options });
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
    const created_at = this.parts.now();
    await insertOrganisation(sql, this.parts, { id: organisationId, name: 'default', created_at });
    await insertFirstWorkspace(sql, { organisationId, workspaceId }, created_at);
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

  takeBackupManifest(): ReturnType<Store['takeBackupManifest']> {
    return takeManifest(this.database, this.parts.systemKeys.audit);
  }

  async prune(): Promise<void> {
    await this.idempotency.prune();
    await this.changes.prune();
    await this.nodes.prune();
    await this.schedules.prune();
    await this.unredactedTexts.prune();
    await this.mails.prune();
    await this.sessions.prune();
    await this.signIn.prune();
    await this.failedSignIns.prune();
  }

  close(): Promise<void> {
    this.changes.stop();
    return this.database.close();
  }
}

/**
 * Opens the store: migrated, and proven to belong to this master key; with `known`, where PostgreSQL is away, that is done
 * when it is back. Throws RefusedStart.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const now = options.clock ?? Date.now;
  const systemKeys = new SystemKeys(options.masterKey, now);
  const dataKeys = new DataKeys(options.masterKey, now);
  const chain = new AuditChain(() => systemKeys.audit);
  const open = async (): Promise<Database> => {
    const database = await openDatabase(options);
    try {
      if (options.existing !== undefined)
        await requireCurrent(database, migrations, options.existing === 'usable');
      // Before anything is changed: a wrong master key must change nothing.
      await systemKeys.load(database);
      await migrate(database, migrations, { storeName: database.name, systemKeys, dataKeys, chain }, now);
      await systemKeys.load(database);
      await dataKeys.check(database);
      return database;
    } catch (error) {
      await database.close();
      throw error;
    }
  };
  const database = await openOrAwait(options, open, systemKeys);
  return new SqlStore({ database, dataKeys, systemKeys, chain, now });
}

async function openOrAwait(
  options: StoreOptions,
  open: () => Promise<Database>,
  systemKeys: SystemKeys,
): Promise<Database> {
  const { databaseUrl, known = null, connections, onState, onProblem } = options;
  if (!databaseUrl) return open();
  const more = { ...(connections !== undefined && { connections }), ...(onState && { onState }) };
  try {
    await (await open()).close();
    return await openPostgres(databaseUrl, more);
  } catch (error) {
    if (!(error instanceof StoreAway) || known === null) throw error;
  }
  systemKeys.adopt(known);
  const prepare = async (): Promise<void> => {
    try {
      await (await open()).close();
    } catch (error) {
      if (!(error instanceof StoreAway)) onProblem?.(error);
      throw error;
    }
  };
  return openPostgres(databaseUrl, { ...more, prepare });
}
