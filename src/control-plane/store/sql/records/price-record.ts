import { changesPrices, type Multiplier } from '../../../../common/prices/api-units.js';
import type { OrganisationPrice, PricesRecord } from '../../../../common/prices/provider-prices.js';
import { type IntegrationRow, type ModelRow, valueOrNull } from './integration-row.js';

/** The prices of an organisation, and of an integration and its models; null: none. `lender` null: there is no integration. */
export function pricesOf(
  organisation: readonly OrganisationPrice[],
  lender: Pick<IntegrationRow, 'pricing_adjustments'> | null,
  models: readonly Pick<ModelRow, 'slug' | 'base_model_slug' | 'pricing_config'>[],
): PricesRecord | null {
  const adjustments = valueOrNull<{ multiplier?: Multiplier | null }>(lender?.pricing_adjustments ?? null);
  const multiplier = adjustments?.multiplier ?? null;
  const priced = models.filter((row) => row.pricing_config !== null || row.base_model_slug !== null);
  if (priced.length === 0 && organisation.length === 0 && !changesPrices(multiplier)) return null;
  return {
    ...(organisation.length > 0 && { organisation }),
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
