/** What kind of character a UTF-16 unit is, for counts: one bit each, so that a loop needs few branches. */
export const space = 1;
export const plain = 2;
/** Ends a sentence where a space follows. */
export const end = 4;
/** Ends a sentence without a space after it. */
export const wideEnd = 8;
/** May follow the end of a sentence: a quotation mark, a bracket. */
export const closer = 16;

/** The kind of each unit: looked up without a string for the character. */
export const kinds = new Uint8Array(0x10000).fill(plain);

function set(chars: string, kind: number): void {
  for (const char of chars) kinds[char.charCodeAt(0)] = kind;
}

// What `trim` removes.
set('\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff', space);
for (let unit = 0x2000; unit <= 0x200a; unit++) kinds[unit] = space;
set('.!?।؟', end);
set('。！？', wideEnd);
set('"\'”’»)]', closer);
