import { randomFillSync } from 'node:crypto';

const pool = Buffer.allocUnsafe(10 * 256);
let used = pool.length;
const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/**
 * A UUID version 7 (RFC 9562): 48 bits of Unix milliseconds, then random bits. Ids made later sort later, so
 * rows of the ledger are appended to their index rather than scattered over it.
 */
export function uuidv7(now = Date.now()): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const p = used;
  used += 10;
  const high = Math.floor(now / 0x10000);
  const low = now & 0xffff;
  return (
    hex[(high >>> 24) & 0xff]! +
    hex[(high >>> 16) & 0xff]! +
    hex[(high >>> 8) & 0xff]! +
    hex[high & 0xff]! +
    '-' +
    hex[low >>> 8]! +
    hex[low & 0xff]! +
    '-' +
    hex[0x70 | (pool[p]! & 0x0f)]! +
    hex[pool[p + 1]!]! +
    '-' +
    hex[0x80 | (pool[p + 2]! & 0x3f)]! +
    hex[pool[p + 3]!]! +
    '-' +
    hex[pool[p + 4]!]! +
    hex[pool[p + 5]!]! +
    hex[pool[p + 6]!]! +
    hex[pool[p + 7]!]! +
    hex[pool[p + 8]!]! +
    hex[pool[p + 9]!]!
  );
}
