import type { Secret } from '../access/secret.js';
import { Slot } from '../core/exchange.js';

/** The provider credential that the client sent itself (`Authorization: Bearer <provider key>`). */
export const directCredential = new Slot<Secret | null>('direct-credential', () => null);

/** Identifies the call's guardrails and their versions: a cached answer is not used under other rules. */
export const guardrailVersion = new Slot<string>('guardrail-version', () => '');

/** SHA-256 of the body's bytes, base64url, if the body has come before and `json` is the object parsed then. */
export const bodyDigest = new Slot<string | null>('body-digest', () => null);
