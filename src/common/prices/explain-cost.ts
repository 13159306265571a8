import type { AttemptRecord } from '../core/exchange.js';
import type { Usage } from '../core/usage.js';
import type { LedgerRow } from '../ledger/record.js';
import { atMost, type CostLine, costLines, costOfCall, priceFor } from './price.js';
import type { PriceBook, Quote } from './pricing.js';
import type { ProviderPrices } from './provider-prices.js';

/** null: not known. */
export const knownUsage = ({ usage }: Pick<AttemptRecord, 'usage'>): Usage | null =>
  usage === null || usage.source === 'none' ? null : usage;

/** Is anything to be paid for this attempt? It used something that is known, or it was answered. */
export const isCharged = (attempt: Pick<AttemptRecord, 'usage' | 'status' | 'error'>): boolean =>
  knownUsage(attempt) !== null || (attempt.error === null && attempt.status >= 200 && attempt.status < 300);

/** What an attempt cost, by the price of its day. */
export interface ExplainedAttempt {
  readonly attempt: AttemptRecord;
  /** The model that is billed: the one that answered, where the provider named it. */
  readonly model: string | null;
  /** null: no price is known. */
  readonly quote: Quote | null;
  readonly longInput: boolean;
  readonly lines: readonly CostLine[];
  /** Picodollars; null: there is no price, or nothing was used. */
  readonly cost: number | null;
}

export interface ExplainedCost {
  readonly attempts: readonly ExplainedAttempt[];
  /** Picodollars; null: nothing has a price. */
  readonly cost: number | null;
  readonly matches: boolean;
  /** Why it differs from the row's, or why there is none; null: nothing needs to be explained. */
  readonly note: string | null;
}

/** Prices that are set for the calls of an attempt; null: none. */
export type PricesOf = (attempt: AttemptRecord) => ProviderPrices | null;

/** The arithmetic of a row's cost, done again from what it used and from the prices of its day. */
export function explainCost(
  row: LedgerRow,
  pricing: Pick<PriceBook, 'quoteOf'>,
  pricesOf: PricesOf = () => null,
): ExplainedCost {
  const isHit = row.cache === 'HIT' || row.cache === 'SEMANTIC HIT';
  const { attempts: tried } = row;
  const of = tried.findLastIndex(({ target, usage }) => target === row.target && usage !== null);
  const answered = tried[of === -1 ? tried.length - 1 : of];
  const attempts = isHit
    ? []
    : tried.map((attempt) =>
        explained(attempt, attempt === answered ? row.modelUsed : null, row.at, pricing, pricesOf(attempt)),
      );
  const known = attempts.flatMap(({ cost }) => (cost === null ? [] : [cost]));
  const cost = isHit ? 0 : known.length === 0 ? null : known.reduce((sum, one) => atMost(sum + one), 0);
  const matches = cost === row.cost;
  return { attempts, cost, matches, note: noteOf(row, attempts, { isHit, matches }) };
}

/** `named`: the model in its answer, which rows have of the attempt that answered. */
function explained(
  attempt: AttemptRecord,
  named: string | null,
  at: number,
  pricing: Pick<PriceBook, 'quoteOf'>,
  prices: ProviderPrices | null,
): ExplainedAttempt {
  const { provider } = attempt;
  const usage = knownUsage(attempt);
  const model = named ?? attempt.model;
  const quote =
    model === null
      ? null
      : prices === null
        ? pricing.quoteOf(provider, model, at)
        : prices.quoteOf(pricing, named, attempt.model, at);
  if (quote === null || !isCharged(attempt))
    return { attempt, model, quote, longInput: false, lines: [], cost: null };
  const tier = usage?.kinds?.tier;
  const ofTier = (tier === undefined ? undefined : quote.price.tiers[tier]) ?? quote.price;
  const lines = costLines(usage, quote.price);
  return {
    attempt,
    model,
    quote,
    longInput: priceFor(quote.price, usage?.input ?? 0, tier) !== ofTier,
    lines,
    cost: costOfCall(usage, quote.price),
  };
}

function noteOf(
  row: LedgerRow,
  attempts: readonly ExplainedAttempt[],
  { isHit, matches }: { readonly isHit: boolean; readonly matches: boolean },
): string | null {
  if (isHit) return 'The answer came from the cache: no provider was paid.';
  if (row.state === 'unknown')
    return 'The outcome of this request was lost: its recorded cost is what was reserved for it.';
  const bySearches = attempts.find(
    ({ quote, cost, attempt }) => quote !== null && cost === null && attempt.usage?.kinds?.searches,
  );
  if (bySearches !== undefined)
    return `${bySearches.attempt.provider} billed searches, and ${bySearches.model} has no price for a request: set one in prices.`;
  const withoutPrice = attempts.find(({ quote, attempt }) => quote === null && attempt.usage !== null);
  if (withoutPrice !== undefined)
    return `No price is known for ${withoutPrice.attempt.provider}/${withoutPrice.model ?? 'an unnamed model'}: set one in prices.`;
  if (!matches)
    return 'The recorded cost was counted by other prices: they have changed since, or a version before this one counted it.';
  return row.usage.source === 'counted'
    ? 'The provider reported no usage: the gateway counted the tokens.'
    : null;
}
