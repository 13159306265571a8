import type { AttemptCost, CostExplanation } from '../../../../../proto/messages.js';
import type { LedgerRow } from '../../../../common/ledger/record.js';
import { type ExplainedAttempt, explainCost, type PricesOf } from '../../../../common/prices/explain-cost.js';
import { rateUnits } from '../../../../common/prices/price.js';
import type { PriceBook } from '../../../../common/prices/pricing.js';
import { ProviderPrices } from '../../../../common/prices/provider-prices.js';
import { decimalDollars } from '../../../../common/vocabulary/money.js';
import type { Store } from '../../../store/store.js';

const maybeDollars = (picos: number | null): string | undefined =>
  picos === null ? undefined : decimalDollars(picos);

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The arithmetic of a row's cost, as the administration answers it. */
export function costExplanation(
  row: LedgerRow,
  pricing: Pick<PriceBook, 'quoteOf'>,
  pricesOf: PricesOf,
): CostExplanation {
  const { attempts, cost, matches, note } = explainCost(row, pricing, pricesOf);
  return {
    id: row.id,
    currency: 'USD',
    attempts: attempts.map(toMessage),
    cost: maybeDollars(cost),
    recorded_cost: maybeDollars(row.cost),
    matches,
    note,
  };
}

function toMessage({ attempt, model, quote, longInput, lines, cost }: ExplainedAttempt): AttemptCost {
  return {
    target: attempt.target,
    provider: attempt.provider,
    model,
    priced_as: quote?.model,
    tier: attempt.usage?.kinds?.tier,
    long_input: longInput,
    price_source: quote === null ? undefined : (quote.source ?? quote.setBy ?? 'settings'),
    price_set_by: quote?.setBy,
    integration: attempt.integration,
    price_read_on: quote?.readOn,
    price_since: quote?.since,
    lines: lines.map(({ rate, quantity, picos, cost: product }) => ({
      rate: snake(rate),
      unit: rateUnits[rate],
      quantity,
      unit_price: decimalDollars(picos),
      factor: quote?.factors?.[rate],
      cost: decimalDollars(product),
    })),
    cost: maybeDollars(cost),
    recorded_cost: maybeDollars(attempt.cost),
  };
}

/** The prices that integrations and the organisation set now, for each attempt of a row. */
export async function pricesOfRow(
  { integrations, modelPrices }: Pick<Store, 'integrations' | 'modelPrices'>,
  row: LedgerRow,
): Promise<PricesOf> {
  const found = new Map<string, ProviderPrices | null>();
  for (const { provider, slug, integration } of row.attempts) {
    const name = `${provider}\n${integration ?? ''}`;
    if (slug === null || found.has(name)) continue;
    const record =
      integration === null
        ? { organisation: await modelPrices.of(row.org, provider) }
        : await integrations.prices(row.org, integration);
    found.set(name, record === null ? null : new ProviderPrices(provider, record));
  }
  return ({ provider, slug, integration }) =>
    slug === null ? null : (found.get(`${provider}\n${integration ?? ''}`) ?? null);
}
