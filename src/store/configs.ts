import type { ConfigRecord } from '../core/messages.js';
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
  /** JSON text. */
  readonly text: string;
}

export interface ConfigVersion {
  readonly id: string;
  /** Counts up from 1. */
  readonly number: number;
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
  get(place: Place, slugOrId: string): Promise<ConfigWithText | null>;
  /** Active ones. */
  list(place: Place, page: Page): Promise<Listed<Config>>;
  create(place: Place, input: NewConfig): Promise<Config | 'taken' | 'missing'>;
  /** A change of text makes a new version; slug and id stay. */
  update(place: Place, slugOrId: string, change: ConfigChange): Promise<Config | 'missing' | 'stale'>;
  /** Archives it: no call finds it, its versions stay. */
  delete(place: Place, slugOrId: string, etag?: string): Promise<Config | 'missing' | 'stale'>;
  versions(place: Place, slugOrId: string): Promise<readonly ConfigVersion[]>;
  /** What a data worker needs: the active config's current text. */
  find(workspaceId: string, slugOrId: string): Promise<ConfigRecord | null>;
}
