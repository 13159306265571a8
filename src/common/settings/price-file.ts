import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { lazyAjv } from '../json/ajv.js';
import type { DatedPrice, OwnPrices } from '../prices/pricing.js';
import { checkRates } from '../prices/pricing.js';
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
const schema = {
  type: 'array',
  maxItems: 100_000,
  items: priceSchema({ provider: name, model: name, since: text, source: text, read_on: text }, [
    'provider',
    'model',
  ]),
};
const ajv = lazyAjv({ allErrors: false });

/** Throws an Error that names the first row that cannot be used, and what is wrong with it. */
export function parsePrices(json: string): FiledPrice[] {
  if (Buffer.byteLength(json) > maxBytes) throw new Error(`is longer than ${maxBytes} bytes`);
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new Error('is no JSON; headgate prices list --json prints the form');
  }
  const validate = ajv().compile(schema);
  if (!validate(value)) {
    const { instancePath, message, params } = validate.errors![0]!;
    const at = instancePath.replace(/\/(\d+)/g, '[$1]').replaceAll('/', '.');
    const extra = (params as { additionalProperty?: string }).additionalProperty;
    throw new Error(
      `${at === '' ? 'the list' : `row ${at}`} ${message}${extra === undefined ? '' : `: ${extra}`}`,
    );
  }
  const rows = (value as object[]).map((row) => readPrice(row) as unknown as FiledPrice);
  checkRates(ownPricesOf(rows));
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
  let json: string;
  try {
    json = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return settings;
    throw new Error(`${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
  let rows: FiledPrice[];
  try {
    rows = parsePrices(json);
  } catch (error) {
    throw new Error(`${file}: ${(error as Error).message}.`);
  }
  const own: Record<string, OwnPrices[string]> = { ...ownPricesOf(rows) };
  for (const [provider, models] of Object.entries(settings)) own[provider] = { ...own[provider], ...models };
  return own;
}
