import { setImmediate as nextTurn } from 'node:timers/promises';
import { joinInTurns } from '../bytes/copy-in-turns.js';
import { LosslessNumber } from './json.js';
import { jsonBytes } from './json-bytes.js';

/** UTF-16 units that are written in one go: about a millisecond's worth. */
const sliceUnits = 256 * 1024;
/** Others get their turn after so many milliseconds. */
const turnMs = 4;
/** What a value counts for, however short. */
const valueUnits = 8;

/**
 * The same as `jsonBytes`, for a value that is too long to be written in one turn: a slice at a time, with the event
 * loop in between.
 */
export async function writeJsonInSlices(value: unknown, units = sliceUnits): Promise<Buffer> {
  const slices: Buffer[] = [];
  await inTurns(jsonSlices(value, units), (slice) => slices.push(slice));
  return joinInTurns(slices);
}

/** Takes all that `slices` makes, each made when it is its turn, with the event loop before, in between and at the end. */
export async function inTurns(slices: Iterable<Buffer>, take: (slice: Buffer) => void): Promise<void> {
  // What called may have filled this turn, and the next immediate may still be of it.
  await nextTurn();
  await nextTurn();
  let since = performance.now();
  for (const slice of slices) {
    take(slice);
    if (performance.now() - since < turnMs) continue;
    await nextTurn();
    since = performance.now();
  }
  await nextTurn();
}

const [quote, comma, listBegins, listEnds, objectBegins, objectEnds] = ['"', ',', '[', ']', '{', '}'].map(
  (character) => Buffer.from(character),
) as [Buffer, Buffer, Buffer, Buffer, Buffer, Buffer];

/** The bytes of `jsonBytes`, made one after the other; none come of much more than `units`. */
export function* jsonSlices(value: unknown, units = sliceUnits): Generator<Buffer> {
  if (isScalar(value) || unitsOf(value, units) <= units) yield jsonBytes(value);
  else if (typeof value === 'string') yield* textSlices(value, units);
  else if (Array.isArray(value)) {
    yield listBegins;
    for (let i = 0; i < value.length; i++) {
      if (i > 0) yield comma;
      yield* jsonSlices(value[i], units);
    }
    yield listEnds;
  } else {
    let before = '';
    yield objectBegins;
    for (const key of Object.keys(value as object)) {
      const item = (value as Record<string, unknown>)[key];
      if (item === undefined) continue;
      yield Buffer.from(`${before}${JSON.stringify(key)}:`);
      yield* jsonSlices(item, units);
      before = ',';
    }
    yield objectEnds;
  }
}

function* textSlices(text: string, units: number): Generator<Buffer> {
  yield quote;
  for (let at = 0; at < text.length; ) {
    let end = Math.min(text.length, at + Math.max(2, units));
    // The halves of a pair apart would each be written as an escape.
    if ((text.charCodeAt(end - 1) & 0xfc00) === 0xd800 && end < text.length) end--;
    yield jsonBytes(text.slice(at, end)).subarray(1, -1);
    at = end;
  }
  yield quote;
}

/** Nothing that could be long. */
const isScalar = (value: unknown): boolean =>
  typeof value !== 'string' &&
  (typeof value !== 'object' || value === null || value instanceof LosslessNumber);

/** How long a value is, about; what is more than `most` is not looked at to its end. */
function unitsOf(value: unknown, most: number): number {
  if (typeof value === 'string') return value.length + valueUnits;
  if (isScalar(value)) return valueUnits;
  let sum = valueUnits;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && sum <= most; i++) sum += unitsOf(value[i], most - sum);
    return sum;
  }
  for (const key in value as object) {
    sum += key.length + unitsOf((value as Record<string, unknown>)[key], most - sum);
    if (sum > most) break;
  }
  return sum;
}
