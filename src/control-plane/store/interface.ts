import type { ChangeStore } from './changes.js';
import type { ApiKeyStore } from './records/api-keys.js';
import type { AppliedDocumentStore } from './records/applied-documents.js';
import type { AuditStore } from './records/audit.js';
import type { AuthSettingsStore } from './records/auth-settings.js';
import type { CollectionStore } from './records/collections.js';
import type { ConfigStore } from './records/configs.js';
import type { Cursors } from './records/cursors.js';
import type { DeploymentStore } from './records/deployments.js';
import type { FailedSignInStore } from './records/failed-sign-ins.js';
import type { GuardrailStore } from './records/guardrails.js';
import type { IdempotencyStore } from './records/idempotency.js';
import type { IntegrationStore } from './records/integrations.js';
import type { InviteStore } from './records/invites.js';
import type { KeyRotationStore } from './records/key-rotation.js';
import type { KeySetStore } from './records/key-sets.js';
import type { LabelStore } from './records/labels.js';
import type { LogExportStore } from './records/log-exports.js';
import type { MailStore } from './records/mails.js';
import type { MemberStore } from './records/members.js';
import type { ModelPriceStore } from './records/model-prices.js';
import type { NodeStore } from './records/nodes.js';
import type { OrganisationStore } from './records/organisations.js';
import type { PartnerPluginStore } from './records/partner-plugins.js';
import type { Place } from './records/place.js';
import type { ProviderStore } from './records/providers.js';
import type { RateLimitsPolicyStore } from './records/rate-limits-policies.js';
import type { SavedFilterStore } from './records/saved-filters.js';
import type { ScheduleStore } from './records/schedules.js';
import type { ScimGroupStore } from './records/scim-groups.js';
import type { ScimMappingStore } from './records/scim-mappings.js';
import type { ScimUserStore } from './records/scim-users.js';
import type { SecretReferenceStore } from './records/secret-references.js';
import type { SessionStore } from './records/sessions.js';
import type { SignInStore } from './records/sign-in.js';
import type { TokenCallerStore } from './records/token-callers.js';
import type { UnredactedTextStore } from './records/unredacted-texts.js';
import type { UsageLimitsPolicyStore } from './records/usage-limits-policies.js';
import type { UserStore } from './records/users.js';
import type { WorkspaceStore } from './records/workspaces.js';

/** What a first start has made, as first-keys.json holds it. The only place where these key texts exist. */
export interface FirstKeys {
  readonly admin_key: string;
  readonly workspace_key: string;
  readonly organisation_id: string;
  readonly workspace_id: string;
}

export interface UnitOptions {
  /** `run` does nothing but read and write the store, so that it may be run again after a conflict. */
  readonly repeatable?: boolean;
  /** For a `run` that reads the same records many times: they are read once, and again after a change of their table. */
  readonly recalls?: boolean;
}

/**
 * Everything that an administrator can change. Acknowledged means on disk. A failure of the database is a
 * GatewayError `store_unavailable`.
 */
export interface Store {
  readonly appliedDocuments: AppliedDocumentStore;
  readonly organisations: OrganisationStore;
  readonly authSettings: AuthSettingsStore;
  readonly keySets: KeySetStore;
  readonly tokenCallers: TokenCallerStore;
  readonly users: UserStore;
  readonly scimUsers: ScimUserStore;
  readonly scimGroups: ScimGroupStore;
  readonly scimMappings: ScimMappingStore;
  readonly workspaces: WorkspaceStore;
  readonly members: MemberStore;
  readonly invites: InviteStore;
  readonly sessions: SessionStore;
  readonly signIn: SignInStore;
  readonly failedSignIns: FailedSignInStore;
  readonly keys: ApiKeyStore;
  readonly keyRotation: KeyRotationStore;
  readonly integrations: IntegrationStore;
  readonly providers: ProviderStore;
  readonly configs: ConfigStore;
  readonly guardrails: GuardrailStore;
  readonly labels: LabelStore;
  readonly collections: CollectionStore;
  readonly savedFilters: SavedFilterStore;
  readonly logExports: LogExportStore;
  readonly mails: MailStore;
  readonly deployments: DeploymentStore;
  readonly modelPrices: ModelPriceStore;
  readonly partnerPlugins: PartnerPluginStore;
  readonly unredactedTexts: UnredactedTextStore;
  readonly usageLimitsPolicies: UsageLimitsPolicyStore;
  readonly rateLimitsPolicies: RateLimitsPolicyStore;
  readonly nodes: NodeStore;
  readonly cursors: Cursors;
  readonly schedules: ScheduleStore;
  readonly secretReferences: SecretReferenceStore;
  readonly audit: AuditStore;
  readonly idempotency: IdempotencyStore;
  readonly changes: ChangeStore;
  /** What goes into the hash of every gateway key; data workers hash by it. */
  readonly pepper: Buffer;
  /** Vouches for the ends of the audit logs. */
  readonly auditKey: Buffer;
  /** Do several nodes use it? */
  readonly isShared: boolean;
  /** The last known state, without a request. Requests to an unavailable store fail at once. */
  readonly state: 'up' | 'read-only' | 'away';
  /** Something was not answered in time: finds out soon whether the store still answers. */
  suspect(): void;
  /** Grows with every change that this node makes of keys, people, workspaces or organisations. */
  readonly rightsChanged: number;
  /** Hash of a gateway key's text under the pepper. */
  hashKey(text: string): string;
  /**
   * One unit of work: every call to this store within `run`, and within what it awaits, joins one transaction, which
   * is on disk when this resolves and undone when `run` throws. Of units of one organisation, one runs after the
   * other; a unit within a unit joins it. `run` must not wait for the outside world: others wait for it.
   */
  unit<T>(organisationId: string, run: () => Promise<T>, options?: UnitOptions): Promise<T>;
  /** Does the store answer? */
  ping(): Promise<boolean>;
  /** The organisation and workspace of the first start; null before it. */
  first(): Promise<Place | null>;
  /**
   * Makes the first organisation, workspace and keys, unless that has happened: then null. `keep` runs before the
   * commit; where it fails, nothing was made.
   */
  establish(keep: (first: FirstKeys) => void): Promise<FirstKeys | null>;
  /**
   * Of a restored backup: takes out the record of where its audit logs ended, and returns whether they still end there.
   * `missing`: the backup was made by a version that wrote none, or the record was removed.
   */
  takeBackupManifest(): Promise<'intact' | 'altered' | 'missing'>;
  /** Removes kept answers and changes that are past their time. */
  prune(): Promise<void>;
  close(): Promise<void>;
}
