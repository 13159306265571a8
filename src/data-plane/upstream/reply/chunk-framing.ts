import { isTokenByte, isValueByte, maxReplyHeaderBytes } from './reply-head.js';

const tab = 9;
const lf = 10;
const cr = 13;
const space = 32;
const quote = 34;
const colon = 58;
const semicolon = 59;
const equals = 61;
const backslash = 92;

/** Hexadecimal digits of a chunk's size: 2^52 bytes and leading zeros. */
const maxSizeDigits = 16;
/** Bytes after a chunk's size, in its line. */
const maxExtensionBytes = 4 * 1024;

type State =
  | 'size' // in the line before a chunk
  | 'size-end' // after the size or an extension: blanks, another extension, the end of the line
  | 'extension-name'
  | 'name' // of an extension, from its second byte on
  | 'name-end' // blanks after it
  | 'extension-value'
  | 'value' // a token, from its second byte on
  | 'quoted'
  | 'quoted-pair' // after a backslash
  | 'size-lf'
  | 'chunk'
  | 'chunk-cr'
  | 'chunk-lf'
  | 'trailer' // at the beginning of a line after the last chunk
  | 'trailer-name'
  | 'trailer-value'
  | 'trailer-lf'
  | 'last-lf'
  | 'done'
  | 'invalid';

/**
 * Parses the framing around the chunks of a body, byte by byte: sizes, extensions, trailers (RFC 9112 §7.1). Extensions
 * and trailers are skipped, but have to be valid: invalid ones may be an attempt to make two readers see different
 * bodies. One exception: blanks at the end of a size's line, which some servers add as padding.
 */
export class ChunkFraming {
  /** Remaining bytes of the chunk. */
  left = 0;
  state: State = 'done';
  #sizeDigits = 0;
  /** Bytes of this chunk's extensions, or of all trailers. */
  #passedOver = 0;

  /** A body begins. */
  start(): void {
    this.#expectSize();
  }

  /** So many bytes of the chunk have been read. */
  took(bytes: number): void {
    this.left -= bytes;
    if (this.left === 0) this.state = 'chunk-cr';
  }

  /** Parses one byte outside of chunks. */
  read(byte: number): void {
    switch (this.state) {
      case 'size':
        return this.#readSize(byte);
      case 'size-lf':
        this.#passedOver = 0;
        return this.#expect(lf, byte, this.left === 0 ? 'trailer' : 'chunk');
      case 'chunk-cr':
        return this.#expect(cr, byte, 'chunk-lf');
      case 'chunk-lf':
        if (byte === lf) this.#expectSize();
        else this.state = 'invalid';
        return;
      case 'trailer':
      case 'trailer-name':
      case 'trailer-value':
        return this.#readTrailer(byte);
      case 'trailer-lf':
        return this.#expect(lf, byte, 'trailer');
      case 'last-lf':
        return this.#expect(lf, byte, 'done');
      default:
        return this.#readExtension(byte);
    }
  }

  #expectSize(): void {
    this.state = 'size';
    this.left = 0;
    this.#sizeDigits = 0;
  }

  #expect(wanted: number, byte: number, next: State): void {
    this.state = byte === wanted ? next : 'invalid';
  }

  #readSize(byte: number): void {
    const digit = hexDigit(byte);
    if (digit !== -1 && this.#sizeDigits < maxSizeDigits) {
      this.#sizeDigits += 1;
      this.left = this.left * 16 + digit;
      if (this.left > Number.MAX_SAFE_INTEGER) this.state = 'invalid';
    } else if (this.#sizeDigits === 0) {
      this.state = 'invalid';
    } else {
      this.#passedOver = 0;
      this.#readSizeEnd(byte);
    }
  }

  #readSizeEnd(byte: number): void {
    if (byte === cr) this.state = 'size-lf';
    else if (byte === semicolon) this.state = 'extension-name';
    else this.state = isBlank(byte) ? 'size-end' : 'invalid';
  }

  /** `BWS ";" BWS name [BWS "=" BWS (token / quoted-string)]` */
  #readExtension(byte: number): void {
    this.#passedOver += 1;
    if (this.#passedOver > maxExtensionBytes) {
      this.state = 'invalid';
      return;
    }
    switch (this.state) {
      case 'size-end':
        return this.#readSizeEnd(byte);
      case 'extension-name':
        if (isTokenByte[byte] === 1) this.state = 'name';
        else if (!isBlank(byte)) this.state = 'invalid';
        return;
      case 'name':
        if (isTokenByte[byte] === 1) return;
        return this.#readNameEnd(byte);
      case 'name-end':
        return this.#readNameEnd(byte);
      case 'extension-value':
        if (byte === quote) this.state = 'quoted';
        else if (isTokenByte[byte] === 1) this.state = 'value';
        else if (!isBlank(byte)) this.state = 'invalid';
        return;
      case 'value':
        if (isTokenByte[byte] === 1) return;
        return this.#readSizeEnd(byte);
      case 'quoted':
        if (byte === quote) this.state = 'size-end';
        else if (byte === backslash) this.state = 'quoted-pair';
        else if (isValueByte[byte] === 0) this.state = 'invalid';
        return;
      default:
        this.state = this.state === 'quoted-pair' && isValueByte[byte] === 1 ? 'quoted' : 'invalid';
    }
  }

  #readNameEnd(byte: number): void {
    if (byte === equals) this.state = 'extension-value';
    else if (isBlank(byte)) this.state = 'name-end';
    else this.#readSizeEnd(byte);
  }

  #readTrailer(byte: number): void {
    this.#passedOver += 1;
    if (this.#passedOver > maxReplyHeaderBytes) this.state = 'invalid';
    else if (this.state === 'trailer-value') {
      if (byte === cr) this.state = 'trailer-lf';
      else if (isValueByte[byte] === 0) this.state = 'invalid';
    } else if (isTokenByte[byte] === 1) this.state = 'trailer-name';
    else if (byte === cr && this.state === 'trailer') this.state = 'last-lf';
    else this.state = byte === colon && this.state === 'trailer-name' ? 'trailer-value' : 'invalid';
  }
}

function isBlank(byte: number): boolean {
  return byte === space || byte === tab;
}

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}
