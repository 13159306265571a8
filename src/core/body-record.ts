/**
 * The first bytes of a streamed answer, kept by reference while it flows, for the log's bodies and for counting
 * tokens that no provider reported. Past the cap it keeps the count only.
 */
export class BodyRecord {
  readonly #cap: number;
  #chunks: Buffer[] = [];
  #kept = 0;
  #total = 0;

  constructor(cap: number) {
    this.#cap = cap;
  }

  add(chunk: Buffer): void {
    this.#total += chunk.length;
    if (this.#kept >= this.#cap) return;
    this.#chunks.push(chunk);
    this.#kept += chunk.length;
  }

  /** All bytes seen, kept or not. */
  get total(): number {
    return this.#total;
  }

  get cut(): boolean {
    return this.#total > this.#kept;
  }

  bytes(): Buffer {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0] ?? Buffer.alloc(0);
  }
}
