import { randomBytes } from 'node:crypto';
import type { JsonObject } from '../core/exchange.js';
import { endOfString, skipSpace } from './json-text.js';

/** What parseJson gives. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | LosslessNumber
  | JsonValue[]
  | { [key: string]: JsonValue };

/**
 * Goes before the digits of a number while it travels through JSON.parse or JSON.stringify as a string.
 * It is secret to this process, so no text can contain one.
 */
const marker = randomBytes(16).toString('hex');
const marked = new RegExp(`"${marker}([-+.eE0-9]+)"`, 'g');

let writing = false;
let wrote = false;

/** A number that a double would change: its digits are kept as they were written. */
export class LosslessNumber {
  constructor(readonly value: string) {}

  valueOf(): number {
    return Number(this.value);
  }

  toString(): string {
    return this.value;
  }

  /** Digit for digit under stringifyJson, the nearest double under a plain JSON.stringify. */
  toJSON(): string | number {
    if (!writing) return Number(this.value);
    wrote = true;
    return marker + this.value;
  }
}

/**
 * Parses a JSON text without losing digits: JSON.parse, except that a number which a double cannot hold becomes a
 * LosslessNumber. Keys such as `__proto__` are own properties like any other, and of equal keys the last one counts.
 * `hasBigNumbers` false (from scanJson): the search for such numbers is not needed.
 */
export function parseJson(text: string, hasBigNumbers?: boolean): JsonValue {
  const found = hasBigNumbers === false ? null : findLossyNumbers(text);
  if (found === null) return JSON.parse(text) as JsonValue;
  let value: JsonValue;
  try {
    value = JSON.parse(markNumbers(text, found)) as JsonValue;
  } catch {
    // The same mistake again, with the positions of the text itself.
    return JSON.parse(text) as JsonValue;
  }
  return unmark(value);
}

/** Writes a value as JSON text; a LosslessNumber as it was read. */
export function stringifyJson(value: unknown): string {
  writing = true;
  wrote = false;
  try {
    const text = JSON.stringify(value) ?? 'null';
    return wrote ? text.replace(marked, '$1') : text;
  } finally {
    writing = false;
  }
}

/** Is it a JSON object (not an array, not a number kept as text)? */
export function isJsonObject(value: unknown): value is JsonObject {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof LosslessNumber)
  );
}

/** The nearest double of a JSON number; null for anything else. */
export function numberOf(value: unknown): number | null {
  if (typeof value === 'number') return value;
  return value instanceof LosslessNumber ? Number(value.value) : null;
}

/** Is it a JSON number without a fraction? `1.0` and `1e2` are; so is an integer beyond 2⁵³. */
export function isJsonInteger(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value);
  if (!(value instanceof LosslessNumber)) return false;
  const { digits, exponent } = decimal(value.value);
  return exponent >= 0 || digits === '';
}

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;

/** Start and end of each number that JSON.parse would change, flat; null where there is none. */
function findLossyNumbers(text: string): number[] | null {
  let found: number[] | null = null;
  const { length } = text;
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x22) {
      i = endOfString(text, i) - 1;
      continue;
    }
    if (code < 0x30 || code > 0x39) continue;
    let end = i + 1;
    let digits = 1;
    for (; end < length; end++) {
      const next = text.charCodeAt(end);
      if (next >= 0x30 && next <= 0x39) digits++;
      else if (next === 0x65 || next === 0x45) digits += 16;
      else if (next !== 0x2e && next !== 0x2b && next !== 0x2d) break;
    }
    if (digits >= 16) {
      const start = text.charCodeAt(i - 1) === 0x2d ? i - 1 : i;
      const number = text.slice(start, end);
      // A number where a key belongs must stay one, or marking it would make the text valid.
      if (jsonNumber.test(number) && !roundTrips(number) && text.charCodeAt(skipSpace(text, end)) !== 0x3a) {
        found ??= [];
        found.push(start, end);
      }
    }
    i = end - 1;
  }
  return found;
}

function markNumbers(text: string, found: readonly number[]): string {
  let out = '';
  let last = 0;
  for (let i = 0; i < found.length; i += 2) {
    const start = found[i]!;
    const end = found[i + 1]!;
    out += `${text.slice(last, start)}"${marker}${text.slice(start, end)}"`;
    last = end;
  }
  return out + text.slice(last);
}

type Container = JsonValue[] | { [key: string]: JsonValue };

/** Turns the marked strings of a parsed value into LosslessNumbers, in place. */
function unmark(value: JsonValue): JsonValue {
  if (typeof value === 'string') return unmarked(value);
  if (typeof value !== 'object' || value === null || value instanceof LosslessNumber) return value;
  const left: Container[] = [value];
  for (let container = left.pop(); container !== undefined; container = left.pop()) {
    const keys = Object.keys(container);
    const members = container as { [key: string]: JsonValue };
    for (const key of keys) {
      const member = members[key]!;
      if (typeof member === 'string') {
        if (member.startsWith(marker)) members[key] = unmarked(member);
      } else if (typeof member === 'object' && member !== null) {
        left.push(member as Container);
      }
    }
  }
  return value;
}

function unmarked(text: string): JsonValue {
  return text.startsWith(marker) ? new LosslessNumber(text.slice(marker.length)) : text;
}

/** Does the number survive being a double? By value: `1.50` does. */
function roundTrips(number: string): boolean {
  const double = Number(number);
  if (!Number.isFinite(double)) return false;
  const shortest = String(double);
  // As most programs write a double: an embedding is full of them.
  if (shortest === number) return true;
  const before = decimal(number);
  const after = decimal(shortest);
  return before.digits === after.digits && (before.digits === '' || before.exponent === after.exponent);
}

/** A number as significant digits without zeros at either end, times ten to `exponent`. Sign left out. */
function decimal(number: string): { digits: string; exponent: number } {
  const at = number.search(/[eE]/);
  const mantissa = (at < 0 ? number : number.slice(0, at)).replace('-', '');
  let exponent = at < 0 ? 0 : Number(number.slice(at + 1));
  const point = mantissa.indexOf('.');
  let digits = mantissa;
  if (point >= 0) {
    digits = mantissa.slice(0, point) + mantissa.slice(point + 1);
    exponent -= mantissa.length - point - 1;
  }
  let end = digits.length;
  while (end > 0 && digits.charCodeAt(end - 1) === 0x30) end--;
  exponent += digits.length - end;
  let start = 0;
  while (start < end && digits.charCodeAt(start) === 0x30) start++;
  return { digits: digits.slice(start, end), exponent };
}
