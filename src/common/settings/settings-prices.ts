import type { DollarPrice, DollarRates } from '../prices/lists/price-list.js';
import type { OwnPrices } from '../prices/pricing.js';
import type { SettingKind } from './settings-kinds.js';

/** By provider, and by the exact name of a model. */
export type PriceSettings = OwnPrices;

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const camel = (name: string): string =>
  name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** Every rate, in the order in which the pages name them. */
const rates: Readonly<Record<keyof DollarRates, true>> = {
  input: true,
  output: true,
  cached: true,
  cacheWrite: true,
  cacheWriteHour: true,
  reasoning: true,
  audioInput: true,
  audioCached: true,
  audioOutput: true,
  imageInput: true,
  imageCached: true,
  imageOutput: true,
  request: true,
  second: true,
  character: true,
};

const dollars = { type: 'number', minimum: 0, maximum: 1_000_000 };
const parts = Object.fromEntries(Object.keys(rates).map((name) => [snake(name), dollars]));
const price = (more: Readonly<Record<string, unknown>>, required: readonly string[]) => ({
  type: 'object',
  additionalProperties: false,
  required,
  properties: { ...parts, ...more },
});
const tokens = { type: 'integer', minimum: 1, maximum: 1_000_000_000 };
/** Rates of its own, or a factor on the usual ones. */
const tier = {
  anyOf: [{ type: 'number', minimum: 0, maximum: 100 }, price({}, ['input', 'output'])],
};

/** A price as operators write it, in YAML and in files of prices. */
export const priceSchema = (more: Readonly<Record<string, unknown>> = {}, required: readonly string[] = []) =>
  price(
    {
      above: price({ tokens }, ['tokens', 'input', 'output']),
      tiers: {
        type: 'object',
        additionalProperties: false,
        properties: { batch: tier, flex: tier, priority: tier },
      },
      ...more,
    },
    ['input', 'output', ...required],
  );

/** Prices of an operator's own: a YAML mapping; as text the same mapping in JSON. */
export const prices: SettingKind<PriceSettings> = {
  type: 'mapping',
  schema: { type: 'object', additionalProperties: { type: 'object', additionalProperties: priceSchema() } },
  fromText(line) {
    try {
      return JSON.parse(line) as unknown;
    } catch {
      return line;
    }
  },
  make: (checked) =>
    Object.fromEntries(
      Object.entries(checked as Record<string, Record<string, object>>).map(([provider, models]) => [
        provider,
        Object.fromEntries(Object.entries(models).map(([model, written]) => [model, readPrice(written)])),
      ]),
    ),
};

/** As the program has it, from what was written: `cache_write` is `cacheWrite`. */
export const readPrice = (written: object): DollarPrice => renamed(written, camel) as unknown as DollarPrice;

/** The other way. */
export const writePrice = (given: object): Record<string, unknown> => renamed(given, snake);

function renamed(value: object, name: (name: string) => string): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [
      name(key),
      typeof part === 'object' && part !== null && !Array.isArray(part)
        ? renamed(part as object, name)
        : part,
    ]),
  );
}
