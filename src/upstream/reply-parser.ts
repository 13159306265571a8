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

/** Hexadecimal digits of a chunk's size: 2^52 bytes and leading zeros. */
const maxSizeDigits = 16;
/** Bytes behind a chunk's size, in its line. */
const maxExtensionBytes = 4 * 1024;

type State =
  | 'head'
  | 'length' // a body of known length
  | 'until-close' // a body that ends with the connection
  | 'size' // the line before a chunk
  | 'extension'
  | 'size-lf'
  | 'chunk'
  | 'chunk-cr'
  | 'chunk-lf'
  | 'trailer' // at the beginning of a line behind the last chunk
  | 'trailer-line'
  | 'trailer-lf'
  | 'last-lf'
  | 'done';

/** Where in `CRLF CRLF` an incomplete head has come to. */
type HeadEnd = 0 | 1 | 2 | 3;

/**
 * One connection's replies, one after another, as bytes come. `read` says what a piece of them brought: a head, some
 * body, the end, or that they are not HTTP. As strict as a client may be: RFC 9112 without the leniencies.
 */
export class ReplyParser {
  /** Did the latest `read` complete the head? Then `head` holds it until the next head of this origin. */
  headed = false;
  /** What the latest `read` brought of the body: a copy. */
  body: Buffer | null = null;
  /** The whole reply has been read. */
  done = false;
  /** Bytes came behind it. */
  excess = false;
  invalid = false;
  readonly head: ReplyHeadReader;
  #state: State = 'done';
  #bodyless = false;
  /** Bytes to come of the body or of this chunk. */
  #left = 0;
  #sizeDigits = 0;
  /** Bytes of this chunk's extensions, or of all trailers. */
  #passedOver = 0;
  /** The beginning of a head that comes in pieces. */
  #pending: Buffer | null = null;
  #pendingBytes = 0;
  #headEnd: HeadEnd = 0;

  constructor(head: ReplyHeadReader) {
    this.head = head;
  }

  /** For the next reply. `bodyless`: to HEAD, it has none whatever its head says. */
  start(bodyless: boolean): void {
    this.#state = 'head';
    this.#bodyless = bodyless;
    this.done = false;
    this.excess = false;
  }

  /** Takes the first `length` bytes, which are the parser's to move about. */
  read(bytes: Buffer, length: number): void {
    this.headed = false;
    this.body = null;
    let at = 0;
    // Interim replies announce; the answer follows.
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

  /** The upstream has ended the connection: is the reply whole by that? */
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

  /** A head in pieces: what has come is looked at once, and read when its end is there. */
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
      // Nobody asked for another protocol.
      if (status === 101) this.invalid = true;
      return;
    }
    this.headed = true;
    if (this.#bodyless || status === 204 || status === 304 || length === 0) {
      this.#state = 'done';
    } else if (chunked) {
      this.#expectSize();
      this.#passedOver = 0;
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

  /** What the chunks hold is moved together, so that it is copied out and told once. */
  #readChunks(bytes: Buffer, from: number, to: number): number {
    let at = from;
    let bodyFrom = -1;
    let bodyTo = -1;
    while (at < to && !this.invalid && this.#state !== 'done') {
      if (this.#state !== 'chunk') {
        this.#readChunkByte(bytes[at++]!);
        continue;
      }
      const end = Math.min(to, at + this.#left);
      this.#left -= end - at;
      if (bodyFrom === -1) {
        bodyFrom = at;
        bodyTo = end;
      } else {
        bytes.copyWithin(bodyTo, at, end);
        bodyTo += end - at;
      }
      at = end;
      if (this.#left === 0) this.#state = 'chunk-cr';
    }
    if (bodyFrom !== -1) this.#give(bytes, bodyFrom, bodyTo);
    return at;
  }

  /** One byte of what stands around the chunks. */
  #readChunkByte(byte: number): void {
    switch (this.#state) {
      case 'size': {
        const digit = hexDigit(byte);
        if (digit !== -1 && this.#sizeDigits < maxSizeDigits) {
          this.#sizeDigits += 1;
          this.#left = this.#left * 16 + digit;
          this.invalid = this.#left > Number.MAX_SAFE_INTEGER;
        } else if (this.#sizeDigits === 0) {
          this.invalid = true;
        } else if (byte === cr) {
          this.#state = 'size-lf';
        } else {
          // `;`, or blanks before it; some servers pad the size with them.
          this.invalid = byte !== 59 && byte !== 32 && byte !== 9;
          this.#state = 'extension';
          this.#passedOver = 0;
        }
        break;
      }
      case 'extension':
        this.#passOver(byte, 'size-lf', maxExtensionBytes);
        break;
      case 'size-lf':
        this.#expect(lf, byte, this.#left === 0 ? 'trailer' : 'chunk');
        if (this.#left === 0) this.#passedOver = 0;
        break;
      case 'chunk-cr':
        this.#expect(cr, byte, 'chunk-lf');
        break;
      case 'chunk-lf':
        this.#expect(lf, byte, 'size');
        this.#expectSize();
        break;
      case 'trailer':
        if (byte === cr) {
          this.#state = 'last-lf';
          break;
        }
        this.#state = 'trailer-line';
        this.#passOver(byte, 'trailer-lf', maxReplyHeaderBytes);
        break;
      case 'trailer-line':
        this.#passOver(byte, 'trailer-lf', maxReplyHeaderBytes);
        break;
      case 'trailer-lf':
        this.#expect(lf, byte, 'trailer');
        break;
      default:
        this.#expect(lf, byte, 'done');
    }
  }

  #expectSize(): void {
    this.#state = 'size';
    this.#left = 0;
    this.#sizeDigits = 0;
  }

  #expect(wanted: number, byte: number, next: State): void {
    if (byte === wanted) this.#state = next;
    else this.invalid = true;
  }

  #passOver(byte: number, behind: State, most: number): void {
    this.#passedOver += 1;
    if (byte === cr) this.#state = behind;
    else if (isValueByte[byte] === 0 || this.#passedOver > most) this.invalid = true;
  }

  #give(bytes: Buffer, from: number, to: number): void {
    if (from === to) return;
    const body = Buffer.allocUnsafe(to - from);
    bytes.copy(body, 0, from, to);
    this.body = body;
  }
}

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}
