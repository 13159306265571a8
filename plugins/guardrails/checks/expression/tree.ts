import { anyOfLine, anyUnit, inBothCases, namedUnits, type Units, unitsOf, without } from './units.js';

/** A regular expression, as far as this module reads it. */
export type Tree =
  | { readonly kind: 'units'; readonly units: Units }
  /** `^`, `$`, `\b` or `\B`. */
  | { readonly kind: 'assertion'; readonly mark: string }
  | { readonly kind: 'group'; readonly name: string | null; readonly captures: boolean; readonly of: Tree }
  | { readonly kind: 'choice'; readonly of: readonly Tree[] }
  | { readonly kind: 'sequence'; readonly of: readonly Tree[] }
  | {
      readonly kind: 'repeat';
      readonly of: Tree;
      readonly min: number;
      /** Infinity: without a bound. */
      readonly max: number;
      readonly isLazy: boolean;
    };

/** Of groups within groups. */
const maxDepth = 64;

/** The expression has something that is not read here. */
class Unread extends Error {}

/**
 * Reads an ECMAScript expression that `new RegExp` accepts, without the flags u and v. null: it has something that no engine
 * with linear time has, such as look-around and back-references, or that is not read here.
 */
export function readExpression(source: string, flags: string): Tree | null {
  if (/[uv]/.test(flags)) return null;
  try {
    return new Reader(source, flags.includes('s'), flags.includes('i')).read();
  } catch (thrown) {
    if (thrown instanceof Unread) return null;
    throw thrown;
  }
}

const escapes: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, '0': 0 };

class Reader {
  #at = 0;
  #depth = 0;

  constructor(
    readonly source: string,
    readonly dotAll: boolean,
    readonly anyCase: boolean,
  ) {}

  read(): Tree {
    const tree = this.#choice();
    if (this.#at < this.source.length) throw new Unread();
    return tree;
  }

  #next(): string {
    const char = this.source[this.#at++];
    if (char === undefined) throw new Unread();
    return char;
  }

  #takes(text: string): boolean {
    if (!this.source.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #choice(): Tree {
    const of = [this.#sequence()];
    while (this.#takes('|')) of.push(this.#sequence());
    return of.length === 1 ? of[0]! : { kind: 'choice', of };
  }

  #sequence(): Tree {
    const of: Tree[] = [];
    for (;;) {
      const char = this.source[this.#at];
      if (char === undefined || char === '|' || char === ')') return { kind: 'sequence', of };
      of.push(this.#repeated(this.#atom()));
    }
  }

  #repeated(of: Tree): Tree {
    const bounds = this.#bounds();
    if (bounds === null) return of;
    if (of.kind === 'assertion') throw new Unread();
    const [min, max] = bounds;
    return { kind: 'repeat', of, min, max, isLazy: this.#takes('?') };
  }

  #bounds(): readonly [number, number] | null {
    if (this.#takes('*')) return [0, Number.POSITIVE_INFINITY];
    if (this.#takes('+')) return [1, Number.POSITIVE_INFINITY];
    if (this.#takes('?')) return [0, 1];
    const written = /^\{(\d+)(,(\d*))?\}/.exec(this.source.slice(this.#at, this.#at + 32));
    if (written === null) return null;
    const [all, least = '', comma, most = ''] = written;
    this.#at += all.length;
    const min = Number(least);
    return [min, comma === undefined ? min : most === '' ? Number.POSITIVE_INFINITY : Number(most)];
  }

  #atom(): Tree {
    const char = this.#next();
    switch (char) {
      case '^':
      case '$':
        return { kind: 'assertion', mark: char };
      case '.':
        return { kind: 'units', units: this.dotAll ? anyUnit : anyOfLine };
      case '(':
        return this.#group();
      case '[':
        return { kind: 'units', units: this.#class() };
      case '\\': {
        const mark = this.source[this.#at];
        if (mark !== 'b' && mark !== 'B') return { kind: 'units', units: this.#cased(this.#escaped()) };
        this.#at++;
        return { kind: 'assertion', mark: `\\${mark}` };
      }
      // Braces and brackets without a meaning have rules that are not worth their code.
      case '{':
      case '}':
      case ']':
      case '*':
      case '+':
      case '?':
        throw new Unread();
      default:
        return { kind: 'units', units: this.#cased(single(char)) };
    }
  }

  /** Large sets have both cases anyway. */
  #cased(units: Units): Units {
    return (this.anyCase && inBothCases(units)) || units;
  }

  #group(): Tree {
    let [name, captures]: [string | null, boolean] = [null, true];
    if (this.#takes('?:')) captures = false;
    else if (this.#takes('?<')) {
      const written = /^([A-Za-z_]\w*)>/.exec(this.source.slice(this.#at));
      if (written === null) throw new Unread();
      name = written[1]!;
      this.#at += name.length + 1;
    } else if (this.source[this.#at] === '?') throw new Unread();
    if (++this.#depth > maxDepth) throw new Unread();
    const of = this.#choice();
    this.#depth--;
    if (!this.#takes(')')) throw new Unread();
    return { kind: 'group', name, captures, of };
  }

  #class(): Units {
    const isNegated = this.#takes('^');
    const ranges: (readonly [number, number])[] = [];
    while (!this.#takes(']')) {
      const from = this.#classAtom();
      const isRange = this.source[this.#at] === '-' && this.source[this.#at + 1] !== ']';
      if (!isRange) {
        ranges.push(...from);
        continue;
      }
      this.#at++;
      const to = this.#classAtom();
      const [first, second] = [unitIn(from), unitIn(to)];
      // `[\w-.]`: the hyphen is one of the characters.
      if (first === null || second === null) ranges.push(...from, ...single('-'), ...to);
      else ranges.push([first, second]);
    }
    const units = this.anyCase ? inBothCases(unitsOf(ranges)) : unitsOf(ranges);
    if (units === null) throw new Unread();
    return isNegated ? without(units) : units;
  }

  #classAtom(): Units {
    const char = this.#next();
    if (char !== '\\') return single(char);
    if (this.#takes('b')) return single('\b');
    return this.#escaped();
  }

  /** What follows a backslash. */
  #escaped(): Units {
    const char = this.#next();
    const named = Object.hasOwn(namedUnits, char) ? namedUnits[char] : undefined;
    if (named !== undefined) return named;
    if (char === '0' && /\d/.test(this.source[this.#at] ?? '')) throw new Unread();
    const control = Object.hasOwn(escapes, char) ? escapes[char] : undefined;
    if (control !== undefined) return [[control, control]];
    if (char === 'x' || char === 'u') {
      const length = char === 'x' ? 2 : 4;
      const digits = this.source.slice(this.#at, this.#at + length);
      if (!/^[0-9a-f]+$/i.test(digits) || digits.length < length) throw new Unread();
      this.#at += length;
      return single(String.fromCharCode(Number.parseInt(digits, 16)));
    }
    // Letters and digits have meanings: back-references, properties, control characters.
    if (/\w/.test(char)) throw new Unread();
    return single(char);
  }
}

function single(char: string): Units {
  const unit = char.charCodeAt(0);
  // Half of a pair: the other engine has whole characters.
  if (unit >= 0xd800 && unit <= 0xdfff) throw new Unread();
  return [[unit, unit]];
}

const unitIn = (units: Units): number | null =>
  units.length === 1 && units[0]![0] === units[0]![1] ? units[0]![0] : null;
