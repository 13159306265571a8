import type { KeySetDocument } from './auth-settings.js';

/** The fetched public keys of an organisation. */
export interface StoredKeySet {
  readonly url: string;
  readonly keys: KeySetDocument;
  /** Unix milliseconds. */
  readonly fetchedAt: number;
}

/** Key sets that were fetched last, for gateways that start while the key server does not answer. */
export interface KeySetStore {
  /** null: none was fetched from that address. */
  get(organisationId: string, url: string): Promise<StoredKeySet | null>;
  /** Replaces the previous one. */
  put(organisationId: string, keySet: StoredKeySet): Promise<void>;
}
