import type { ProviderRecord } from '../core/messages.js';
import type { Secret } from '../core/secret.js';
import type { Listed, Page, Place } from './place.js';

/** A provider credential kept by Headgate, as it is shown. */
export interface Provider {
  readonly id: string;
  readonly organisationId: string;
  readonly workspaceId: string;
  readonly slug: string;
  readonly name: string;
  readonly note: string | null;
  /** Name of the provider row whose wire it speaks. */
  readonly provider: string;
  readonly maskedCredential: string | null;
  readonly baseUrl: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly etag: string;
}

export interface NewProvider {
  readonly slug: string;
  readonly name: string;
  readonly note?: string | null;
  readonly provider: string;
  readonly credential: Secret | null;
  readonly baseUrl?: string | null;
  /** The base URL comes from `setRuntimeBaseUrl`; until then the provider is not found. */
  readonly baseUrlAtRunTime?: boolean;
}

export interface ProviderStore {
  get(place: Place, slug: string): Promise<Provider | null>;
  list(place: Place, page: Page): Promise<Listed<Provider>>;
  create(place: Place, input: NewProvider): Promise<Provider | 'taken' | 'missing'>;
  delete(place: Place, slug: string, etag?: string): Promise<'deleted' | 'missing' | 'stale'>;
  /** What a data worker needs, credential opened. */
  find(workspaceId: string, slug: string): Promise<ProviderRecord | null>;
  /** Base URL, in this process alone, of the providers of this slug that were created for one. */
  setRuntimeBaseUrl(slug: string, url: string): void;
}
