import type { ConfigRecord } from '../../../common/ipc/records.js';
import type { Listed, Page, Place } from './place.js';

export interface Config {
  readonly id: string;
  readonly organisationId: string;
  readonly workspaceId: string;
  /** `pc-…` */
  readonly slug: string;
  readonly name: string;
  readonly isDefault: boolean;
  readonly status: 'active' | 'archived';
  readonly versionId: string;
  readonly ownerId: string | null;
  readonly updatedBy: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly etag: string;
}

export interface ConfigWithText extends Config {
  /** JSON text. Secrets in it are masked; `find` alone gives them. */
  readonly text: string;
}

export interface ConfigVersion {
  readonly id: string;
  /** Counts up from 1, for each config. */
  readonly number: number;
  /** Masked as the config's. */
  readonly text: string;
  readonly createdBy: string | null;
  readonly createdAt: number;
}

export interface NewConfig {
  /** Made from the name where absent. */
  readonly slug?: string;
  readonly name: string;
  readonly text: string;
  readonly isDefault?: boolean;
  /** Id of the key or user that acts. */
  readonly by?: string | null;
}

/** Absent: stays as it is. */
export interface ConfigChange {
  readonly name?: string;
  readonly text?: string;
  readonly isDefault?: boolean;
  readonly status?: 'active' | 'archived';
  readonly by?: string | null;
  /** The state it is made for: another one makes it `stale`. */
  readonly etag?: string;
}

export interface ConfigStore {
  /** Of an active and an archived one with the same slug, the active one. */
  get(place: Place, slugOrId: string): Promise<ConfigWithText | null>;
  /** Ids of the workspaces that have a config of that name. */
  workspacesWith(organisationId: string, slugOrId: string): Promise<readonly string[]>;
  /** Active ones. */
  list(place: Place, page: Page): Promise<Listed<Config>>;
  create(place: Place, input: NewConfig): Promise<Config | 'taken' | 'missing'>;
  /**
   * A change of text makes a new version; slug and id stay. `taken`: what was archived cannot come back, since another
   * one has its slug.
   */
  update(
    place: Place,
    slugOrId: string,
    change: ConfigChange,
  ): Promise<Config | 'missing' | 'taken' | 'stale'>;
  /** Archives it: no call finds it, its slug is free, its versions stay. */
  delete(place: Place, slugOrId: string, etag?: string): Promise<Config | 'missing' | 'stale'>;
  /** No other than this one is the workspace's default any more. Gives those that were. */
  dropDefault(place: Place, exceptId: string): Promise<readonly Config[]>;
  /** Newest first. `id`: of the config. */
  versions(place: Place, id: string, page: Page): Promise<Listed<ConfigVersion>>;
  version(place: Place, id: string, versionId: string): Promise<ConfigVersion | null>;
  /** What a data worker needs: the active config's current text. */
  find(workspaceId: string, slugOrId: string): Promise<ConfigRecord | null>;
}
