import { endOfString, endOfValue, skipSpace } from './json-text.js';

/** One change to an object text: the member `key` gets this JSON text as its value; null takes it out. */
export interface JsonEdit {
  readonly key: string;
  readonly value: string | null;
}

/** Which edit names this key; the last one where several do. */
function findEdit(edits: readonly JsonEdit[], key: string): number {
  for (let i = edits.length - 1; i >= 0; i--) if (edits[i]!.key === key) return i;
  return -1;
}

/** A stretch of the text that gives way to `by`. */
interface Cut {
  readonly start: number;
  readonly end: number;
  readonly by: string;
}

function findCuts(text: string, edits: readonly JsonEdit[], readKey: (raw: string) => string): Cut[] {
  let i = skipSpace(text, 0);
  if (text.charCodeAt(i) !== 0x7b) throw new SyntaxError('Only the text of a JSON object can be edited.');
  const cuts: Cut[] = [];
  const met = new Array<boolean>(edits.length).fill(false);
  let kept = false;
  let comma = -1;
  let lastEnd = i + 1;
  i = skipSpace(text, i + 1);
  while (text.charCodeAt(i) === 0x22) {
    const start = i;
    const keyEnd = endOfString(text, start);
    const edit = findEdit(edits, readKey(text.slice(start + 1, keyEnd - 1)));
    const valueStart = skipSpace(text, skipSpace(text, keyEnd) + 1);
    lastEnd = endOfValue(text, valueStart);
    i = skipSpace(text, lastEnd);
    const next = text.charCodeAt(i) === 0x2c ? i : -1;
    if (edit < 0) {
      kept = true;
    } else {
      met[edit] = true;
      const { value } = edits[edit]!;
      if (value !== null) {
        cuts.push({ start: valueStart, end: lastEnd, by: value });
        kept = true;
      } else if (kept) {
        cuts.push({ start: comma, end: lastEnd, by: '' });
      } else {
        if (next >= 0) lastEnd = next + 1;
        cuts.push({ start, end: lastEnd, by: '' });
      }
    }
    if (next < 0) break;
    comma = next;
    i = skipSpace(text, next + 1);
  }
  let added = '';
  for (let n = 0; n < edits.length; n++) {
    const { key, value } = edits[n]!;
    if (met[n] || value === null || edits.some((other, at) => at > n && other.key === key)) continue;
    added += `${kept || added !== '' ? ',' : ''}${JSON.stringify(key)}:${value}`;
  }
  if (added !== '') cuts.push({ start: lastEnd, end: lastEnd, by: added });
  return cuts;
}

/**
 * Replaces, adds and takes out top-level members of a JSON object's text and leaves every other character as it
 * was: spacing, order, digits, unknown members. A key that occurs twice is replaced twice. The text must be valid.
 */
export function editJson(text: string, edits: readonly JsonEdit[]): string {
  if (edits.length === 0) return text;
  let out = '';
  let last = 0;
  for (const cut of findCuts(text, edits, readTextKey)) {
    out += text.slice(last, cut.start) + cut.by;
    last = cut.end;
  }
  return last === 0 ? text : out + text.slice(last);
}

/** The same for a text in UTF-8, which is neither decoded nor encoded on the way: what is not edited is copied. */
export function editJsonBytes(bytes: Buffer, edits: readonly JsonEdit[]): Buffer {
  if (edits.length === 0) return bytes;
  // One character a byte: whatever shapes a JSON text is ASCII, and so no byte of it occurs inside a longer character.
  const text = bytes.toString('latin1');
  const cuts = findCuts(text, edits, readByteKey);
  if (cuts.length === 0) return bytes;
  let length = bytes.length;
  for (const { start, end, by } of cuts) length += Buffer.byteLength(by) - (end - start);
  const out = Buffer.allocUnsafe(length);
  let at = 0;
  let last = 0;
  for (const { start, end, by } of cuts) {
    at += bytes.copy(out, at, last, start);
    at += out.write(by, at);
    last = end;
  }
  bytes.copy(out, at, last);
  return out;
}

/** The key that is written between quotes as `raw`: "mod\\u0065l" is the key `model` too. */
function readTextKey(raw: string): string {
  return raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw;
}

const notPlain = /[\\\u0080-\u00ff]/;

function readByteKey(raw: string): string {
  return notPlain.test(raw) ? readTextKey(Buffer.from(raw, 'latin1').toString('utf8')) : raw;
}
