import { Pieces } from './pieces.js';

/**
 * The first bytes of a streamed answer, kept while it flows, for the log's bodies and for counting tokens that no
 * provider reported. Past the cap it keeps the count only.
 */
export class BodyRecord {
  readonly #cap: number;
  readonly #pieces = new Pieces();
  #total = 0;

  /** `cap`: bytes. */
  constructor(cap: number) {
    this.#cap = cap;
  }

  add(chunk: Buffer): void {
    this.#total += chunk.length;
    const room = this.#cap - this.#pieces.length;
    if (room > 0) this.#pieces.add(chunk.length <= room ? chunk : chunk.subarray(0, room));
  }

  /** All bytes seen, kept or not. */
  get total(): number {
    return this.#total;
  }

  /** Bytes kept. */
  get length(): number {
    return this.#pieces.length;
  }

  /** Bytes of memory kept. */
  get heldBytes(): number {
    return this.#pieces.heldBytes;
  }

  get cut(): boolean {
    return this.#total > this.#pieces.length;
  }

  /** The bytes kept, without a copy of them. */
  parts(): readonly Buffer[] {
    return this.#pieces.parts();
  }

  bytes(): Buffer {
    return this.#pieces.bytes();
  }
}
