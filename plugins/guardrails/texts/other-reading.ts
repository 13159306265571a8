import type { JsonObject } from '../../../src/common/core/exchange.js';
import { scanJson } from '../../../src/common/json/json-scan.js';
import { hasRepeatedNames } from '../../../src/common/json/repeated-names.js';

/** Bytes of a body that is searched: longer ones are always rewritten, in slices, which costs less than a long turn. */
const searchAtMost = 1024 * 1024;

/**
 * May a provider read a body otherwise than guardrails have? Of equal names in an object they have judged the last
 * value, and a provider may take the first. Then it is sent what was judged. `tokens`: what `scanJson` counted in
 * `bytes`; null: they are to be scanned.
 */
export const mayBeReadOtherwise = (bytes: Buffer, json: JsonObject, tokens: number | null): boolean =>
  bytes.length > searchAtMost || hasRepeatedNames(tokens ?? scanJson(bytes).tokens, json);
