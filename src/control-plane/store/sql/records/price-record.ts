import { changesPrices, type Multiplier } from '../../../../common/prices/api-units.js';
import type { PricesRecord } from '../../../../common/prices/provider-prices.js';
import { type IntegrationRow, type ModelRow, valueOrNull } from './integration-row.js';

/** The prices that an integration sets; null: none. `models`: its models. */
export function pricesOf(lender: IntegrationRow, models: readonly ModelRow[]): PricesRecord | null {
  const adjustments = valueOrNull<{ multiplier?: Multiplier | null }>(lender.pricing_adjustments);
  const multiplier = adjustments?.multiplier ?? null;
  const priced = models.filter((row) => row.pricing_config !== null || row.base_model_slug !== null);
  if (priced.length === 0 && !changesPrices(multiplier)) return null;
  return {
    ...(changesPrices(multiplier) && { multiplier }),
    ...(priced.length > 0 && {
      models: priced.map(({ slug, base_model_slug: base, pricing_config }) => ({
        model: slug,
        base,
        config: valueOrNull(pricing_config),
      })),
    }),
  };
}
