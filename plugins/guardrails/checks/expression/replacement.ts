import { CheckNotRun } from '../../check.js';

/** What is written in place of a match: `$1` and so on as `String.prototype.replace` has them. */
type Piece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'group'; readonly group: number | string }
  | { readonly kind: 'before' }
  | { readonly kind: 'after' };

/** A match, and its groups by number (0: all of it) and name; undefined: the group took no part. */
export interface Matched {
  readonly index: number;
  readonly end: number;
  group(id: number | string): string | undefined;
}

/** Characters that a text may grow by, beside its own length. */
const maxGrowth = 1024 * 1024;

const tooLong = 'The replacements make the text too long.';

const mark = /\$(?:([$&`'])|(\d{1,2})|<([^>]*)>)/g;

/** A replacement, read once. What is no mark stays as it is written. */
export class Replacement {
  readonly #pieces: Piece[] = [];

  /** `groups`: the number of groups of the expression. `names`: has it groups with names? */
  constructor(
    readonly source: string,
    groups: number,
    names: boolean,
  ) {
    const marks = new RegExp(mark);
    let last = 0;
    for (let match = marks.exec(source); match !== null; match = marks.exec(source)) {
      const [all, sign, digits, name] = match;
      const read = pieceOf(sign, digits, name, groups, names);
      marks.lastIndex = match.index + (read === null ? 1 : read.length === 0 ? all.length : read.length);
      if (read === null) continue;
      this.#text(source.slice(last, match.index));
      this.#pieces.push(read.piece);
      last = marks.lastIndex;
    }
    this.#text(source.slice(last));
  }

  /** Does the replacement contain a part of the text? */
  get quotes(): boolean {
    return this.#pieces.some(({ kind }) => kind !== 'text');
  }

  /** What goes in place of each match. Throws as `writeAll` does. */
  eachWritten(text: string, next: () => Matched | null): { index: number; end: number; text: string }[] {
    const most = 2 * text.length + maxGrowth;
    const found: { index: number; end: number; text: string }[] = [];
    let length = text.length;
    for (let match = next(); match !== null; match = next()) {
      const { index, end } = match;
      const made = this.#pieces.map((piece) => written(piece, match!, text)).join('');
      length += made.length - (end - index);
      if (length > most) throw new CheckNotRun(tooLong);
      found.push({ index, end, text: made });
    }
    return found;
  }

  #text(text: string): void {
    if (text !== '') this.#pieces.push({ kind: 'text', text });
  }

  /** `next`: the next match; null: there is none. Throws where the text would become more than twice as long and 1 MiB. */
  writeAll(text: string, next: () => Matched | null): string {
    const most = 2 * text.length + maxGrowth;
    const out: string[] = [];
    let [last, length] = [0, 0];
    // The engine's own function would end the process where its result needs all memory.
    const write = (piece: string): void => {
      length += piece.length;
      if (length > most) throw new CheckNotRun(tooLong);
      if (piece !== '') out.push(piece);
    };
    for (let match = next(); match !== null; match = next()) {
      write(text.slice(last, match.index));
      for (const piece of this.#pieces) write(written(piece, match, text));
      last = match.end;
    }
    if (last === 0 && length === 0) return text;
    write(text.slice(last));
    return out.join('');
  }
}

function written(piece: Piece, match: Matched, text: string): string {
  if (piece.kind === 'text') return piece.text;
  if (piece.kind === 'before') return text.slice(0, match.index);
  if (piece.kind === 'after') return text.slice(match.end);
  return match.group(piece.group) ?? '';
}

function pieceOf(
  sign: string | undefined,
  digits: string | undefined,
  name: string | undefined,
  groups: number,
  names: boolean,
): { readonly piece: Piece; readonly length: number } | null {
  if (sign === '$') return { piece: { kind: 'text', text: '$' }, length: 0 };
  if (sign === '&') return { piece: { kind: 'group', group: 0 }, length: 0 };
  if (sign !== undefined) return { piece: sign === '`' ? { kind: 'before' } : { kind: 'after' }, length: 0 };
  if (name !== undefined) return names ? { piece: { kind: 'group', group: name }, length: 0 } : null;
  const [two, one] = [Number(digits), Number(digits![0])];
  // `$12` is the group 12 where there are so many, else the group 1 and a 2.
  if (two >= 1 && two <= groups) return { piece: { kind: 'group', group: two }, length: 0 };
  return one >= 1 && one <= groups ? { piece: { kind: 'group', group: one }, length: 2 } : null;
}
