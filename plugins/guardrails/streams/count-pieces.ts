import type { CheckResult } from '../check.js';
import type { PieceCheckOf, PieceRun } from './piece-check.js';

/** Counts what goes on: a maximum is known to be exceeded before the end. */
class CountRun implements PieceRun {
  #count = 0;
  #endsInWord = false;

  constructor(
    readonly what: 'character' | 'word',
    readonly least: number,
    readonly most: number,
  ) {}

  pass(text: string): boolean {
    if (this.what === 'character') this.#count += text.length;
    else if (text !== '') {
      const words = text.match(/\S+/g)?.length ?? 0;
      const joins = this.#endsInWord && /^\S/.test(text);
      this.#count += joins ? words - 1 : words;
      this.#endsInWord = /\S$/.test(text);
    }
    return this.#count <= this.most;
  }

  result(): CheckResult {
    const { what, least, most } = this;
    const verdict = this.#count >= least && this.#count <= most;
    const name = what === 'character' ? 'Characters' : 'Words';
    const explanation = `The text has ${this.#count} ${what}s, which is ${verdict ? 'within' : 'outside'} ${least} to ${most}.`;
    const data = {
      [`${what}Count`]: this.#count,
      [`min${name}`]: least,
      [`max${name}`]: most,
      not: false,
      explanation,
    };
    return { verdict, data };
  }
}

const countPieces =
  (what: 'character' | 'word', name: string): PieceCheckOf =>
  ({ not, [`min${name}`]: least, [`max${name}`]: most }) =>
    not === true
      ? null
      : { redacts: false, begin: () => new CountRun(what, least as number, most as number) };

export const characterPieces = countPieces('character', 'Characters');
export const wordCountPieces = countPieces('word', 'Words');
