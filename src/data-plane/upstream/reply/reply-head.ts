import type { HeaderList } from '../../../common/http/headers.js';

/** Bytes of a head; more is an invalid response. */
export const maxReplyHeaderBytes = 64 * 1024;
/** Header lines; more is an invalid response. Providers send far fewer. */
export const maxReplyHeaderLines = 256;

/** What `read` returns instead of an offset: more bytes are needed. */
export const incomplete = -1;
/** What `read` returns instead of an offset: this is not HTTP/1.1. */
export const invalid = -2;

/** A larger head is not kept for comparison: an upstream must not determine how much memory each pool takes. */
const maxRememberedBytes = 4 * 1024;
const maxRememberedLines = 64;

const tab = 9;
const lf = 10;
const cr = 13;
const space = 32;
const colon = 58;
const version = Buffer.from('HTTP/1.');

/** RFC 9110 §5.6.2, by byte. */
export const isTokenByte = new Uint8Array(256);
for (const char of "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") {
  isTokenByte[char.charCodeAt(0)] = 1;
}
/** RFC 9110 §5.5, by byte: no control character but the tab. */
export const isValueByte = new Uint8Array(256).fill(1, space);
isValueByte[tab] = 1;
isValueByte[127] = 0;

/** The role of a header. RFC 9110 §7.6.1 and the framing belong to the connection, not to the answer. */
export type Role =
  | 'answer'
  | 'connection'
  | 'keep-alive'
  | 'content-length'
  | 'transfer-encoding'
  | 'dropped';

const roles = new Map<string, Role>([
  ['connection', 'connection'],
  ['keep-alive', 'keep-alive'],
  ['content-length', 'content-length'],
  ['transfer-encoding', 'transfer-encoding'],
  ['te', 'dropped'],
  ['trailer', 'dropped'],
  ['upgrade', 'dropped'],
]);

/**
 * Headers that set rules for an origin, for browsers and proxies. A client would apply them to the gateway:
 * they would change how it reaches the gateway, what it keeps for it, and who may read its answers.
 */
const originHeaders = new Set([
  'accept-ch',
  'alt-svc',
  'alternate-protocol',
  'cdn-cache-control',
  'clear-site-data',
  'critical-ch',
  'expect-ct',
  'http2-settings',
  'nel',
  'origin-agent-cluster',
  'origin-trial',
  'public-key-pins',
  'public-key-pins-report-only',
  'refresh',
  'report-to',
  'reporting-endpoints',
  'service-worker-allowed',
  'set-cookie2',
  'set-login',
  'strict-transport-security',
  'surrogate-control',
  'timing-allow-origin',
  'x-reproxy-url',
  'x-sendfile',
]);
const originPrefixes = ['access-control-', 'x-accel-', 'x-lighttpd-send'];

/** `name`: lower-case. */
export function roleOf(name: string): Role {
  const role = roles.get(name);
  if (role !== undefined) return role;
  if (name.startsWith('proxy-')) return 'dropped';
  // It describes the buffering of the answer's stream.
  if (name === 'x-accel-buffering') return 'answer';
  return originHeaders.has(name) || originPrefixes.some((prefix) => name.startsWith(prefix))
    ? 'dropped'
    : 'answer';
}

/** A header line of the previous head; offsets count from the beginning of that head. */
class Line {
  start = 0;
  /** After the line's CRLF; equal to `start`: nothing is kept. */
  end = 0;
  /** Bytes from `start` through the colon. */
  nameBytes = 0;
  name = '';
  value = '';
  role: Role = 'answer';
}

/**
 * Parses heads of replies strictly: only CRLF ends a line, and nothing is folded, guessed or repaired. An origin's
 * heads resemble each other, so each line is first compared with the one at its place in the previous head: if
 * the bytes are the same, they are neither checked nor made into strings again.
 */
export class ReplyHeadReader {
  status = 0;
  /** Names in lower case, without headers of the connection or rules for the origin. The caller may keep the list. */
  headers: HeaderList = [];
  /** Content-Length, or -1. */
  length = -1;
  chunked = false;
  /** May the connection be used again, according to the upstream? */
  persistent = false;
  /** How long the upstream keeps an idle connection (`Keep-Alive: timeout`), or -1. */
  keepMs = -1;
  #closes = false;
  #keeps = false;
  #named: string[] | null = null;
  readonly #lines: Line[] = [];
  #before = Buffer.alloc(0);

