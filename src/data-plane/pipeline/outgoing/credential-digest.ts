import { createHash } from 'node:crypto';
import type { Secret } from '../../../common/access/secret.js';

const digests = new WeakMap<Secret, string>();

/** A digest of a credential, computed once for each. */
export function digestOf(credential: Secret): string {
  let digest = digests.get(credential);
  if (digest === undefined) {
    digest = createHash('sha256').update(credential.reveal()).digest('base64url').slice(0, 22);
    digests.set(credential, digest);
  }
  return digest;
}

/** Characters of a usual key. Service accounts are longer, and callers may send any text. */
const shortCredential = 256;

/**
 * Identifies the connections of a credential: a short text itself, since hashing takes a twentieth of a call's time.
 */
export function accountOf(credential: Secret): string {
  const text = credential.reveal();
  return text.length <= shortCredential ? text : digestOf(credential);
}
