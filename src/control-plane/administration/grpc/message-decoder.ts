/** Compressed or not, and the length. */
export const prefixBytes = 5;
const smallestBuffer = 1024;
/** What a decompressor takes apart from its output: its window and a piece of that. */
const decompressorBytes = 64 * 1024;
/** Deflate makes a byte of at most so many. */
const mostPerByte = 1032;
/** A message of more frames than this, and of fewer bytes for each, is treated as an attack. Each frame takes some microseconds. */
const mostSmallFrames = 1000;
const smallFrameBytes = 64;

/** Bytes to reserve, beside its own, while a message with its prefix is decompressed; 0: it is not compressed. */
export const reservedFor = (prefix: Buffer, longest: number): number =>
  prefix[0] === 1 ? Math.min(longest, mostPerByte * prefix.readUInt32BE(1)) + decompressorBytes : 0;

export interface MessageDecoderOptions {
  /** Bytes of a message, compressed or not. */
  readonly longest: number;
  /** Is there one message alone? */
  readonly isUnary: boolean;
  /** Reports that more memory is needed. false: there is none. */
  take(bytes: number): boolean;
  /** The caller sends its message in tiny frames. */
  onTinyFrames(): void;
}

/**
 * Joins the messages of a gRPC stream. grpc-js keeps each frame of an incomplete message as it came: a caller that sends a byte
 * a frame needs a hundred times the memory of its message, and much more where other frames come in between, since each byte
 * keeps a buffer of 64 KiB. Here a message is copied into one buffer that grows with it.
 */
export class MessageDecoder {
  /** Prefix and message, as far as they have arrived. */
  #bytes = Buffer.alloc(prefixBytes);
  #length = 0;
  /** Of the message that is arriving, with its prefix. */
  #wanted = prefixBytes;
  #isOver = false;
  #isDropped = false;
  #frames = 0;
  #received = 0;

  constructor(readonly options: MessageDecoderOptions) {}

  /** Messages that are complete with this data, each with its prefix. Throws an Error for one that may not arrive. */
  write(data: Buffer): Buffer[] {
    if (this.#isDropped) return [];
    this.#received += data.length;
    if (++this.#frames > mostSmallFrames && this.#received < smallFrameBytes * this.#frames) {
      this.options.onTinyFrames();
      throw new Error('Received too many small frames');
    }
    if (this.#isOver && data.length > 0) throw new Error('Received more than one message');
    const complete: Buffer[] = [];
    for (let at = 0; at < data.length; ) {
      const end = Math.min(data.length, at + this.#wanted - this.#length);
      this.#append(data, at, end);
      at = end;
      if (this.#length === prefixBytes && this.#wanted === prefixBytes) this.#expect();
      if (this.#length < this.#wanted) continue;
      complete.push(this.#bytes.subarray(0, this.#length));
      this.#bytes = Buffer.alloc(prefixBytes);
      this.#length = 0;
      this.#wanted = prefixBytes;
      this.#isOver = this.options.isUnary;
      // A stream may have any number of small messages.
      if (!this.#isOver) this.#frames = this.#received = 0;
      if (this.#isOver && at < data.length) throw new Error('Received more than one message');
    }
    return complete;
  }

  /** Keeps nothing of a message that is arriving. */
  drop(): void {
    this.#isDropped = true;
    this.#bytes = Buffer.alloc(0);
  }

  /** The prefix is complete. */
  #expect(): void {
    const { longest } = this.options;
    const length = this.#bytes.readUInt32BE(1);
    if (length > longest)
      throw new Error(`The message has ${length} bytes; at most ${longest} are accepted.`);
    const reserved = reservedFor(this.#bytes, longest);
    if (reserved > 0) this.#take(reserved);
    this.#wanted = prefixBytes + length;
  }

  #append(data: Buffer, from: number, to: number): void {
    const length = this.#length + to - from;
    if (length > this.#bytes.length) {
      const size = Math.min(this.#wanted, Math.max(2 * length, smallestBuffer));
      this.#take(size - this.#bytes.length);
      const larger = Buffer.allocUnsafeSlow(size);
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    data.copy(this.#bytes, this.#length, from, to);
    this.#length = length;
  }

  #take(bytes: number): void {
    if (!this.options.take(bytes))
      throw new Error("The request exceeds the gRPC port's memory limit; if it is small, try again later.");
  }
}
