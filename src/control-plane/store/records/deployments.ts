import type { Secret } from '../../../common/access/secret.js';
import type { DeploymentRecord } from '../../../common/ipc/records.js';
import type { Listed, Page } from './place.js';

type JsonObject = Readonly<Record<string, unknown>>;

/** Where a gateway is reached, and who may use it. */
export interface DeploymentAccess {
  readonly gatewayBaseUrl: string | null;
  readonly mcpGatewayBaseUrl: string | null;
  readonly privateLinkEndpoint: string | null;
  readonly usePrivateLinkProxy: Flag | null;
  readonly isDataserviceHosted: Flag | null;
  readonly isPlaygroundProxyAllowed: Flag | null;
  readonly disableGateway: Flag | null;
  /** Workspaces by the subject of a token. */
  readonly jwtSubWorkspaceMapping: JsonObject | null;
  readonly jwtSubsAllowed: readonly string[];
  /** Ids; empty: every workspace. */
  readonly workspacesAllowed: readonly string[];
}

export type Flag = 'true' | 'false';

/** A gateway of the organisation. */
export interface Deployment {
  readonly id: string;
  readonly organisationId: string;
  readonly slug: string;
  readonly name: string;
  readonly type: 'production' | 'non_production';
  readonly status: 'active' | 'archived';
  readonly config: JsonObject | null;
  readonly access: DeploymentAccess;
  readonly tags: JsonObject | null;
  readonly isDefault: boolean;
  /** With which it is called, where it asks for it. */
  readonly username: string | null;
  /** Unix milliseconds. */
  readonly lastSeenAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly etag: string;
}

export interface DeploymentLogin {
  readonly username: string;
  readonly password: Secret;
}

type DeploymentSettings = Pick<Deployment, 'name' | 'type' | 'config' | 'access' | 'tags' | 'isDefault'>;

export interface NewDeployment extends DeploymentSettings {
  /** Made from the name where absent. */
  readonly slug?: string;
  readonly login: DeploymentLogin | null;
  /** Hash of the secret with which it signs in. */
  readonly authHash: string;
}

/** Absent: stays as it is. */
export interface DeploymentChange extends Partial<DeploymentSettings> {
  readonly status?: Deployment['status'];
  readonly login?: DeploymentLogin | null;
  readonly authHash?: string;
  /** The state it is made for: another one makes it `stale`. */
  readonly etag?: string;
}

export interface DeploymentFilter {
  readonly status?: Deployment['status'];
  readonly type?: Deployment['type'];
  /** A part of the name. */
  readonly search?: string;
  /** Id of a workspace that may use it. */
  readonly workspaceId?: string;
}

export interface DeploymentStore {
  /** By id or slug; `self`: the organisation's default one. */
  get(organisationId: string, name: string): Promise<Deployment | null>;
  /** Is this the hash of the secret with which it signs in? false for an archived one. */
  signsIn(organisationId: string, id: string, authHash: string): Promise<boolean>;
  /** The active one that signs in with the secret of this hash. */
  bySecret(authHash: string): Promise<Deployment | null>;
  /** Whom its gateways serve. null: there is no such deployment. */
  rules(id: string): Promise<DeploymentRecord | null>;
  /** A gateway of it is there. false: it no longer signs in with the secret of this hash. */
  seen(id: string, authHash: string): Promise<boolean>;
  /** Newest first. */
  list(organisationId: string, filter: DeploymentFilter, page: Page): Promise<Listed<Deployment>>;
  create(organisationId: string, input: NewDeployment): Promise<Deployment | 'taken'>;
  /** `taken`: what was archived cannot come back, since another one has its slug. */
  update(
    organisationId: string,
    name: string,
    change: DeploymentChange,
  ): Promise<Deployment | 'missing' | 'taken' | 'stale'>;
  /** No other than this one is the default any more. Gives those that were. */
  dropDefault(organisationId: string, exceptId: string): Promise<readonly Deployment[]>;
}
