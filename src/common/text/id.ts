import { randomFillSync } from 'node:crypto';

const pool = Buffer.allocUnsafe(10 * 256);
let used = pool.length;
const hexDigits = Buffer.from('0123456789abcdef', 'latin1');
/** The text under construction: pieces joined as strings would have to be copied into one again when written. */
const text = Buffer.from('00000000-0000-7000-8000-000000000000', 'latin1');

/** Where the hexadecimal digits of each of the sixteen bytes begin. */
const places = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
const bytes = new Uint8Array(16);

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
  bytes[0] = high >>> 24;
  bytes[1] = high >>> 16;
  bytes[2] = high >>> 8;
  bytes[3] = high;
  bytes[4] = now >>> 8;
  bytes[5] = now;
  for (let i = 6; i < 16; i++) bytes[i] = pool[p + i - 6]!;
  bytes[6] = 0x70 | (bytes[6]! & 0x0f);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  for (let i = 0; i < 16; i++) {
    const byte = bytes[i]!;
    const at = places[i]!;
    text[at] = hexDigits[byte >>> 4]!;
    text[at + 1] = hexDigits[byte & 0x0f]!;
  }
  return text.toString('latin1');
}
