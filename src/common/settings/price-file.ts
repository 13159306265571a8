import { readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as pause } from 'node:timers/promises';
import { lazyAjv } from '../json/ajv.js';
import { scanJson } from '../json/json-scan.js';
import { hasRepeatedNames } from '../json/repeated-names.js';
import type { DatedPrice, OwnPrices } from '../prices/pricing.js';
import { checkRates } from '../prices/pricing.js';
import { reasonOf } from '../text/bounded-file.js';
import { priceSchema, readPrice, writePrice } from './settings-prices.js';

/** A price with all that is known of it, as files of prices have it. */
export interface FiledPrice extends DatedPrice {
  readonly provider: string;
  readonly model: string;
  /** Where it was read, and on which day. */
  readonly source?: string;
  readonly readOn?: string;
}

/** Prices that `headgate prices update` stored, in the data directory. */
export const priceFileOf = (dataDir: string): string => join(dataDir, 'prices.json');

/** Another text where the file is another, or has changed; null: there is none. */
export function priceFileState(dataDir: string): string | null {
  const stats = statSync(priceFileOf(dataDir), { throwIfNoEntry: false, bigint: true });
  return stats === undefined ? null : `${stats.ino} ${stats.size} ${stats.mtimeNs}`;
}

/** Files that are longer are refused. */
const maxBytes = 32 * 1024 * 1024;
const name = { type: 'string', minLength: 1, maxLength: 255 };
const text = { type: 'string', maxLength: 2000 };
const maxRows = 100_000;
const rowSchema = priceSchema({ provider: name, model: name, since: text, source: text, read_on: text }, [
  'provider',
  'model',
]);
const ajv = lazyAjv({ allErrors: false });
/** Rows that are read, or models that are checked, without a pause: a few milliseconds. */
const sliceOf = 500;
/** Of what is scanned for names that are there twice. */
const uncapped = { maxDepth: 64, maxTokens: Infinity, maxMembers: Infinity };

/** Throws an Error that names the first row that cannot be used, and what is wrong with it. */
export function parsePrices(json: string): FiledPrice[] {
  const parsing = slicesOf(json);
  for (;;) {
    const { done, value } = parsing.next();
    if (done === true) return value;
  }
}

/** The same with pauses, for a process that has other work. */
async function parsePricesAside(json: string): Promise<FiledPrice[]> {
  const parsing = slicesOf(json);
  for (;;) {
    const { done, value } = parsing.next();
    if (done === true) return value;
    await pause();
  }
}

function* slicesOf(json: string): Generator<void, FiledPrice[]> {
  if (Buffer.byteLength(json) > maxBytes) throw new Error(`is longer than ${maxBytes} bytes`);
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new Error('is no JSON; headgate prices list --json prints the form');
  }
  if (!Array.isArray(value)) throw new Error('the list must be array');
  // JSON.parse has kept the last one only.
  if (hasRepeatedNames(scanJson(Buffer.from(json), uncapped).tokens, value))
    throw new Error('has an object with the same name twice: remove one of the two');
  if (value.length > maxRows) throw new Error(`the list must NOT have more than ${maxRows} items`);
  const validate = ajv().compile(rowSchema);
  const rows: FiledPrice[] = [];
  for (const [i, row] of value.entries()) {
    if (!validate(row)) {
      const { instancePath, message, params } = validate.errors![0]!;
      const at = `/${i}${instancePath}`.replace(/\/(\d+)/g, '[$1]').replaceAll('/', '.');
      const extra = (params as { additionalProperty?: string }).additionalProperty;
      throw new Error(`row ${at} ${message}${extra === undefined ? '' : `: ${extra}`}`);
    }
    rows.push(readPrice(row as object) as unknown as FiledPrice);
    if (rows.length % sliceOf === 0) yield;
  }
  let checked = 0;
  for (const [provider, models] of Object.entries(ownPricesOf(rows))) {
    for (const model in models) {
      checkRates({ [provider]: { [model]: models[model]! } });
      if (++checked % sliceOf === 0) yield;
    }
  }
  return rows;
}

/** Rows as `parsePrices` reads them. */
export const printPrices = (rows: readonly FiledPrice[]): string =>
  `[\n${rows.map((row) => JSON.stringify(writePrice(row))).join(',\n')}\n]\n`;

/** By provider and model, as they are counted with. */
export function ownPricesOf(rows: readonly FiledPrice[]): OwnPrices {
  const own: Record<string, Record<string, DatedPrice[]>> = Object.create(null);
  for (const { provider, model, ...price } of rows) {
    own[provider] ??= Object.create(null) as Record<string, DatedPrice[]>;
    own[provider]![model] ??= [];
    own[provider]![model]!.push(price);
  }
  return own;
}

/** Those of the data directory, and before them those of the settings. Throws an Error where the file cannot be used. */
export function pricesWithFile(dataDir: string, settings: OwnPrices): OwnPrices {
  const file = priceFileOf(dataDir);
  try {
    const json = readWhereThere(file);
    return json === null ? settings : merged(parsePrices(json), settings);
  } catch (error) {
    throw named(file, error as Error);
  }
}

/** The same with pauses, for a process that has other work. */
export async function pricesWithFileAside(dataDir: string, settings: OwnPrices): Promise<OwnPrices> {
  const file = priceFileOf(dataDir);
  try {
    const json = await readFile(file, 'utf8').catch(nullWhereMissing);
    return json === null ? settings : merged(await parsePricesAside(json), settings);
  } catch (error) {
    throw named(file, error as Error);
  }
}

function readWhereThere(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    return nullWhereMissing(error);
  }
}

function nullWhereMissing(error: unknown): null {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
  throw error;
}

function named(file: string, error: NodeJS.ErrnoException): Error {
  const isUnread = error.syscall !== undefined;
  return new Error(isUnread ? `${file} cannot be read: ${reasonOf(error)}.` : `${file}: ${error.message}.`);
}

function merged(rows: readonly FiledPrice[], settings: OwnPrices): OwnPrices {
  const own: Record<string, OwnPrices[string]> = { ...ownPricesOf(rows) };
  for (const [provider, models] of Object.entries(settings)) own[provider] = { ...own[provider], ...models };
  return own;
}
