/**
 * Finds many texts in one pass: the automaton of Aho and Corasick. A state is the longest suffix of the input with
 * which one of the texts begins; 0: there is none. Takes 20 bytes of memory for each byte of the texts, and time
 * proportional to the input.
 */
export class TextAutomaton {
  /** By byte: the state after it where the state before is 0. */
  readonly root = new Int32Array(256);
  /** By state: bytes of the longest text that ends there; 0: none does. */
  readonly found: Int32Array;
  /** By state: its bytes. */
  readonly depth: Int32Array;
  /** Bytes of the longest text. */
  readonly longest: number;
  /** By state: itself if a text continues from it, else its longest suffix from which one does. */
  readonly open: Int32Array;
  /** By state: the state of its longest proper suffix. */
  readonly #fallback: Int32Array;
  /** By state: the byte that leads to the state with the next number; -1: none. */
  readonly #first: Int16Array;
  /** All other transitions, by state * 256 + byte. */
  readonly #others = new Map<number, number>();
  /** By state: has it other transitions? */
  readonly #hasOthers: Uint8Array;

  constructor(texts: readonly Buffer[]) {
    let most = 1;
    let longest = 0;
    for (const { length } of texts) {
      most += length;
      longest = Math.max(longest, length);
    }
    this.longest = longest;
    this.found = new Int32Array(most);
    this.depth = new Int32Array(most);
    this.open = new Int32Array(most);
    this.#fallback = new Int32Array(most);
    this.#first = new Int16Array(most).fill(-1);
    this.#hasOthers = new Uint8Array(most);
    const parents: number[] = [0];
    const bytes: number[] = [0];
    for (const text of texts) this.#add(text, parents, bytes);
    for (const state of this.#byDepth(parents.length)) {
      const parent = parents[state]!;
      const end = parent === 0 ? 0 : this.step(this.#fallback[parent]!, bytes[state]!);
      this.#fallback[state] = end;
      if (this.found[state] === 0) this.found[state] = this.found[end]!;
      const goesOn = this.#first[state] !== -1 || this.#hasOthers[state] === 1;
      this.open[state] = goesOn ? state : this.open[end]!;
    }
  }

  /** The state after `byte`. */
  step(before: number, byte: number): number {
    let state = before;
    while (state !== 0) {
      const next = this.#child(state, byte);
      if (next !== 0) return next;
      state = this.#fallback[state]!;
    }
    return this.root[byte]!;
  }

  /** 0: there is none. */
  #child(state: number, byte: number): number {
    if (this.#first[state] === byte) return state + 1;
    return this.#hasOthers[state] === 1 ? (this.#others.get(state * 256 + byte) ?? 0) : 0;
  }

  #add(text: Buffer, parents: number[], bytes: number[]): void {
    let state = 0;
    for (const byte of text) {
      let next = state === 0 ? this.root[byte]! : this.#child(state, byte);
      if (next === 0) {
        next = parents.length;
        parents.push(state);
        bytes.push(byte);
        this.depth[next] = this.depth[state]! + 1;
        if (state === 0) this.root[byte] = next;
        else if (next === state + 1) this.#first[state] = byte;
        else {
          this.#others.set(state * 256 + byte, next);
          this.#hasOthers[state] = 1;
        }
      }
      state = next;
    }
    this.found[state] = text.length;
  }

  /** All states but 0, the shortest first. */
  #byDepth(states: number): Int32Array {
    const { depth } = this;
    let deepest = 0;
    for (let state = 1; state < states; state++) deepest = Math.max(deepest, depth[state]!);
    const places = new Int32Array(deepest + 2);
    for (let state = 1; state < states; state++) places[depth[state]! + 1]! += 1;
    for (let i = 1; i < places.length; i++) places[i]! += places[i - 1]!;
    const sorted = new Int32Array(states - 1);
    for (let state = 1; state < states; state++) {
      sorted[places[depth[state]!]!++] = state;
    }
    return sorted;
  }
}
