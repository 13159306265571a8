import { maxHeldBytes } from '../../../src/common/plugin-host/texts/text-piece.js';
import type { FoundValue } from '../check.js';
import { isCovered, overlapsAny } from '../checks/detect/overlaps.js';
import { VisibleText } from '../checks/detect/readings.js';
import { type Edit, editOf, mergedEdits, written } from '../run/edited-text.js';
import type { PieceRun } from './piece-check.js';

/** Characters before a piece in which checks see words and the beginnings of values. */
const contextLength = 160;
/** Characters after a value with which it may go on. */
const joints = '-._/\\@+:';

/** A check and what follows from it. */
export interface PieceRule {
  readonly run: PieceRun;
  readonly redacts: boolean;
  /** A value or a number does not pass. Throws if the text is refused. */
  fail(): void;
}

interface Hit extends FoundValue {
  readonly rule: number;
}

/** One text that comes in pieces, as checks see it. */
export class PieceText {
  /** The end of what has gone on, as it came. */
  #context = '';
  /** For each rule, the index in the context from which it looks for values: the end of its last one, or the start if that may go on. */
  readonly #ends: number[];
  /** Where a value may begin whose first part was sent, since it could be held back no longer. null: there is none. */
  #begun: number | null = null;

  constructor(readonly rules: readonly PieceRule[]) {
    this.#ends = rules.map(() => 0);
  }

  /** What goes on of a piece, and its end that is held back. Throws what a rule throws. */
  push(piece: string, canHold: boolean): { readonly text: string; readonly held: string } {
    const text = this.#context + piece;
    const from = this.#context.length;
    const hits = this.rules.flatMap(({ run }, rule) =>
      (run.find?.(text, from, this.#ends[rule]!) ?? []).map((found): Hit => ({ ...found, rule })),
    );
    const open = canHold ? this.#openAt(text, from, hits) : from;
    const to = canHold ? mostHeld(text, open, hits) : text.length;
    const sure = hits.filter(({ end }) => end <= to);
    const out = this.#redacted(text, from, to, sure);
    for (const { run, fail } of this.rules) if (run.pass?.(out) === false) fail();
    if (to > open) this.#begun = this.#openAt(text, 0, hits);
    else if (open > from) this.#begun = null;
    this.#keep(text, to, sure);
    return { text: out, held: text.slice(to) };
  }

  /** Keeps what checks need of the text. A value that may go on is found again, whole, when it does. */
  #keep(text: string, to: number, sure: readonly Hit[]): void {
    const begun = Math.min(to, this.#begun ?? to);
    const cut = Math.max(0, begun - contextLength, to - maxHeldBytes);
    for (const { rule, start, end } of sure)
      this.#ends[rule] = Math.max(this.#ends[rule]!, end === to && end > begun ? start : end);
    for (const [i, end] of this.#ends.entries()) this.#ends[i] = Math.max(0, end - cut);
    this.#begun = begun < to ? Math.max(0, begun - cut) : null;
    this.#context = text.slice(cut, to);
  }

  /** Where the first value that may go on begins; at least `from`. */
  #openAt(text: string, from: number, hits: readonly Hit[]): number {
    let at = text.length;
    for (const [i, { run }] of this.rules.entries())
      at = Math.min(at, run.open?.(text, from, this.#ends[i]!) ?? at);
    for (const { start, end } of hits) if (mayGoOn(text, end)) at = Math.min(at, start);
    // By their ends: a value that was passed cannot hold an earlier place, so one look at each is enough.
    for (const { start, end } of hits.toSorted((a, b) => b.end - a.end))
      if (start < at && at < end) at = start;
    return Math.max(from, at);
  }

  /** The text with replacements; what does not pass counts where nothing is put in its place. */
  #redacted(text: string, from: number, to: number, sure: readonly Hit[]): string {
    if (sure.length === 0) return text.slice(from, to);
    let edits: readonly Edit[] = [];
    const [failing, judged]: [Hit[], Hit[]] = [[], []];
    for (const [rule, { redacts, run }] of this.rules.entries()) {
      const own = sure.filter((hit) => hit.rule === rule);
      if (!redacts && run.seesChanged === true) {
        judged.push(...own);
        continue;
      }
      const left = own.filter((hit) => !isCovered(text, hit, edits));
      if (!redacts) failing.push(...left);
      else
        edits = mergedEdits(
          edits,
          left.map((hit) => editOf(hit, this.#take(hit, text) ?? '')),
        );
    }
    for (const hit of judged) if (!overlapsAny(hit, edits)) failing.push(hit);
    for (const hit of failing) {
      this.#take(hit, text);
      this.rules[hit.rule]!.fail();
    }
    const here = edits.map((edit) => ({
      ...edit,
      start: Math.max(0, edit.start - from),
      end: edit.end - from,
    }));
    return written(text.slice(from, to), here);
  }

  #take(hit: Hit, text: string): string | null {
    return this.rules[hit.rule]!.run.take?.(hit, text.slice(hit.start, hit.end)) ?? null;
  }
}

/** Index up to which the text is sent. That is `open`, or later if the rest is more than may be held back. Never inside a value. */
function mostHeld(text: string, open: number, hits: readonly Hit[]): number {
  const least = text.length - Math.floor(maxHeldBytes / 3);
  if (open >= least || Buffer.byteLength(text.slice(open)) <= maxHeldBytes) return open;
  let to = (text.charCodeAt(least) & 0xfc00) === 0xdc00 ? least + 1 : least;
  for (const { start, end } of hits.toSorted((a, b) => a.start - b.start))
    if (start < to && to < end) to = end;
  return to;
}

/** A joint, and the invisible characters before and after it that readings leave out. */
const longestJoint = 5;

function mayGoOn(text: string, end: number): boolean {
  if (text.length - end > longestJoint) return false;
  const { text: rest } = new VisibleText(text.slice(end));
  return rest === '' || (rest.length === 1 && joints.includes(rest));
}
