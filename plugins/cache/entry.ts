import type { JsonObject } from '../../src/core/exchange.js';
import { isJsonObject } from '../../src/core/json.js';
import type { Usage } from '../../src/core/usage.js';

/** How a stored answer can be told: whole, as a stream, or as a stream that closes with its usage. */
export type Form = 'plain' | 'stream' | 'stream-usage';
const formNames: ReadonlySet<string> = new Set<Form>(['plain', 'stream', 'stream-usage']);

/** A whole answer of a provider, as the client of its format reads it. */
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
  /** Micro-dollars; null where no price, or no count of its tokens, is known. */
  cost: number | null;
  /** Milliseconds that upstreams took for it. */
  readonly ms: number;
  readonly forms: Partial<Record<Form, Buffer>>;
}

/** Is it young enough for a call that takes answers up to `maxAge` seconds old? */
export function isFresh(entry: Entry, maxAge: number, now: number): boolean {
  return now - entry.storedAt < Math.min(entry.maxAge, maxAge) * 1000;
}

export function sizeOf(entry: Entry): number {
  let size = 0;
  for (const form in entry.forms) size += entry.forms[form as Form]!.length;
  return size;
}

/** A copy of its own: a slice of what a socket gave would keep all of that alive. */
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
  return JSON.stringify({ ...entry, forms: Object.fromEntries(forms) });
}

/** null: it is not the text of an entry, or not of one of this version. */
export function readEntry(text: string): Entry | null {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isJsonObject(read) || !isWritten(read)) return null;
  const forms = Object.entries(read.forms).map(([form, bytes]) => [form, ownBytes([Buffer.from(bytes)])]);
  return { ...read, forms: Object.fromEntries(forms) };
}

type Written = Omit<Entry, 'forms'> & { readonly forms: Readonly<Record<Form, string>> };

function isWritten(read: JsonObject): read is JsonObject & Written {
  const { storedAt, maxAge, ms, target, provider, model, cost, usage, forms } = read;
  return (
    [storedAt, maxAge, ms].every(Number.isFinite) &&
    typeof target === 'string' &&
    typeof provider === 'string' &&
    (model === null || typeof model === 'string') &&
    (cost === null || Number.isFinite(cost)) &&
    (usage === null || isJsonObject(usage)) &&
    isJsonObject(forms) &&
    Object.entries(forms).every(([form, bytes]) => formNames.has(form) && typeof bytes === 'string')
  );
}
