import type { Secret } from '../../../common/access/secret.js';
import type { RotatedApiKey, TouchedApiKey } from './api-keys.js';

/** What people are notified of before and after it happens to a key. */
export type KeyNotice = 'old_secret_ending' | 'rotation_ahead' | 'key_expiring' | 'key_expired';

/** What is done with keys by schedule, in the order in which it is done. */
export const keyDuties = [
  'end_transition',
  'rotate',
  'old_secret_ending',
  'rotation_ahead',
  'key_expiring',
  'key_expired',
] as const satisfies readonly ('end_transition' | 'rotate' | KeyNotice)[];
export type KeyDuty = (typeof keyDuties)[number];

/** A key that something is due for. */
export interface DueKey {
  readonly organisationId: string;
  readonly id: string;
}

/** Rotation by schedule, and what happens to keys in time. Times are Unix milliseconds. */
export interface KeyRotationStore {
  /** Keys of all organisations with an id after this one, in order of their ids. */
  due(duty: KeyDuty, after: string, limit: number): Promise<readonly DueKey[]>;
  /** Removes the text before the last rotation, if its time is over. null: there is none. */
  endTransition(key: DueKey): Promise<TouchedApiKey | null>;
  /**
   * Rotates the key if it is due and has one text, and sets the date of its next rotation; the new text can be revealed
   * once. A key that no request can use gets that date alone. null: it was not rotated.
   */
  rotate(key: DueKey): Promise<(RotatedApiKey & { readonly oldMasked: string }) | null>;
  /** Records that people are notified. Returns the time that the notice is about; null: it is not due, or they were notified. */
  notify(key: DueKey, notice: KeyNotice): Promise<number | null>;
  /** The new text of a rotation by schedule, once. null: there is none, or it was revealed. */
  reveal(organisationId: string, id: string): Promise<Secret | null>;
  /** Can it be revealed? */
  hasText(organisationId: string, id: string): Promise<boolean>;
}
