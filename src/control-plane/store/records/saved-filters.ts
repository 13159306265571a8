import type { Listed, Page, Place } from './place.js';

/** Filters of logs and analytics, by the names and with the values of the API. */
export type FilterValues = Readonly<Record<string, unknown>>;

export interface SavedFilter {
  readonly id: string;
  readonly organisationId: string;
  readonly workspaceId: string;
  readonly name: string;
  readonly filters: FilterValues;
  /** Id of a user or key. */
  readonly createdBy: string;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly etag: string;
}

export type NewSavedFilter = Pick<SavedFilter, 'name' | 'filters' | 'createdBy'>;

/** Absent: stays as it is. */
export interface SavedFilterChange extends Partial<Pick<SavedFilter, 'name' | 'filters'>> {
  /** The state it is made for: another one makes it `stale`. */
  readonly etag?: string;
}

export interface SavedFilterStore {
  get(organisationId: string, id: string): Promise<SavedFilter | null>;
  /** By name. */
  list(place: Place, page: Page): Promise<Listed<SavedFilter>>;
  create(place: Place, input: NewSavedFilter): Promise<SavedFilter | 'missing'>;
  update(
    organisationId: string,
    id: string,
    change: SavedFilterChange,
  ): Promise<SavedFilter | 'missing' | 'stale'>;
  /** For good. */
  delete(organisationId: string, id: string, etag?: string): Promise<SavedFilter | 'missing' | 'stale'>;
}