  /** Reads the head that begins at `from`. Returns the offset after it, `incomplete` or `invalid`. */
  read(bytes: Buffer, from: number, to: number): number {
    const first = statusLineEnd(bytes, from, to);
    if (first < 0) return first;
    this.status = (bytes[from + 9]! - 48) * 100 + (bytes[from + 10]! - 48) * 10 + (bytes[from + 11]! - 48);
    this.headers = [];
    this.length = -1;
    this.chunked = false;
    this.keepMs = -1;
    this.#closes = false;
    this.#keeps = false;
    this.#named = null;
    const behind = this.#readLines(bytes, from, first, to);
    if (behind < 0 || (this.chunked && this.length !== -1)) {
      this.#forget(0);
      return behind < 0 ? behind : invalid;
    }
    this.#remember(bytes, from, behind);
    const minor = bytes[from + 7]! - 48;
    // HTTP/1.0 has no chunks: where its reply announces them all the same, its framing is not reliable
    // (RFC 9112 §6.1).
    this.persistent = !this.#closes && (minor === 1 || (this.#keeps && !this.chunked));
    if (this.#named !== null) this.headers = withoutNamed(this.headers, this.#named);
    return behind;
  }

  #readLines(bytes: Buffer, from: number, first: number, to: number): number {
    let at = first;
    for (let i = 0; i <= maxReplyHeaderLines; i++) {
      if (at >= to) return incomplete;
      if (bytes[at] === cr) {
        if (at + 1 >= to) return incomplete;
        if (bytes[at + 1] !== lf || at + 2 - from > maxReplyHeaderBytes) return invalid;
        this.#forget(i);
        return at + 2;
      }
      let line = this.#lines[i];
      if (line === undefined) {
        line = new Line();
        this.#lines.push(line);
      }
      const next = this.#readLine(line, bytes, at, to);
      if (next < 0) return next;
      line.start = at - from;
      line.end = next - from;
      if (!this.#take(line)) return invalid;
      at = next;
    }
    return invalid;
  }

  /** Reads the line at `at` into `line`, which holds the previous reply's line. Returns the offset after its CRLF. */
  #readLine(line: Line, bytes: Buffer, at: number, to: number): number {
    const before = this.#before;
    const { start, end } = line;
    let same = 0;
    const most = Math.min(end - start, to - at);
    while (same < most && bytes[at + same] === before[start + same]) same++;
    if (same > 0 && same === end - start) return at + same;
    let valueAt: number;
    if (same >= line.nameBytes && same > 0) {
      valueAt = at + line.nameBytes;
    } else {
      let nameEnd = at;
      while (nameEnd < to && isTokenByte[bytes[nameEnd]!] === 1) nameEnd++;
      if (nameEnd === to) return incomplete;
      if (nameEnd === at || bytes[nameEnd] !== colon) return invalid;
      line.name = bytes.toString('latin1', at, nameEnd).toLowerCase();
      line.role = roleOf(line.name);
      line.nameBytes = nameEnd + 1 - at;
      valueAt = nameEnd + 1;
    }
    while (valueAt < to && isBlank(bytes[valueAt]!)) valueAt++;
    let lineEnd = valueAt;
    while (lineEnd < to && isValueByte[bytes[lineEnd]!] === 1) lineEnd++;
    if (lineEnd === to) return incomplete;
    if (bytes[lineEnd] !== cr) return invalid;
    if (lineEnd + 1 === to) return incomplete;
    if (bytes[lineEnd + 1] !== lf) return invalid;
    let valueEnd = lineEnd;
    while (valueEnd > valueAt && isBlank(bytes[valueEnd - 1]!)) valueEnd--;
    line.value = bytes.toString('latin1', valueAt, valueEnd);
    return lineEnd + 2;
  }

