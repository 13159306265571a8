/** Bytes from which a piece may be kept without a copy. */
const largePiece = 4 * 1024;
/**
 * Allocating memory outside the heap takes a microsecond, whatever its size: many streams fit into two or three blocks.
 */
const smallestBlock = 2 * 1024;
const largestBlock = 64 * 1024;

const none = Buffer.alloc(0);

/**
 * Bytes that arrive in pieces, in order. However small the pieces are, they take at most about three times their
 * bytes and 2 KiB: small ones are copied into blocks of growing size, and a piece is kept by reference only
 * if it is large and its underlying memory is mostly its own, or while it is the only one. A Buffer of one byte
 * costs 140 bytes, and may keep a slab of 64 KiB from being freed.
 */
export class Pieces {
  /** Sealed blocks and large pieces. */
  #list: Buffer[] = [];
  /** A small piece that came first and may stay the only one: most bodies come whole. */
  #first: Buffer | null = null;
  /** The block that is being filled, up to `#used`. */
  #block: Buffer | null = null;
  #used = 0;
  #length = 0;
  /** Bytes that came before those that are kept. */
  #forgotten = 0;

  /** Bytes kept. */
  get length(): number {
    return this.#length;
  }

  /** Bytes of memory that are kept for them. */
  get heldBytes(): number {
    let bytes = (this.#block?.length ?? 0) + (this.#first?.buffer.byteLength ?? 0);
    for (const part of this.#list) bytes += part.buffer.byteLength;
    return bytes;
  }

  /** The piece may be kept: its memory must not be written to afterwards. */
  add(piece: Buffer): void {
    const { length } = piece;
    if (length === 0) return;
    if (this.#length === 0 && length < largestBlock) {
      this.#first = piece;
      this.#length = length;
      return;
    }
    const first = this.#first;
    if (first !== null) {
      this.#first = null;
      this.#length = 0;
      this.#place(first);
    }
    this.#place(piece);
  }

  #place(piece: Buffer): void {
    const { length } = piece;
    const block = this.#block;
    const free = block === null ? 0 : block.length - this.#used;
    // The unused rest of the block is smaller than the piece.
    if (length >= largePiece && length >= free && 4 * piece.buffer.byteLength <= 5 * length) {
      this.#seal();
      this.#list.push(piece);
    } else if (block !== null && length <= free) {
      block.set(piece, this.#used);
      this.#used += length;
    } else {
      if (block !== null) block.set(piece.subarray(0, free), this.#used);
      this.#used += free;
      this.#seal();
      const next = Buffer.allocUnsafeSlow(blockSize(length - free, this.#length));
      next.set(free === 0 ? piece : piece.subarray(free), 0);
      this.#block = next;
      this.#used = length - free;
    }
    this.#length += length;
  }

  #seal(): void {
    if (this.#block === null) return;
    this.#list.push(this.#used === this.#block.length ? this.#block : this.#block.subarray(0, this.#used));
    this.#block = null;
    this.#used = 0;
  }

  /** All bytes in one Buffer, which is not modified any more. Copies if there is more than one block. */
  bytes(): Buffer {
    if (this.#first !== null) return this.#first;
    if (this.#list.length === 0) return this.#block?.subarray(0, this.#used) ?? none;
    if (this.#list.length > 1 || this.#block !== null) {
      const whole = Buffer.allocUnsafeSlow(this.#length);
      let at = 0;
      for (const part of this.#list) at += part.copy(whole, at);
      if (this.#block !== null) this.#block.copy(whole, at, 0, this.#used);
      this.#list = [whole];
      this.#block = null;
      this.#used = 0;
    }
    return this.#list[0]!;
  }

  /** All bytes in a few Buffers, which are not modified any more. */
  parts(): readonly Buffer[] {
    if (this.#first !== null) return [this.#first];
    this.#seal();
    return this.#list;
  }

  /** Removes and returns all bytes in a few Buffers. */
  take(): Buffer[] {
    if (this.#first !== null) this.#list.push(this.#first);
    this.#first = null;
    this.#seal();
    const list = this.#list;
    this.#list = [];
    this.#forgotten += this.#length;
    this.#length = 0;
    return list;
  }

  /** Some of the bytes from `position` on (0: the very first one); null: none have come. They must not be forgotten. */
  from(position: number): Buffer | null {
    let end = this.#forgotten + this.#length;
    if (position >= end) return null;
    if (this.#first !== null) return this.#first.subarray(position - this.#forgotten);
    let start = end - this.#used;
    if (position >= start) return this.#block!.subarray(position - start, this.#used);
    // Usually the newest are requested.
    for (let i = this.#list.length - 1; ; i--) {
      const part = this.#list[i]!;
      end = start;
      start = end - part.length;
      if (position >= start) return position === start ? part : part.subarray(position - start);
    }
  }

  /** Drops the bytes before `position`, which are not needed any more. */
  forget(position: number): void {
    let count = 0;
    while (count < this.#list.length && this.#forgotten + this.#list[count]!.length <= position) {
      this.#forgotten += this.#list[count]!.length;
      this.#length -= this.#list[count]!.length;
      count += 1;
    }
    if (count > 0) this.#list.splice(0, count);
  }
}

/** For `bytes`, after `before` others: as much again as there is, within bounds. */
function blockSize(bytes: number, before: number): number {
  return Math.max(bytes, Math.min(largestBlock, Math.max(smallestBlock, before + bytes)));
}
