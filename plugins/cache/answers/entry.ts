import type { JsonObject } from '../../../src/common/core/exchange.js';
import type { Usage } from '../../../src/common/core/usage.js';
import { isJsonObject } from '../../../src/common/json/json.js';

/** The forms of a stored answer: whole, as a stream, or as a stream that closes with its usage. */
export type Form = 'plain' | 'stream' | 'stream-usage';
const formNames: ReadonlySet<string> = new Set<Form>(['plain', 'stream', 'stream-usage']);

/** A whole answer of a provider, in the client's format. */
export interface Entry {
  /** Unix milliseconds. */
  readonly storedAt: number;
  /** Seconds. */
  readonly maxAge: number;
  /** Path of the target that gave it. */
  readonly target: string;
  readonly provider: string;
  readonly model: string | null;
  /** What its provider reported; null: nothing. */
  readonly usage: Usage | null;
  /** Picodollars; null: no price, or no count of its tokens, is known. */
  cost: number | null;
  /** Milliseconds that upstreams took for it. */
  readonly ms: number;
  readonly forms: Partial<Record<Form, Buffer>>;
}

/** The clocks of nodes that share a store may differ by this much. */
const clockSkewMs = 1000;

/**
 * Is it fresh enough for a call that began at `now` and accepts answers up to `maxAge` seconds old? One from the future
 * was stored while a clock was ahead: its age is unknown.
 */
export function isFresh(entry: Entry, maxAge: number, now: number): boolean {
  const ageMs = now - entry.storedAt;
  // A call may have begun before the answer that it waited for was stored.
  if (ageMs < 0 && entry.storedAt > Date.now() + clockSkewMs) return false;
  return ageMs < Math.min(entry.maxAge, maxAge) * 1000;
}

export function sizeOf(entry: Entry): number {
  let size = 2 * (entry.model?.length ?? 0);
  for (const form in entry.forms) size += entry.forms[form as Form]!.length;
  return size;
}

/** A copy: a slice of a socket's buffer would keep the whole buffer alive. */
export function ownBytes(parts: readonly Buffer[]): Buffer {
  let length = 0;
  for (const part of parts) length += part.length;
  const own = Buffer.allocUnsafeSlow(length);
  let at = 0;
  for (const part of parts) at += part.copy(own, at);
  return own;
}

/** As text, for the shared store. */
export function writeEntry(entry: Entry): string {
  const forms = Object.entries(entry.forms).map(([form, bytes]) => [form, bytes.toString('utf8')]);
  // Under another name than before, when `cost` was in micro-dollars, so that earlier versions do not misread it.
  const { cost, ...others } = entry;
  return JSON.stringify({ ...others, picos: cost, forms: Object.fromEntries(forms) });
}

/** null: it is not an entry of this version. */
export function readEntry(text: string): Entry | null {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isJsonObject(read) || !isWritten(read)) return null;
  const forms = Object.entries(read.forms).map(([form, bytes]) => [form, ownBytes([Buffer.from(bytes)])]);
  const { picos, ...entry } = read;
  return { ...entry, cost: picos, forms: Object.fromEntries(forms) };
}

type Written = Omit<Entry, 'cost' | 'forms'> & {
  readonly picos: number | null;
  readonly forms: Readonly<Record<Form, string>>;
};

function isWritten(read: JsonObject): read is JsonObject & Written {
  const { storedAt, maxAge, ms, target, provider, model, picos, usage, forms } = read;
  return (
    [storedAt, maxAge, ms].every(Number.isFinite) &&
    typeof target === 'string' &&
    typeof provider === 'string' &&
    (model === null || typeof model === 'string') &&
    (picos === null || Number.isFinite(picos)) &&
    (usage === null || isJsonObject(usage)) &&
    isJsonObject(forms) &&
    Object.entries(forms).every(([form, bytes]) => formNames.has(form) && typeof bytes === 'string')
  );
}
