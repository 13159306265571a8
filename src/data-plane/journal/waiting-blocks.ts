const blockBytes = 64 * 1024;
/** Blocks kept for reuse: two flushes of the usual size. Allocating memory outside the heap is slow. */
const maxFree = 8;

/** Bytes to be written, in order. */
export interface TakenBytes {
  readonly parts: readonly Buffer[];
  /** The blocks that back them, to be returned. */
  readonly blocks: readonly Buffer[];
}

/** Bytes that wait to be written, copied into reusable blocks. */
export class WaitingBlocks {
  readonly #free: Buffer[] = [];
  #parts: Buffer[] = [];
  /** The block that is being filled, from `#start` to `#end`. */
  #block: Buffer | null = null;
  #start = 0;
  #end = 0;
  #full: Buffer[] = [];
  /** Bytes that wait. */
  length = 0;

  /** Large ones may be kept without a copy: they must not change any more. */
  add(bytes: Buffer): void {
    // Where most of the underlying memory is its own.
    if (bytes.length >= blockBytes && 4 * bytes.buffer.byteLength <= 5 * bytes.length) {
      this.length += bytes.length;
      this.#seal();
      this.#parts.push(bytes);
      return;
    }
    this.copy(bytes);
  }

  /** Copies the bytes: the caller may change them afterwards. */
  copy(bytes: Buffer): void {
    this.length += bytes.length;
    for (let at = 0; at < bytes.length; ) {
      const block = this.#room();
      const count = Math.min(bytes.length - at, blockBytes - this.#end);
      block.set(count === bytes.length ? bytes : bytes.subarray(at, at + count), this.#end);
      this.#end += count;
      at += count;
    }
  }

  /** Text of one byte a character. */
  addLatin1(text: string): void {
    const block = this.#room();
    if (text.length > blockBytes - this.#end) {
      this.add(Buffer.from(text, 'latin1'));
      return;
    }
    this.#end += block.write(text, this.#end, 'latin1');
    this.length += text.length;
  }

  #room(): Buffer {
    if (this.#block !== null && this.#end < blockBytes) return this.#block;
    this.#seal();
    if (this.#block !== null) this.#full.push(this.#block);
    this.#start = 0;
    this.#end = 0;
    this.#block = this.#free.pop() ?? Buffer.allocUnsafeSlow(blockBytes);
    return this.#block;
  }

  #seal(): void {
    if (this.#block === null || this.#start === this.#end) return;
    this.#parts.push(this.#block.subarray(this.#start, this.#end));
    this.#start = this.#end;
  }

  /** Takes all waiting bytes. */
  take(): TakenBytes {
    this.#seal();
    if (this.#block !== null) this.#full.push(this.#block);
    const taken = { parts: this.#parts, blocks: this.#full };
    this.#block = null;
    this.#parts = [];
    this.#full = [];
    this.length = 0;
    return taken;
  }

  /** Returns blocks whose bytes are no longer read. */
  giveBack({ blocks }: TakenBytes): void {
    for (const block of blocks) if (this.#free.length < maxFree) this.#free.push(block);
  }
}
