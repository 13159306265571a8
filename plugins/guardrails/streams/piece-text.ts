import { maxHeldBytes } from '../../../src/common/plugin-host/texts/text-piece.js';
import { VisibleText } from '../checks/detect/readings.js';
import type { FoundValue, PieceRun } from './piece-check.js';

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
  /** For each rule where its last value ends, in the context. */
  readonly #ends: number[];

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
    const to = canHold ? this.#openAt(text, from, hits) : text.length;
    const sure = hits.filter(({ end }) => end <= to);
    const out = this.#redacted(text, from, to, sure);
    for (const { run, fail } of this.rules) if (run.pass?.(out) === false) fail();
    const cut = Math.max(0, to - contextLength);
    for (const { rule, end } of sure) this.#ends[rule] = Math.max(this.#ends[rule]!, end);
    for (const [i, end] of this.#ends.entries()) this.#ends[i] = Math.max(0, end - cut);
    this.#context = text.slice(cut, to);
    return { text: out, held: text.slice(to) };
  }

  /** Where the first value begins that may go on. */
  #openAt(text: string, from: number, hits: readonly Hit[]): number {
    let at = text.length;
    for (const { run } of this.rules) at = Math.min(at, run.open?.(text, from) ?? at);
    for (const { start, end } of hits) if (mayGoOn(text, end)) at = Math.min(at, start);
    for (let before = -1; before !== at; ) {
      before = at;
      for (const { start, end } of hits) if (start < at && at < end) at = start;
    }
    at = Math.max(from, at);
    const least = text.length - Math.floor(maxHeldBytes / 3);
    // More cannot be held.
    return at < least && Buffer.byteLength(text.slice(at)) > maxHeldBytes ? least : at;
  }

  /** The text with replacements; what does not pass counts where nothing is put in its place. */
  #redacted(text: string, from: number, to: number, sure: readonly Hit[]): string {
    const [redacting, judging] = [[] as Hit[], [] as Hit[]];
    for (const hit of sure) (this.rules[hit.rule]!.redacts ? redacting : judging).push(hit);
    redacting.sort((a, b) => a.start - b.start || b.end - a.end);
    let [out, at] = ['', from];
    for (const hit of redacting) {
      if (hit.end <= at || (hit.start < at && at > from)) continue;
      const start = Math.max(at, hit.start);
      out += text.slice(at, start) + this.rules[hit.rule]!.run.take?.(hit, text.slice(hit.start, hit.end));
      at = hit.end;
    }
    for (const hit of judging) {
      if (redacting.some(({ start, end }) => start < hit.end && hit.start < end)) continue;
      const { run, fail } = this.rules[hit.rule]!;
      run.take?.(hit, text.slice(hit.start, hit.end));
      fail();
    }
    return out + text.slice(at, to);
  }
}

/** A joint, and the invisible characters before and after it that readings leave out. */
const longestJoint = 5;

function mayGoOn(text: string, end: number): boolean {
  if (text.length - end > longestJoint) return false;
  const { text: rest } = new VisibleText(text.slice(end));
  return rest === '' || (rest.length === 1 && joints.includes(rest));
}
