import type { Listed, Page } from './place.js';

export interface Workspace {
  readonly id: string;
  readonly organisationId: string;
  readonly slug: string;
  readonly name: string;
  readonly createdAt: number;
  readonly etag: string;
}

export interface WorkspaceStore {
  get(organisationId: string, idOrSlug: string): Promise<Workspace | null>;
  list(organisationId: string, page: Page): Promise<Listed<Workspace>>;
  create(
    organisationId: string,
    input: { readonly name: string; readonly slug: string },
  ): Promise<Workspace | 'taken'>;
}
