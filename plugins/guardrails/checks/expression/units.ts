/** A set of UTF-16 units: ranges in rising order that neither overlap nor touch, both ends included. */
export type Units = readonly (readonly [from: number, to: number])[];

const last = 0xffff;

/** The same set, in order. */
export function unitsOf(ranges: readonly (readonly [number, number])[]): Units {
  const sorted = ranges.toSorted(([a], [b]) => a - b);
  const joined: [number, number][] = [];
  for (const [from, to] of sorted) {
    const before = joined.at(-1);
    if (before !== undefined && from <= before[1] + 1) before[1] = Math.max(before[1], to);
    else joined.push([from, to]);
  }
  return joined;
}

/** The number of units. */
export const sizeOf = (units: Units): number => units.reduce((size, [from, to]) => size + to - from + 1, 0);

/** All other units. */
export function without(units: Units): Units {
  const rest: [number, number][] = [];
  let next = 0;
  for (const [from, to] of units) {
    if (from > next) rest.push([next, from - 1]);
    next = to + 1;
  }
  if (next <= last) rest.push([next, last]);
  return rest;
}

/** Units whose other cases are looked up. */
const maxCased = 2048;

/** With the other case of each letter, as a regular expression with the flag i compares them. null: they are too many. */
export function inBothCases(units: Units): Units | null {
  if (sizeOf(units) > maxCased) return null;
  const added: (readonly [number, number])[] = [...units];
  for (const [from, to] of units) {
    for (let unit = from; unit <= to; unit++) {
      const char = String.fromCharCode(unit);
      for (const other of [char.toLowerCase(), char.toUpperCase()]) {
        const code = other.charCodeAt(0);
        // A letter beyond ASCII is not compared with one in it.
        if (other.length === 1 && code !== unit && unit >= 128 === code >= 128) added.push([code, code]);
      }
    }
  }
  return unitsOf(added);
}

const one = (text: string): (readonly [number, number])[] =>
  [...text].map((char) => [char.charCodeAt(0), char.charCodeAt(0)] as const);

const digits = unitsOf([[48, 57]]);
const words = unitsOf([
  [48, 57],
  [65, 90],
  [95, 95],
  [97, 122],
]);
const spaces = unitsOf([
  ...one('\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff'),
  [0x2000, 0x200a],
]);

/** `.` without the flag s. */
export const anyOfLine = without(unitsOf(one('\n\r\u2028\u2029')));
export const anyUnit: Units = [[0, last]];

/** What `\d`, `\S` and so on describe. */
export const namedUnits: Readonly<Record<string, Units>> = {
  d: digits,
  D: without(digits),
  w: words,
  W: without(words),
  s: spaces,
  S: without(spaces),
};