  /** false: its value is not valid for such a header. */
  #take(line: Line): boolean {
    const { value } = line;
    switch (line.role) {
      case 'answer':
        this.headers.push(line.name, value);
        return true;
      case 'content-length': {
        const length = lengthOf(value);
        if (length === -1 || (this.length !== -1 && this.length !== length)) return false;
        this.length = length;
        return true;
      }
      case 'transfer-encoding':
        // Any other coding would have to be decoded before the answer can be read.
        if (this.chunked || value.toLowerCase() !== 'chunked') return false;
        this.chunked = true;
        return true;
      case 'connection':
        if (value === 'keep-alive') this.#keeps = true;
        else return this.#takeConnection(value.toLowerCase());
        return true;
      case 'keep-alive': {
        const seconds = /timeout=\s*(\d{1,9})/i.exec(value)?.[1];
        if (seconds !== undefined) this.keepMs = Number(seconds) * 1000;
        return true;
      }
      default:
        return true;
    }
  }

  /** Headers that `Connection` names go no further than this connection. false: those are more than a head has. */
  #takeConnection(value: string): boolean {
    const parts = value.split(',', maxReplyHeaderLines + 1);
    if (parts.length > maxReplyHeaderLines) return false;
    for (const part of parts) {
      const name = part.trim();
      if (name === 'close') this.#closes = true;
      else if (name === 'keep-alive') this.#keeps = true;
      else if (this.#named === null) this.#named = [name];
      else this.#named.push(name);
    }
    return true;
  }

  /** Invalidates the kept lines from `first` on. */
  #forget(first: number): void {
    for (let i = first; i < this.#lines.length; i++) {
      const line = this.#lines[i]!;
      line.end = line.start;
    }
  }

  #remember(bytes: Buffer, from: number, to: number): void {
    if (to - from > maxRememberedBytes || this.#lines.length > maxRememberedLines) {
      this.#lines.length = 0;
      return;
    }
    if (to - from > this.#before.length) {
      this.#before = Buffer.allocUnsafeSlow(Math.min(2 * (to - from), maxRememberedBytes));
    }
    bytes.copy(this.#before, 0, from, to);
  }
}

/** Can a reply begin with these bytes? */
export function beginsReply(bytes: Buffer, from: number, to: number): boolean {
  const length = Math.min(version.length, to - from);
  for (let i = 0; i < length; i++) {
    if (bytes[from + i] !== version[i]) return false;
  }
  return true;
}

/** `HTTP/1.x SP 3DIGIT [SP reason] CRLF`: the offset after it. */
function statusLineEnd(bytes: Buffer, from: number, to: number): number {
  if (!beginsReply(bytes, from, to)) return invalid;
  if (to - from < 13) return incomplete;
  const minor = bytes[from + 7]!;
  if ((minor !== 48 && minor !== 49) || bytes[from + 8] !== space) return invalid;
  for (let i = from + 9; i < from + 12; i++) {
    if (bytes[i]! < (i === from + 9 ? 49 : 48) || bytes[i]! > 57) return invalid;
  }
  let at = from + 12;
  if (bytes[at] !== cr && bytes[at] !== space) return invalid;
  while (at < to && isValueByte[bytes[at]!] === 1) at++;
  if (at === to) return incomplete;
  if (bytes[at] !== cr) return invalid;
  if (at + 1 === to) return incomplete;
  return bytes[at + 1] === lf ? at + 2 : invalid;
}

function isBlank(byte: number): boolean {
  return byte === space || byte === tab;
}

/** Digits alone, up to 2^53; -1 for anything else. */
function lengthOf(value: string): number {
  if (value.length === 0 || value.length > 16) return -1;
  let length = 0;
  for (let i = 0; i < value.length; i++) {
    const digit = value.charCodeAt(i) - 48;
    if (digit < 0 || digit > 9) return -1;
    length = length * 10 + digit;
  }
  return length <= Number.MAX_SAFE_INTEGER ? length : -1;
}

function withoutNamed(headers: HeaderList, named: readonly string[]): HeaderList {
  const kept: HeaderList = [];
  for (let i = 0; i < headers.length; i += 2) {
    if (!named.includes(headers[i]!)) kept.push(headers[i]!, headers[i + 1]!);
  }
  return kept;
}
