import type { FoundValue, ValueRun } from '../check.js';
import { firstEndingAfter, isCovered, lengthOf, overlapsAny, type Span } from '../checks/detect/overlaps.js';

/** A part of a text that was replaced. */
export interface Edit extends Span {
  /** The replacement. */
  readonly text: string;
  /** Characters of the replaced value; of values that overlap, those of the longest. */
  readonly length: number;
  /** May the replacement contain a part of what it replaces? */
  readonly quotes: boolean;
}

/** A part of the original, and where it is in the text as it is now. */
interface Placed extends Span {
  readonly from: number;
  readonly to: number;
}

interface PlacedValue extends Placed {
  readonly found: FoundValue;
}

/** A text in which checks have replaced values, one check after another. */
export class EditedText {
  readonly text: string;

  constructor(
    readonly original: string,
    /** In the order of the original; none overlaps another. */
    readonly edits: readonly Edit[] = [],
  ) {
    this.text = edits.length === 0 ? original : written(original, edits);
  }

  /**
   * The text after the values of a further check are replaced. These are the values in the text as it is now, and those in the original
   * that earlier checks have replaced only in part: such a value is no longer found in the text.
   */
  with(run: ValueRun): EditedText {
    const { original, text, edits } = this;
    const inText = run.find(text);
    if (edits.length === 0) {
      const made = inText.flatMap((one) => {
        const put = run.take(one, text.slice(one.start, one.end));
        return put === null ? [] : [editOf(one, put)];
      });
      return made.length === 0 ? this : new EditedText(original, made);
    }
    const placed = this.#placed(inText);
    const known = joined([...edits, ...placed]);
    const lost = run
      .find(original)
      .filter(
        (one) =>
          one.quoting === undefined && !isCovered(original, one, overlapsAny(one, edits) ? edits : known),
      );
    const own = lost.length === 0 ? placed : placed.filter((one) => !isInside(one, lost));
    // Numbers of placeholders are in the order of the text.
    const taken = new Map<FoundValue, string | null>();
    for (let [i, j] = [0, 0]; i < own.length || j < lost.length; ) {
      const [one, other] = [own[i], lost[j]];
      if (other === undefined || (one !== undefined && one.start <= other.start)) {
        taken.set(one!.found, run.take(one!.found, text.slice(one!.from, one!.to)));
        i++;
      } else {
        taken.set(other, run.take(other, original.slice(other.start, other.end)));
        j++;
      }
    }
    const more = lost.flatMap((one) => (taken.get(one) === null ? [] : [editOf(one, taken.get(one)!)]));
    const composed = this.#composed(
      own.filter(({ found }) => taken.get(found) !== null),
      taken,
    );
    if (more.length === 0 && composed === edits) return this;
    return new EditedText(original, mergedEdits(composed, more));
  }

  /** Where values of the text are in the original. A value that touches a replaced part covers all of that part. */
  #placed(inText: readonly FoundValue[]): PlacedValue[] {
    const { edits } = this;
    let [next, delta] = [0, 0];
    return inText.map((found) => {
      for (; next < edits.length; next++) {
        const { start, text } = edits[next]!;
        if (start + delta + text.length > found.start) break;
        delta += text.length - lengthOf(edits[next]!);
      }
      let [start, end, moved] = [found.start - delta, found.end - delta, delta];
      let [begin, until] = [found.start, found.end];
      for (let at = next; at < edits.length; at++) {
        const edit = edits[at]!;
        const from = edit.start + moved;
        if (from >= found.end) break;
        if (from < found.start) start = edit.start;
        moved += edit.text.length - lengthOf(edit);
        end = Math.max(edit.end, found.end - moved);
        // A placeholder is replaced whole or not at all.
        if (found.kinds === undefined || edit.quotes) continue;
        begin = Math.min(begin, from);
        until = Math.max(until, from + edit.text.length);
      }
      return { start, end, from: begin, to: until, found };
    });
  }

  /** The edits after values of the text are replaced too. A value may lie within an earlier edit, or contain one. */
  #composed(values: readonly PlacedValue[], taken: ReadonlyMap<FoundValue, string | null>): readonly Edit[] {
    if (values.length === 0) return this.edits;
    const out: Edit[] = [];
    let delta = 0;
    const all: (Placed & { readonly edit?: Edit; readonly found?: FoundValue })[] = this.edits.map((edit) => {
      const { start, end, text } = edit;
      const from = start + delta;
      delta += text.length - lengthOf(edit);
      return { start, end, from, to: from + text.length, edit };
    });
    all.push(...values);
    all.sort((a, b) => a.from - b.from || a.to - b.to);
    for (let at = 0; at < all.length; ) {
      const first = all[at]!;
      let [{ end, to }, until] = [first, at + 1];
      for (; until < all.length && all[until]!.from < to; until++) {
        end = Math.max(end, all[until]!.end);
        to = Math.max(to, all[until]!.to);
      }
      const group = all.slice(at, until);
      at = until;
      if (group.every(({ edit }) => edit !== undefined)) {
        for (const { edit } of group) out.push(edit!);
        continue;
      }
      let [made, copied, quotes] = ['', first.from, false];
      for (const { found, edit, from, to: after } of group) {
        quotes ||= edit?.quotes === true || found?.quoting !== undefined;
        if (found === undefined) continue;
        made += this.text.slice(copied, from) + taken.get(found);
        copied = after;
      }
      const text = made + this.text.slice(copied, to);
      out.push({ start: first.start, end, text, length: end - first.start, quotes });
    }
    return out;
  }
}

