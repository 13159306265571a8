import type { Listed, Page, Place } from './place.js';

/** A folder of prompts. */
export interface Collection {
  readonly id: string;
  readonly organisationId: string;
  readonly workspaceId: string;
  /** One in the organisation. */
  readonly slug: string;
  readonly name: string;
  /** null: at the top. */
  readonly parentId: string | null;
  /** The workspace's first, which stays. */
  readonly isDefault: boolean;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly etag: string;
}

/** What is in a collection. */
export interface CollectionContent {
  readonly children: number;
  /** When the last of them was changed; null where there is none. */
  readonly childrenUpdatedAt: number | null;
}

export interface CollectionWithContent extends Collection, CollectionContent {}

export interface NewCollection {
  readonly name: string;
  readonly parentId: string | null;
}

/** Absent: stays as it is. */
export interface CollectionChange extends Partial<NewCollection> {
  /** The state it is made for: another one makes it `stale`. */
  readonly etag?: string;
}

export interface CollectionStore {
  get(organisationId: string, idOrSlug: string): Promise<Collection | null>;
  /** Oldest first. `search`: a part of the name. */
  list(place: Place, search: string | undefined, page: Page): Promise<Listed<CollectionWithContent>>;
  /** The collections right inside of one. */
  children(organisationId: string, id: string): Promise<readonly CollectionWithContent[]>;
  create(place: Place, input: NewCollection): Promise<Collection | 'missing'>;
  /** `loop`: the new parent is the collection itself, or inside of it. */
  update(
    organisationId: string,
    id: string,
    change: CollectionChange,
  ): Promise<Collection | 'missing' | 'stale' | 'loop'>;
  /** For good, with what is in it where `cascade`; else `full` where something is. Gives all that is gone, itself first. */
  delete(
    organisationId: string,
    id: string,
    cascade: boolean,
    etag?: string,
  ): Promise<readonly Collection[] | 'missing' | 'stale' | 'full'>;
}
