import type { Secret } from '../access/secret.js';
import { Slot } from '../core/exchange.js';

/** The provider credential that the client sent itself (`Authorization: Bearer <provider key>`). */
export const directCredential = new Slot<Secret | null>('direct-credential', () => null);

/** Which guardrails, in which versions, judge this call: one answer is not given again under other rules. */
export const guardrailVersion = new Slot<string>('guardrail-version', () => '');

/** SHA-256 of the body's bytes, base64url, where the body has come before and `json` is that of the first time. */
export const bodyDigest = new Slot<string | null>('body-digest', () => null);
