import type { DetectedValue, Place, ValueKind } from './kind.js';

/** A part of a text. `start` and `end` are indexes of characters (UTF-16 units). */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A value that may overlap others. */
export interface Hit extends Span {
  readonly kind: ValueKind;
  /** Index of its kind in the list of kinds. */
  readonly rank: number;
  /** null: its kind searches by itself. */
  readonly place: Place | null;
}

export const lengthOf = ({ start, end }: Span): number => end - start;

/** Index of the first of these spans, which are in the order of the text and do not overlap, that ends after `at`. */
export function firstEndingAfter(at: number, spans: readonly Span[]): number {
  let [low, high] = [0, spans.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans[middle]!.end <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Has the span a part of one of those, which are in the order of the text and do not overlap? */
export function overlapsAny({ start, end }: Span, spans: readonly Span[]): boolean {
  const first = spans[firstEndingAfter(start, spans)];
  return first !== undefined && first.start < end;
}

/** Is every character of the span, but spaces, in one of `spans`? These are in the order of the text, none within another. */
export function isCovered(text: string, { start, end }: Span, spans: readonly Span[]): boolean {
  let at = start;
  for (let next = firstEndingAfter(start, spans); at < end; next++) {
    const span = spans[next];
    const until = span === undefined ? end : Math.min(end, span.start);
    for (; at < until; at++) if (!isSpace(text.charCodeAt(at))) return false;
    at = Math.max(at, span?.end ?? end);
  }
  return true;
}

const isSpace = (code: number): boolean => code === 0x20 || (code >= 0x09 && code <= 0x0d);

/**
 * Adds hits to `kept`, so that none of them overlap. Of two that overlap it keeps the one that contains the other; of two with the
 * same bounds the one with its kind's words nearby; else that of the earlier kind. The other one goes to `left` unless the kept one
 * contains it. Sorts `hits`, which must not begin before those of earlier calls.
 */
export function separate(hits: Hit[], kept: Hit[], left: Hit[]): void {
  if (hits.length > 1) hits.sort(inOrder);
  for (const hit of hits) {
    const last = kept.at(-1);
    if (last === undefined || hit.start >= last.end) kept.push(hit);
    else if (isBetter(hit, last)) {
      kept[kept.length - 1] = hit;
      if (last.start < hit.start) left.push(last);
    } else if (hit.end > last.end) left.push(hit);
  }
}

const inOrder = (a: Hit, b: Hit): number => a.start - b.start || b.end - a.end || a.rank - b.rank;

/** `hit` overlaps `last` and begins with it or in it. */
function isBetter(hit: Hit, last: Hit): boolean {
  if (hit.end <= last.end && (hit.start > last.start || hit.end < last.end)) return false;
  if (hit.start === last.start && hit.end === last.end) {
    const isNamed = hit.place?.named ?? false;
    if (isNamed !== (last.place?.named ?? false)) return isNamed;
  }
  return hit.rank < last.rank;
}

/**
 * One value for each group of values that overlap, which covers the whole group: no part of a found value stays in the text. Its kind
 * is that of the longest; if two are equally long, the earlier kind. In the order of the text.
 */
export function merged(hits: Hit[]): readonly DetectedValue[] {
  hits.sort(inOrder);
  const values: DetectedValue[] = [];
  for (let at = 0; at < hits.length; ) {
    const first = hits[at++]!;
    let [longest, end] = [first, first.end];
    const kinds = new Set([first.kind]);
    for (; at < hits.length && hits[at]!.start < end; at++) {
      const hit = hits[at]!;
      kinds.add(hit.kind);
      end = Math.max(end, hit.end);
      const more = lengthOf(hit) - lengthOf(longest);
      if (more > 0 || (more === 0 && hit.rank < longest.rank)) longest = hit;
    }
    const { kind } = longest;
    const alsoOf = kinds.size === 1 ? [] : [...kinds].filter(({ id }) => id !== kind.id);
    values.push({ kind, start: first.start, end, ...(alsoOf.length === 0 ? {} : { alsoOf }) });
  }
  return values;
}
