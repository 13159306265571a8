import { Pieces } from '../../../common/bytes/pieces.js';
import { findingsOf, type TailFindings, type TailFormat } from './tail-findings.js';

/** Enough for the last chunks of a chat, their usage and the end marker; the one before may be cut. */
const tailBytes = 16 * 1024;
/** Enough for `message_start`, where Anthropic reports the input. */
const headBytes = 8 * 1024;

/**
 * Watches a stream whose bytes go to the client unchanged. Per chunk it only copies; the last few KiB are decoded once,
 * at the end.
 */
export class StreamTail {
  readonly #head = new Pieces();
  readonly #tail = new TailBytes();
  #findings: TailFindings | null = null;

  constructor(readonly format: TailFormat) {}

  push(chunk: Buffer): void {
    const room = headBytes - this.#head.length;
    if (room > 0 && this.#needsHead) this.#head.add(chunk.length > room ? chunk.subarray(0, room) : chunk);
    this.#tail.push(chunk);
  }

  /** Bytes of memory kept. */
  get heldBytes(): number {
    return this.#head.heldBytes + this.#tail.heldBytes;
  }

  get #needsHead(): boolean {
    return this.format === 'anthropic-messages' || this.format === 'openai-responses';
  }

  /** The data found in the stream; no more is pushed afterwards. */
  end(): TailFindings {
    if (this.#findings === null) {
      this.#findings = findingsOf(this.format, this.#head.bytes(), this.#tail.bytes());
      this.#tail.release();
    }
    return this.#findings;
  }
}

/** Bytes that a short stream fits into. */
const smallTail = 2 * 1024;
/** Twice what is wanted, so that bytes are rarely moved to the front. */
const largeTail = 2 * tailBytes;
/** Large buffers of streams that have ended, for the next ones: memory outside the heap is slow to get. 2 MiB. */
const spare: Buffer[] = [];
const maxSpare = 64;

/** The last bytes of a stream: at least `tailBytes` of them, where there are as many. */
class TailBytes {
  #buffer: Buffer = none;
  #length = 0;

  get heldBytes(): number {
    return this.#buffer.length;
  }

  push(chunk: Buffer): void {
    const part = chunk.length > tailBytes ? chunk.subarray(chunk.length - tailBytes) : chunk;
    if (this.#length + part.length > this.#buffer.length) this.#makeRoom(part.length);
    this.#buffer.set(part, this.#length);
    this.#length += part.length;
  }

  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Forgets the bytes: another stream may use the memory. */
  release(): void {
    if (this.#buffer.length === largeTail && spare.length < maxSpare) spare.push(this.#buffer);
    this.#buffer = none;
    this.#length = 0;
  }

  /** Moves to the front what may still be wanted. */
  #makeRoom(bytes: number): void {
    const kept = Math.min(this.#length, tailBytes);
    const from = this.#length - kept;
    if (this.#buffer.length < largeTail) {
      const larger =
        this.#length + bytes <= smallTail
          ? Buffer.allocUnsafeSlow(smallTail)
          : (spare.pop() ?? Buffer.allocUnsafeSlow(largeTail));
      this.#buffer.copy(larger, 0, from, this.#length);
      this.#buffer = larger;
    } else {
      this.#buffer.copyWithin(0, from, this.#length);
    }
    this.#length = kept;
  }
}

const none = Buffer.alloc(0);

const fieldStart = /^(?:data|event|id|retry)(?:[:\r\n])|^:/;
const fieldPrefixes = ['data:', 'event:', 'retry:', 'id:'];

/**
 * Can a body that begins with these bytes be server-sent events? null: too few bytes to decide. Looks at the start of
 * the first line that is not blank; a JSON or HTML body under a `text/event-stream` label is recognised by its first byte.
 */
export function looksLikeEvents(chunk: Buffer): boolean | null {
  const text = chunk.toString('latin1', 0, 4096);
  let at = 0;
  if (text.startsWith('\u00ef\u00bb\u00bf')) at = 3;
  else if (text.length < 3 && '\u00ef\u00bb\u00bf'.startsWith(text)) return null;
  while (at < text.length && (text.charCodeAt(at) === 10 || text.charCodeAt(at) === 13)) at++;
  // A body of nothing but blank lines will not become an answer.
  if (at === text.length) return text.length >= 4096 ? false : null;
  const line = text.slice(at, at + 8);
  if (fieldStart.test(line)) return true;
  return fieldPrefixes.some((prefix) => prefix.startsWith(line)) ? null : false;
}
