import { Decoder } from '@redis/client/dist/lib/RESP/decoder.js';

/** Elements of all lists in one answer: 10,000 open breakers are 20,000, the slots of a cluster may be 150,000. */
const maxElements = 262_144;
const maxDepth = 8;
/** Of a line: a simple text, or an error with a script's trace. Bytes. */
const maxLine = 16 * 1024;
/** Numbers are read digit by digit, those of any length in quadratic time. */
const maxNumber = 40;
/** Of a message of another node, which is read in one turn of the event loop. Bytes. */
const maxPushed = 64 * 1024;

const [cr, lf] = [13, 10];
const kinds = { line: new Set(bytes('+-')), number: new Set(bytes(':(,#_')), text: new Set(bytes('$!=')) };
const lists: ReadonlyMap<number, number> = new Map<number, number>(
  [...bytes('*~>')].map((type) => [type, 1]),
).set('%'.charCodeAt(0), 2);
const pushType = '>'.charCodeAt(0);

/** Redis sent bytes that are not a valid answer. The connection cannot be used any longer. */
export class BadReply extends Error {}

/**
 * Checks the bytes of a connection before the client reads them, and refuses those that would take unbounded memory or time:
 * endless texts and lines, lists whose announced length exceeds memory, deeply nested lists. It keeps only lengths. Bytes that
 * are not strictly RESP are refused too, so that guard and client cannot read them differently.
 */
export class ReplyGuard {
  /** Type byte and line that are incomplete so far. */
  #line: number[] = [];
  /** Bytes of a text that are still to come, and its line end. */
  #left = 0;
  /** Elements that are still to come, of each open list. */
  readonly #open: number[] = [];
  #elements = 0;
  #bytes = 0;
  #isPush = false;
  #isBad = false;

  /** `maxBytes`: of one answer. */
  constructor(readonly maxBytes: number) {}

  /** Throws BadReply; after that, every call throws it. */
  see(chunk: Buffer): void {
    if (this.#isBad) throw new BadReply('Redis sent an invalid answer before');
    this.#isBad = true;
    for (let at = 0; at < chunk.length; ) at = this.#left > 0 ? this.#text(chunk, at) : this.#head(chunk, at);
    this.#isBad = false;
  }

  #text(chunk: Buffer, at: number): number {
    const taken = Math.min(this.#left, chunk.length - at);
    // The last two bytes are a line end.
    for (let end = at + taken, left = this.#left - taken; left < 2 && end > at; ) {
      end--;
      left++;
      if (chunk[end] !== (left === 1 ? lf : cr)) throw new BadReply('Redis sent a text of another length');
    }
    this.#left -= taken;
    if (this.#left === 0) this.#ended();
    return at + taken;
  }

  #head(chunk: Buffer, from: number): number {
    const line = this.#line;
    let at = from;
    while (at < chunk.length) {
      const byte = chunk[at++]!;
      line.push(byte);
      if (byte === lf) {
        this.#lineOf(line);
        this.#line = [];
        return at;
      }
      if (line.length > (kinds.line.has(line[0]!) ? maxLine : maxNumber))
        throw new BadReply('Redis sent a line that is too long');
    }
    return at;
  }

  #lineOf(line: readonly number[]): void {
    const [type] = line;
    const content = line.slice(1, -2);
    if (line.at(-2) !== cr || content.includes(cr) || type === undefined)
      throw new BadReply('Redis sent a line without its end');
    this.#count(line.length);
    if (kinds.line.has(type) || kinds.number.has(type)) return this.#simple(type, content);
    const length = lengthOf(content);
    if (kinds.text.has(type)) return this.#textBegins(type, length);
    const factor = lists.get(type);
    if (factor === undefined) throw new BadReply('Redis sent an answer of an unknown type');
    if (this.#open.length === 0) this.#isPush = type === pushType;
    if (length === null && type === '*'.charCodeAt(0)) return this.#ended();
    if (length === null) throw new BadReply('Redis sent a list without a length');
    this.#elements += length * factor;
    if (this.#elements > maxElements || this.#open.length === maxDepth)
      throw new BadReply('Redis sent a list that is too long or too deep');
    if (length === 0) return this.#ended();
    this.#open.push(length * factor);
  }

  #simple(type: number, content: readonly number[]): void {
    // The client reads these by their place alone.
    const isOdd =
      (type === '_'.charCodeAt(0) && content.length !== 0) ||
      (type === '#'.charCodeAt(0) && content.length !== 1);
    if (isOdd) throw new BadReply('Redis sent a malformed value');
    this.#ended();
  }

  #textBegins(type: number, length: number | null): void {
    if (length === null) {
      if (type !== '$'.charCodeAt(0)) throw new BadReply('Redis sent a text without a length');
      return this.#ended();
    }
    if (type === '='.charCodeAt(0) && length < 4) throw new BadReply('Redis sent a text of another length');
    this.#count(length);
    this.#left = length + 2;
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    const isLong = this.#bytes > (this.#isPush && this.#open.length > 0 ? maxPushed : this.maxBytes);
    if (isLong) throw new BadReply('Redis sent an answer that is too long');
  }

  /** A value is complete, and with it the lists that it was the last of. */
  #ended(): void {
    const open = this.#open;
    while (open.length > 0) {
      const left = open[open.length - 1]! - 1;
      open[open.length - 1] = left;
      if (left > 0) return;
      open.pop();
    }
    this.#elements = 0;
    this.#bytes = 0;
    this.#isPush = false;
  }
}

function bytes(text: string): readonly number[] {
  return [...Buffer.from(text, 'latin1')];
}

/** null: -1, there is none. */
function lengthOf(digits: readonly number[]): number | null {
  const text = String.fromCharCode(...digits);
  if (text === '-1') return null;
  if (!/^\d{1,10}$/.test(text)) throw new BadReply('Redis sent a malformed length');
  return Number(text);
}

const guards = new WeakMap<object, ReplyGuard>();
let most = 0;

/**
 * Lets a guard check all bytes that Redis sends to this process. The client has no hook for this, and does not expose its
 * sockets: the bytes of every connection, with and without TLS, pass its decoder. `maxBytes`: of one answer.
 */
export function guardReplies(maxBytes: number): void {
  const isFirst = most === 0;
  most = Math.max(most, maxBytes);
  if (!isFirst) return;
  const { write } = Decoder.prototype;
  Decoder.prototype.write = function (this: Decoder, chunk: Buffer) {
    let guard = guards.get(this);
    if (guard === undefined) {
      guard = new ReplyGuard(most);
      guards.set(this, guard);
    }
    guard.see(chunk);
    return write.call(this, chunk);
  };
}
