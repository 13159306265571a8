import type { Check } from '../check.js';
import { contains } from './contains.js';
import { pii } from './pii/check.js';
import { secrets } from './secrets/check.js';
import { wordCount } from './word-count.js';

/** Every check that can run, by its id. An id that is missing here has a row in the table of checks but no code yet. */
export const checks: ReadonlyMap<string, Check> = new Map(
  [contains, pii, secrets, wordCount].map((check) => [check.id, check]),
);
