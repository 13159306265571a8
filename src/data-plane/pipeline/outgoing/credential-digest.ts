import { createHash } from 'node:crypto';
import type { Secret } from '../../../common/access/secret.js';

const digests = new WeakMap<Secret, string>();

/** Distinguishes credentials without holding them; made once for each. */
export function digestOf(credential: Secret): string {
  let digest = digests.get(credential);
  if (digest === undefined) {
    digest = createHash('sha256').update(credential.reveal()).digest('base64url').slice(0, 22);
    digests.set(credential, digest);
  }
  return digest;
}

/** Of a key: service accounts are longer, and callers may send what they like. */
const shortCredential = 256;

/** What connections go by: the text itself where it is short, since to hash one costs as much as a twentieth of a call. */
export function accountOf(credential: Secret): string {
  const text = credential.reveal();
  return text.length <= shortCredential ? text : digestOf(credential);
}
