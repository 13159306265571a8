import { ChunkFraming } from './chunk-framing.js';
import {
  beginsReply,
  incomplete,
  invalid,
  isValueByte,
  maxReplyHeaderBytes,
  type ReplyHeadReader,
} from './reply-head.js';

const lf = 10;
const cr = 13;

type State =
  | 'head'
  | 'length' // a body of known length
  | 'until-close' // a body that ends with the connection
  | 'chunks'
  | 'done';

/** The number of bytes of `CRLF CRLF` at the end of an incomplete head. */
type HeadEnd = 0 | 1 | 2 | 3;

/**
 * Parses one connection's replies, one after another, as bytes arrive. `read` reports what a piece of them contained: a
 * head, some body, the end, or that they are not HTTP. As strict as RFC 9112 allows a client to be.
 */
export class ReplyParser {
  /** Did the latest `read` complete the head? Then `head` keeps it until the next head of this origin. */
  headed = false;
  /** A copy of the body's bytes in the latest `read`. */
  body: Buffer | null = null;
  /** The whole reply has been read. */
  done = false;
  /** Bytes came after it. */
  excess = false;
  invalid = false;
  readonly head: ReplyHeadReader;
  #state: State = 'done';
  #bodyless = false;
  /** Remaining bytes of a body of known length. */
  #left = 0;
  readonly #chunks = new ChunkFraming();
  /** The beginning of a head that arrives in pieces. */
  #pending: Buffer | null = null;
  #pendingBytes = 0;
  #headEnd: HeadEnd = 0;

  constructor(head: ReplyHeadReader) {
    this.head = head;
  }

  /** For the next reply. `bodyless`: a reply to HEAD has no body, whatever its head announces. */
  start(bodyless: boolean): void {
    this.#state = 'head';
    this.#bodyless = bodyless;
    this.done = false;
    this.excess = false;
  }

  /** Parses the first `length` bytes, and may move them within the buffer. */
  read(bytes: Buffer, length: number): void {
    this.headed = false;
    this.body = null;
    let at = 0;
    // The answer follows after interim replies.
    while (this.#state === 'head') {
      if (at === length) return;
      at = this.#readHead(bytes, at, length);
      if (at < 0) {
        this.invalid = at === invalid;
        return;
      }
    }
    if (this.#state !== 'done') at = this.#readBody(bytes, at, length);
    if (this.#state === 'done') {
      this.done = true;
      this.excess = at < length;
    }
  }

  /** The upstream has ended the connection: does that complete the reply? */
  end(): boolean {
    return this.#state === 'until-close';
  }

  #readHead(bytes: Buffer, from: number, to: number): number {
    let behind = incomplete;
    if (this.#pendingBytes === 0) behind = this.head.read(bytes, from, to);
    if (behind === incomplete) behind = this.#readPieces(bytes, from, to);
    if (behind >= 0) this.#chooseBody();
    return this.invalid ? invalid : behind;
  }

  /** A head in pieces: each byte is scanned once, and the head is parsed when its end has arrived. */
  #readPieces(bytes: Buffer, from: number, to: number): number {
    let at = from;
    let ended = false;
    while (at < to && !ended) {
      const byte = bytes[at++]!;
      switch (this.#headEnd) {
        case 0:
          if (byte === cr) this.#headEnd = 1;
          else if (isValueByte[byte] === 0) return invalid;
          break;
        case 1:
          if (byte !== lf) return invalid;
          this.#headEnd = 2;
          break;
        case 2:
          if (byte !== cr && isValueByte[byte] === 0) return invalid;
          this.#headEnd = byte === cr ? 3 : 0;
          break;
        default:
          if (byte !== lf) return invalid;
          ended = true;
      }
    }
    if (!this.#keepPiece(bytes, from, at)) return invalid;
    if (!ended) return incomplete;
    const length = this.#pendingBytes;
    const pending = this.#pending!;
    this.#pending = null;
    this.#pendingBytes = 0;
    this.#headEnd = 0;
    return this.head.read(pending, 0, length) === length ? at : invalid;
  }

  #keepPiece(bytes: Buffer, from: number, to: number): boolean {
    const length = this.#pendingBytes + to - from;
    if (length > maxReplyHeaderBytes) return false;
    if (this.#pending === null || this.#pending.length < length) {
      const larger = Buffer.allocUnsafe(Math.min(2 * length + 512, maxReplyHeaderBytes));
      this.#pending?.copy(larger, 0, 0, this.#pendingBytes);
      this.#pending = larger;
    }
    bytes.copy(this.#pending, this.#pendingBytes, from, to);
    this.#pendingBytes = length;
    return beginsReply(this.#pending, 0, length);
  }

  #chooseBody(): void {
    const { status, length, chunked } = this.head;
    if (status < 200) {
      // No request asked for another protocol.
      if (status === 101) this.invalid = true;
      return;
    }
    this.headed = true;
    if (this.#bodyless || status === 204 || status === 304 || length === 0) {
      this.#state = 'done';
    } else if (chunked) {
      this.#state = 'chunks';
      this.#chunks.start();
    } else if (length > 0) {
      this.#state = 'length';
      this.#left = length;
    } else {
      this.#state = 'until-close';
    }
  }

  #readBody(bytes: Buffer, from: number, to: number): number {
    switch (this.#state) {
      case 'length': {
        const end = Math.min(to, from + this.#left);
        this.#left -= end - from;
        if (this.#left === 0) this.#state = 'done';
        this.#give(bytes, from, end);
        return end;
      }
      case 'until-close':
        this.#give(bytes, from, to);
        return to;
      default:
        return this.#readChunks(bytes, from, to);
    }
  }

  /** The content of the chunks is moved together, so that it is copied out and passed on once. */
  #readChunks(bytes: Buffer, from: number, to: number): number {
    const chunks = this.#chunks;
    let at = from;
    let bodyFrom = -1;
    let bodyTo = -1;
    while (at < to && chunks.state !== 'invalid' && chunks.state !== 'done') {
      if (chunks.state !== 'chunk') {
        chunks.read(bytes[at++]!);
        continue;
      }
      const end = Math.min(to, at + chunks.left);
      chunks.took(end - at);
      if (bodyFrom === -1) {
        bodyFrom = at;
        bodyTo = end;
      } else {
        bytes.copyWithin(bodyTo, at, end);
        bodyTo += end - at;
      }
      at = end;
    }
    if (chunks.state === 'done') this.#state = 'done';
    this.invalid = chunks.state === 'invalid';
    if (bodyFrom !== -1) this.#give(bytes, bodyFrom, bodyTo);
    return at;
  }

  #give(bytes: Buffer, from: number, to: number): void {
    if (from === to) return;
    const body = Buffer.allocUnsafe(to - from);
    bytes.copy(body, 0, from, to);
    this.body = body;
  }
}
