import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import type { JsonObject } from '../core/exchange.js';
import { isJsonObject } from '../core/json.js';
import { answerText } from '../endpoints/read-body.js';

/** Rejects a body that does not decode, or becomes longer than `maxBytes`. */
type Decode = (bytes: Buffer, maxBytes: number) => Promise<Buffer>;

const decoders: ReadonlyMap<string, Decode> = new Map(
  (
    [
      ['gzip', promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip)],
      ['deflate', promisify<Buffer, { maxOutputLength: number }, Buffer>(inflate)],
      ['br', promisify<Buffer, { maxOutputLength: number }, Buffer>(brotliDecompress)],
    ] as const
  ).map(([coding, decode]) => [coding, (bytes, maxBytes) => decode(bytes, { maxOutputLength: maxBytes })]),
);

/** For a `content-encoding`; undefined: one that nobody asked for and nobody reads here. */
export const decoderOf = (coding: string): Decode | undefined => decoders.get(coding);

/** The JSON object that a body holds; null: it holds none. */
export function parseObject(bytes: Buffer, parse: (text: string) => unknown): JsonObject | null {
  try {
    const value = parse(answerText(bytes));
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}
