import { compilePattern, PatternRefused } from '../../common/text/pattern.js';
import { estimateSize } from '../../common/text/pattern-size.js';

/**
 * Limit of all patterns of a config together per call, in steps: one character tried on a pattern of size one.
 * re2js takes about 25 ns for one at its worst, so this is some 3 milliseconds.
 */
const maxSteps = 100_000;
/** Size of all patterns of a config together; it leaves each of them 100 characters. */
const maxSize = 1000;
/**
 * The cost of a character beside the pattern, in units of pattern size; so a pattern sees at most some 7,000
 * characters.
 */
const overhead = 10;
/** Bytes that all patterns of a config may use for caches of matches, each an eighth of the rest. */
const maxCacheBytes = 128 * 1024;

/**
 * Compiles the patterns of one config. RE2's engine takes time linear in the text, whatever the pattern, but in the
 * pattern's size as well: both are bounded here, so that no call can hold up its worker. The larger the patterns of
 * a config are together, the fewer characters each of them sees.
 */
export class PatternBudget {
  #size = 0;
  #cacheBytes = maxCacheBytes;
  #bytes = 0;

  /** Bytes of heap that the patterns compiled so far take, with what texts may teach them. An estimate, rounded up. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Characters of a text, from its beginning, that each pattern of the config is tried on. */
  get characters(): number {
    return Math.floor(maxSteps / this.#size);
  }

  /** Creates a test whether the pattern matches in a text. Throws PatternRefused. */
  compile(pattern: string): (text: string) => boolean {
    const estimate = estimateSize(pattern);
    this.#take(estimate + overhead);
    const cacheBytes = Math.floor(this.#cacheBytes / 8);
    this.#cacheBytes -= cacheBytes;
    const compiled = compilePattern(pattern, cacheBytes);
    this.#take(Math.max(0, compiled.size - estimate));
    this.#bytes += compiled.bytes;
    return (text) => {
      const { characters } = this;
      return compiled.test(text.length > characters ? text.slice(0, characters) : text);
    };
  }

  #take(size: number): void {
    this.#size += size;
    if (this.#size > maxSize) {
      throw new PatternRefused(
        `makes the patterns of this config too large together: ${this.#size}, at most ${maxSize} (a repeat such as {1,100} counts as often, a class such as \\p{L} twenty times)`,
      );
    }
  }
}
