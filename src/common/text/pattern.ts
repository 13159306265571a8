import { RE2JS, RE2Set } from 're2js';

/** Bytes that a compiled pattern takes by itself, and for each instruction. Measured. */
const patternBytes = 10 * 1024;
const instructionBytes = 320;

/** Why a pattern is refused: completes the sentence "<path> …". */
export class PatternRefused extends Error {}

/** A regular expression in RE2's syntax. A test takes time linear in the text and in the pattern's size. */
export interface Pattern {
  /** Instructions: at its worst, re2js takes about 25 ns for each with every character. */
  readonly size: number;
  /** Bytes of heap that it keeps, at most: an estimate, rounded up. */
  readonly bytes: number;
  /** Does the text hold what the pattern describes, anywhere? */
  test(text: string): boolean;
}

/**
 * Compiles a pattern whose estimated size (pattern-size.ts) was found small enough. `cacheBytes`: for states of
 * the matcher that texts have led to. Throws PatternRefused.
 */
export function compilePattern(source: string, cacheBytes: number): Pattern {
  try {
    const size = RE2JS.compile(source).programSize();
    const set = new RE2Set(RE2Set.UNANCHORED, 0, cacheBytes);
    set.add(source);
    set.compile();
    // A full cache is kept: clearing and filling it again for every text would cost more than matching without one.
    set.dfa.resetCache = () => null;
    return {
      size,
      bytes: patternBytes + instructionBytes * size + cacheBytes,
      test: (text) => set.match(text).length > 0,
    };
  } catch (thrown) {
    throw new PatternRefused(`is no regular expression in RE2's syntax: ${(thrown as Error).message}`);
  }
}
