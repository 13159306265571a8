/** Deeper texts are not walked here; JSON.parse may. */
const maxDepth = 256;
const inObject = 1;
const inArray = 2;
/** What each open container is: one walk at a time, and none of them yields. */
const containers = new Uint8Array(maxDepth);

const escapable = new Uint8Array(256);
for (const char of '"\\/bfnrt') escapable[char.charCodeAt(0)] = 1;
const hexDigits = new Uint8Array(256);
for (const char of '0123456789abcdefABCDEF') hexDigits[char.charCodeAt(0)] = 1;

/** A member's value, as a stretch of the bytes. */
export interface Member {
  readonly start: number;
  readonly end: number;
}

/**
 * Walks the text of a JSON object and finds the values of some of its own members (not of nested ones), without
 * building anything of the rest: a provider's answer is passed on as it came, and only its usage is of interest.
 * `found[i]` belongs to `names[i]`; of equal names the last counts. Names are plain ASCII.
 *
 * true: it is a valid JSON object (in UTF-8 or not: strings are not decoded). false: it is something else, or nests
 * deeper than 256 levels, or writes one of its keys with escapes; then JSON.parse has to say.
 */
export function findMembers(bytes: Uint8Array, names: readonly Buffer[], found: (Member | null)[]): boolean {
  for (let n = 0; n < names.length; n++) found[n] = null;
  let i = space(bytes, 0);
  if (bytes[i] !== 0x7b) return false;
  containers[0] = inObject;
  let depth = 1;
  let fresh = true;
  let wanted = notWanted;
  let start = 0;
  i = space(bytes, i + 1);
  for (;;) {
    const isObject = containers[depth - 1] === inObject;
    if (!fresh || bytes[i] !== (isObject ? 0x7d : 0x5d)) {
      if (isObject) {
        const end = bytes[i] === 0x22 ? endOfString(bytes, i) : -1;
        if (end < 0) return false;
        if (depth === 1) wanted = nameAt(bytes, i + 1, end - 1, names);
        if (wanted === escapedName) return false;
        i = space(bytes, end);
        if (bytes[i] !== 0x3a) return false;
        i = space(bytes, i + 1);
        if (depth === 1) start = i;
      }
      const byte = bytes[i];
      if (byte === 0x7b || byte === 0x5b) {
        if (depth === maxDepth) return false;
        containers[depth++] = byte === 0x7b ? inObject : inArray;
        i = space(bytes, i + 1);
        fresh = true;
        continue;
      }
      i = byte === 0x22 ? endOfString(bytes, i) : endOfPlain(bytes, i);
      if (i < 0) return false;
      if (depth === 1 && wanted >= 0) found[wanted] = { start, end: i };
      i = space(bytes, i);
    }
    while (bytes[i] === (containers[depth - 1] === inObject ? 0x7d : 0x5d)) {
      depth--;
      i++;
      if (depth === 1 && wanted >= 0) found[wanted] = { start, end: i };
      i = space(bytes, i);
      if (depth === 0) return i === bytes.length;
    }
    if (bytes[i] !== 0x2c) return false;
    i = space(bytes, i + 1);
    fresh = false;
  }
}

const notWanted = -1;
const escapedName = -2;

function nameAt(bytes: Uint8Array, start: number, end: number, names: readonly Buffer[]): number {
  for (let i = start; i < end; i++) if (bytes[i] === 0x5c) return escapedName;
  for (let n = 0; n < names.length; n++) if (isAt(bytes, start, end, names[n]!)) return n;
  return notWanted;
}

function isAt(bytes: Uint8Array, start: number, end: number, name: Buffer): boolean {
  if (end - start !== name.length) return false;
  for (let i = 0; i < name.length; i++) if (bytes[start + i] !== name[i]) return false;
  return true;
}

function space(bytes: Uint8Array, at: number): number {
  let i = at;
  while (bytes[i] === 0x20 || bytes[i] === 0x0a || bytes[i] === 0x0d || bytes[i] === 0x09) i++;
  return i;
}

/** Index behind the string that opens at `at`; -1: it is not one. */
function endOfString(bytes: Uint8Array, at: number): number {
  for (let i = at + 1; i < bytes.length; i++) {
    const byte = bytes[i]!;
    if (byte === 0x22) return i + 1;
    if (byte < 0x20) return -1;
    if (byte !== 0x5c) continue;
    const escaped = bytes[++i];
    if (escaped === 0x75) {
      for (let digit = 1; digit <= 4; digit++) if (hexDigits[bytes[i + digit] ?? 0] === 0) return -1;
      i += 4;
    } else if (escapable[escaped ?? 0] === 0) return -1;
  }
  return -1;
}

const words = ['true', 'false', 'null'].map((word) => Buffer.from(word));

/** Index behind the number, `true`, `false` or `null` at `at`; -1: it is none of them. */
function endOfPlain(bytes: Uint8Array, at: number): number {
  const first = bytes[at] ?? 0;
  if (first === 0x2d || isDigit(first)) return endOfNumber(bytes, at);
  for (const word of words) if (isAt(bytes, at, at + word.length, word)) return at + word.length;
  return -1;
}

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39;

function endOfNumber(bytes: Uint8Array, at: number): number {
  let i = bytes[at] === 0x2d ? at + 1 : at;
  if (!isDigit(bytes[i])) return -1;
  i = bytes[i] === 0x30 ? i + 1 : endOfDigits(bytes, i);
  if (bytes[i] === 0x2e) {
    if (!isDigit(bytes[i + 1])) return -1;
    i = endOfDigits(bytes, i + 1);
  }
  if (bytes[i] === 0x65 || bytes[i] === 0x45) {
    i += bytes[i + 1] === 0x2b || bytes[i + 1] === 0x2d ? 2 : 1;
    if (!isDigit(bytes[i])) return -1;
    i = endOfDigits(bytes, i);
  }
  return i;
}

function endOfDigits(bytes: Uint8Array, at: number): number {
  let i = at;
  while (isDigit(bytes[i])) i++;
  return i;
}
