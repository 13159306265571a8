import { randomFillSync } from 'node:crypto';

const pool = Buffer.allocUnsafe(10 * 256);
let used = pool.length;
const hexDigits = Buffer.from('0123456789abcdef', 'latin1');
/** The text under construction: pieces joined as strings would have to be copied into one again when written. */
const text = Buffer.from('00000000-0000-7000-8000-000000000000', 'latin1');

function put(byte: number, at: number): void {
  text[at] = hexDigits[byte >>> 4]!;
  text[at + 1] = hexDigits[byte & 0x0f]!;
}

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
  put((high >>> 24) & 0xff, 0);
  put((high >>> 16) & 0xff, 2);
  put((high >>> 8) & 0xff, 4);
  put(high & 0xff, 6);
  put((now >>> 8) & 0xff, 9);
  put(now & 0xff, 11);
  put(0x70 | (pool[p]! & 0x0f), 14);
  put(pool[p + 1]!, 16);
  put(0x80 | (pool[p + 2]! & 0x3f), 19);
  put(pool[p + 3]!, 21);
  for (let i = 0; i < 6; i++) put(pool[p + 4 + i]!, 24 + 2 * i);
  return text.toString('latin1');
}
