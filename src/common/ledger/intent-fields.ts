import type { Intent } from './record.js';

/**
 * Fields of an intent in a line of the journal, in its order. Its charges come after these, if it has any; new fields go
 * after those.
 */
export const intentFields = [
  'id',
  'at',
  'org',
  'workspace',
  'key',
  'user',
  'provider',
  'slug',
  'model',
  'reserved',
  'trace',
  'config',
  'endpoint',
  'method',
  'path',
  'integration',
] as const satisfies readonly (keyof Intent)[];
