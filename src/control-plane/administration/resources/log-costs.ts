import type { AttemptCost, CostExplanation } from '../../../../proto/messages.js';
import type { LedgerRow } from '../../../common/ledger/record.js';
import { type ExplainedAttempt, explainCost } from '../../../common/prices/explain-cost.js';
import { rateUnits } from '../../../common/prices/price.js';
import type { PriceBook } from '../../../common/prices/pricing.js';
import { decimalDollars } from '../../../common/vocabulary/money.js';

const maybeDollars = (picos: number | null): string | undefined =>
  picos === null ? undefined : decimalDollars(picos);

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The arithmetic of a row's cost, as the administration answers it. */
export function costExplanation(row: LedgerRow, pricing: Pick<PriceBook, 'quoteOf'>): CostExplanation {
  const { attempts, cost, matches, note } = explainCost(row, pricing);
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
    price_source: quote === null ? undefined : (quote.source ?? 'settings'),
    price_read_on: quote?.readOn,
    price_since: quote?.since,
    lines: lines.map(({ rate, quantity, picos, cost: product }) => ({
      rate: snake(rate),
      unit: rateUnits[rate],
      quantity,
      unit_price: decimalDollars(picos),
      cost: decimalDollars(product),
    })),
    cost: maybeDollars(cost),
    recorded_cost: maybeDollars(attempt.cost),
  };
}
