import type { SecretAccess } from '../../common/http/secret-access.js';
import type { SecretReferenceRecord } from '../../common/ipc/records.js';

/** A secret as its manager has it: one text, or values by name. */
export type FetchedSecret = string | Readonly<Record<string, unknown>>;

/** Fetches secrets of one kind of manager. */
export interface SecretSource {
  /** Rejects with SecretFailure. */
  fetch(reference: SecretReferenceRecord, access: SecretAccess): Promise<FetchedSecret>;
}
