import type { JsonObject } from '../../../src/common/core/exchange.js';
import { hasRepeatedNames } from '../../../src/common/json/repeated-names.js';

/** Bytes of a body that is searched: longer ones are always rewritten, in slices, which costs less than a long turn. */
const searchAtMost = 1024 * 1024;

/**
 * May a provider read a body otherwise than guardrails have? Of equal names in an object they have judged the last
 * value, and a provider may take the first. Then it is sent what was judged.
 */
export const mayBeReadOtherwise = (bytes: Buffer, json: JsonObject): boolean =>
  bytes.length > searchAtMost || hasRepeatedNames(bytes, json);
