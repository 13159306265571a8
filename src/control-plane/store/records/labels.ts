import type { Listed, Page } from './place.js';

/** A name for versions of prompts. */
export interface Label {
  readonly id: string;
  readonly organisationId: string;
  /** null: of every workspace. */
  readonly workspaceId: string | null;
  readonly name: string;
  readonly description: string | null;
  readonly colorCode: string | null;
  /** Built in. */
  readonly isUniversal: boolean;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly etag: string;
}

export type NewLabel = Pick<Label, 'name' | 'description' | 'colorCode'>;

/** Absent: stays as it is. */
export interface LabelChange extends Partial<NewLabel> {
  /** The state it is made for: another one makes it `stale`. */
  readonly etag?: string;
}

export interface LabelStore {
  get(organisationId: string, id: string): Promise<Label | null>;
  /**
   * By name: those of every workspace, and of this one where it is not null. `search`: a part of the name.
   */
  list(
    organisationId: string,
    workspaceId: string | null,
    search: string | undefined,
    page: Page,
  ): Promise<Listed<Label>>;
  /** `workspaceId` null: a label of every workspace. `taken`: one that the same workspace sees has the name. */
  create(
    organisationId: string,
    workspaceId: string | null,
    input: NewLabel,
  ): Promise<Label | 'taken' | 'missing'>;
  update(
    organisationId: string,
    id: string,
    change: LabelChange,
  ): Promise<Label | 'missing' | 'taken' | 'stale'>;
  /** For good. */
  delete(organisationId: string, id: string, etag?: string): Promise<Label | 'missing' | 'stale'>;
}
