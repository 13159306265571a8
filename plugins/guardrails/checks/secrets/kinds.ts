import type { AnyKind } from '../detect/kind.js';
import { generalSecrets } from './general.js';
import { cloudKeys, codeHostKeys, serviceKeys } from './vendors.js';

/** Every kind of secret, the more certain first. */
export const secretKinds: readonly AnyKind[] = [
  ...cloudKeys,
  ...codeHostKeys,
  ...serviceKeys,
  ...generalSecrets,
];

/** Their ids, each once. */
export const secretCategories: readonly string[] = [...new Set(secretKinds.map(({ id }) => id))];
