import { RE2JS } from 're2js';
import { estimateSize } from '../../../../src/common/text/pattern-size.js';
import { re2Syntax } from './re2-syntax.js';
import { type Matched, Replacement } from './replacement.js';
import { Steps } from './steps.js';
import { readExpression, type Tree } from './tree.js';

/** Where an expression matches. */
interface Match {
  readonly index: number;
  readonly length: number;
}

/** Nanoseconds that JavaScript's engine takes for a step at most, once it has compiled an expression. Measured. */
const stepNs = 1.6;
/** Steps up to which JavaScript's engine is used: it is quicker than the other one, unless it tries too many ways. */
const maxSteps = 4_000_000;
/** Instructions of an expression in RE2's engine, which takes time linear in them and in the text. */
const maxSize = 20_000;

/**
 * A regular expression of a check: ECMAScript's syntax, and time linear in the text where the expression allows it. For that
 * it runs in JavaScript's engine where that has few ways to try, and in RE2's otherwise; with look-around or back-references
 * always in JavaScript's, which may take forever.
 */
export class Expression {
  readonly #regex: RegExp;
  readonly #tree: Tree | null;
  readonly #steps: Steps | null;
  readonly #isUnicode: boolean;
  #linear: RE2JS | null | undefined;
  #replacement: Replacement | null = null;

  constructor(
    readonly source: string,
    readonly flags = '',
  ) {
    this.#regex = new RegExp(source, flags);
    this.#isUnicode = /[uv]/.test(flags);
    // Sticky matches follow rules of their own.
    this.#tree = flags.includes('y') ? null : readExpression(source, flags);
    this.#steps = this.#tree === null ? null : new Steps(this.#tree, flags.includes('m'));
  }

  /** Nanoseconds that it takes at most for a text of that length on JavaScript's engine. Infinity: nothing is known. */
  nanoseconds(length: number): number {
    return stepNs * (this.#steps?.most(length) ?? Number.POSITIVE_INFINITY);
  }

  /** The first match; null: there is none. */
  find(text: string): Match | null {
    const linear = this.#linearFor(text.length);
    if (linear === null) {
      this.#regex.lastIndex = 0;
      const match = this.#regex.exec(text);
      return match === null ? null : { index: match.index, length: match[0].length };
    }
    // Whether there is a match is known sooner than where.
    if (!linear.test(text)) return null;
    const matcher = linear.matcher(text);
    if (!matcher.find()) return null;
    return { index: matcher.start(), length: matcher.end() - matcher.start() };
  }

  /** Every match replaced, `$1` and `$<name>` in the replacement included. Throws where the text would become far longer. */
  replaceAll(text: string, replacement: string): string {
    const linear = this.#linearFor(text.length);
    if (linear !== null && !linear.test(text)) return text;
    const parsed = this.#replacementOf(replacement);
    return parsed.writeAll(text, linear === null ? this.#matches(text) : linearMatches(linear, text));
  }

  /** Every match with what goes in its place. Throws as `replaceAll` does. `quotes`: that may have a part of the text. */
  replacements(
    text: string,
    replacement: string,
  ): { readonly quotes: boolean; readonly found: readonly { index: number; end: number; text: string }[] } {
    const parsed = this.#replacementOf(replacement);
    const { quotes } = parsed;
    const linear = this.#linearFor(text.length);
    if (linear !== null && !linear.test(text)) return { quotes, found: [] };
    const next = linear === null ? this.#matches(text) : linearMatches(linear, text);
    return { quotes, found: parsed.eachWritten(text, next) };
  }

  #replacementOf(source: string): Replacement {
    if (this.#replacement?.source !== source) {
      // An empty alternative matches everywhere, and shows the groups.
      const { length, groups } = new RegExp(`${this.source}|`, this.flags.replace(/[gy]/g, '')).exec('')!;
      this.#replacement = new Replacement(source, length - 1, groups !== undefined);
    }
    return this.#replacement;
  }

  #matches(text: string): () => Matched | null {
    const regex = this.#regex;
    regex.lastIndex = 0;
    return () => {
      const match = regex.exec(text);
      if (match === null) return null;
      const end = match.index + match[0].length;
      if (match[0] === '') regex.lastIndex += this.#isUnicode && text.codePointAt(end)! > 0xffff ? 2 : 1;
      const group = (id: number | string): string | undefined =>
        typeof id === 'number' ? match[id] : match.groups?.[id];
      return { index: match.index, end, group };
    };
  }

  /** RE2's engine, if this text needs it. */
  #linearFor(length: number): RE2JS | null {
    if (this.#tree === null || this.#steps!.most(length) <= maxSteps) return null;
    this.#linear ??= this.#compiled(this.#tree);
    return this.#linear;
  }

  #compiled(tree: Tree): RE2JS | null {
    const written = re2Syntax(tree, this.flags);
    if (written === null || estimateSize(written) > maxSize) return null;
    try {
      return RE2JS.compile(written);
    } catch {
      // As repeats of more than 1000 times, which RE2 does not have.
      return null;
    }
  }
}

function linearMatches(linear: RE2JS, text: string): () => Matched | null {
  const matcher = linear.matcher(text);
  const names = linear.namedGroups();
  return () =>
    matcher.find()
      ? {
          index: matcher.start(),
          end: matcher.end(),
          group: (id) =>
            typeof id === 'number' || Object.hasOwn(names, id) ? (matcher.group(id) ?? undefined) : undefined,
        }
      : null;
}