export function editOf({ start, end, quoting }: FoundValue, text: string): Edit {
  return { start, end, text, length: end - start, quotes: quoting !== undefined };
}

/**
 * Edits of earlier checks together with those of a later one. Each group that overlaps becomes one edit, with the replacement of its
 * longest value; if two are equally long, that of the earlier check. Both lists are in the order of the text.
 */
export function mergedEdits(edits: readonly Edit[], values: readonly Edit[]): readonly Edit[] {
  if (values.length === 0) return edits;
  if (edits.length === 0) return values;
  const all = [
    ...edits.map((edit) => ({ edit, isEarlier: true })),
    ...values.map((edit) => ({ edit, isEarlier: false })),
  ].sort((a, b) => a.edit.start - b.edit.start || a.edit.end - b.edit.end);
  const out: Edit[] = [];
  for (let at = 0; at < all.length; ) {
    let best = all[at++]!;
    const { start } = best.edit;
    let { end } = best.edit;
    for (; at < all.length && all[at]!.edit.start < end; at++) {
      const one = all[at]!;
      end = Math.max(end, one.edit.end);
      if (isBetter(one, best)) best = one;
    }
    const { edit } = best;
    out.push(start === edit.start && end === edit.end ? edit : { ...edit, start, end });
  }
  return out;
}

interface Ranked {
  readonly edit: Edit;
  readonly isEarlier: boolean;
}

function isBetter({ edit: one, isEarlier }: Ranked, { edit: other, isEarlier: wasEarlier }: Ranked): boolean {
  // The quoted part may belong to the other value.
  if (one.quotes !== other.quotes) return other.quotes;
  return one.length === other.length ? isEarlier && !wasEarlier : one.length > other.length;
}

/** The text with edits. */
export function written(text: string, edits: readonly Edit[]): string {
  const parts: string[] = [];
  let from = 0;
  for (const { start, end, text: made } of edits) {
    parts.push(text.slice(from, start), made);
    from = end;
  }
  parts.push(text.slice(from));
  return parts.join('');
}

/** The spans with those that overlap or touch joined, in the order of the text. */
function joined(spans: Span[]): readonly Span[] {
  const out: { start: number; end: number }[] = [];
  for (const { start, end } of spans.sort((a, b) => a.start - b.start)) {
    const last = out.at(-1);
    if (last === undefined || start > last.end) out.push({ start, end });
    else last.end = Math.max(last.end, end);
  }
  return out;
}

/** Is the span within one of `spans`? These are in the order of the text and do not overlap each other. */
function isInside({ start, end }: Span, spans: readonly Span[]): boolean {
  const holder = spans[firstEndingAfter(end - 1, spans)];
  return holder !== undefined && holder.start <= start;
}
