import type { SettingKind } from './settings-kinds.js';

/** Dollars for a million tokens. `cached`, `cacheWrite`: what `input` costs where they are absent. */
export interface PriceSetting {
  readonly input: number;
  readonly output: number;
  readonly cached?: number;
  readonly cacheWrite?: number;
  /** What a whole request costs once its input exceeds so many tokens. */
  readonly above?: { readonly tokens: number } & Omit<PriceSetting, 'above'>;
}

/** By provider, and by the exact name of a model. */
export type PriceSettings = Readonly<Record<string, Readonly<Record<string, PriceSetting>>>>;

interface Written extends Omit<PriceSetting, 'cacheWrite' | 'above'> {
  readonly cache_write?: number;
  readonly above?: { readonly tokens: number } & Written;
}

const dollars = { type: 'number', minimum: 0, maximum: 1_000_000 };
const parts = { input: dollars, output: dollars, cached: dollars, cache_write: dollars };
const price = (more: Readonly<Record<string, unknown>>, required: readonly string[]) => ({
  type: 'object',
  additionalProperties: false,
  required,
  properties: { ...parts, ...more },
});
const tokens = { type: 'integer', minimum: 1, maximum: 1_000_000_000 };
const row = price({ above: price({ tokens }, ['tokens', 'input', 'output']) }, ['input', 'output']);

/** Prices of an operator's own: a YAML mapping; as text the same mapping in JSON. */
export const prices: SettingKind<PriceSettings> = {
  type: 'mapping',
  schema: { type: 'object', additionalProperties: { type: 'object', additionalProperties: row } },
  fromText(line) {
    try {
      return JSON.parse(line) as unknown;
    } catch {
      return line;
    }
  },
  make: (checked) =>
    mapped(checked as Record<string, Record<string, Written>>, (models) => mapped(models, priceOf)),
};

function mapped<From, To>(of: Readonly<Record<string, From>>, to: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(of).map(([name, value]) => [name, to(value)]));
}

function priceOf({ cache_write: cacheWrite, above, ...rest }: Written): PriceSetting {
  return {
    ...rest,
    ...(cacheWrite === undefined ? {} : { cacheWrite }),
    ...(above === undefined ? {} : { above: { ...priceOf(above), tokens: above.tokens } }),
  };
}
