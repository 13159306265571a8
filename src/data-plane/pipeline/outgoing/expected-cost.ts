import type { Directory, StoredProvider } from '../../../common/core/directory.js';
import type { Exchange } from '../../../common/core/exchange.js';
import type { Target } from '../../../common/core/target.js';
import { estimateOf, type Price, type PriceBook } from '../../../common/prices/pricing.js';
import { splitModel } from './address.js';
import { maxTokens } from './max-tokens.js';

/** Average for JSON bodies: an estimate for comparisons, never for billing. */
const bytesPerToken = 4;
/** Tokens of an answer without a limit in its request and without earlier answers of its kind. */
const defaultOutput = 500;

/** The price of a target for a workspace and a requested model. */
interface KnownPrice {
  readonly workspaceId: string | null;
  readonly modelAsked: string | null;
  readonly providersVersion: number;
  readonly pricesVersion: number;
  /** null: the price table has none. */
  readonly price: Price | null;
}

interface Parts {
  readonly directory: Pick<Directory, 'provider' | 'providersVersion'>;
  readonly pricing: Pick<PriceBook, 'quoteOf' | 'version'>;
}

/** Expected costs of requests at a config's targets; fast, since a strategy compares up to twenty for one request. */
export class ExpectedCosts {
  /** For the latest caller of each target: finding a price takes longer than everything else. */
  readonly #prices = new WeakMap<Target, KnownPrice>();

  constructor(readonly parts: Parts) {}

  /** In picodollars; null: the price, or the target's provider, is not known yet. */
  of(x: Exchange, target: Target, outputTokens: number | null): number | null {
    const price = this.#price(x, target);
    if (price === null) return null;
    const most = Math.max(0, maxTokens(x, target) ?? Number.POSITIVE_INFINITY);
    const input = Math.ceil((x.request.bytes?.length ?? 0) / bytesPerToken);
    return estimateOf(price, input, Math.ceil(Math.min(outputTokens ?? defaultOutput, most)));
  }

  #price(x: Exchange, target: Target): Price | null {
    const { workspaceId } = x.principal;
    const { modelAsked } = x;
    const { directory, pricing } = this.parts;
    const { providersVersion } = directory;
    const { version: pricesVersion } = pricing;
    const known = this.#prices.get(target);
    if (
      known !== undefined &&
      known.providersVersion === providersVersion &&
      known.pricesVersion === pricesVersion &&
      known.workspaceId === workspaceId &&
      known.modelAsked === modelAsked
    )
      return known.price;
    const override = target.overrideParams?.['model'];
    const named = splitModel(typeof override === 'string' ? override : modelAsked);
    const provider = providerOf(directory, x, target, named.provider);
    if (provider === null || named.model === null) return null;
    const quote =
      typeof provider === 'string'
        ? pricing.quoteOf(provider, named.model)
        : provider.prices === undefined
          ? pricing.quoteOf(provider.provider, named.model)
          : provider.prices.quoteOf(pricing, null, named.model);
    const price = quote?.price ?? null;
    // Names come from clients, at any length.
    if (modelAsked === null || modelAsked.length <= maxModel)
      this.#prices.set(target, { workspaceId, modelAsked, providersVersion, pricesVersion, price });
    return price;
  }
}

/** Characters of the longest name of a model that is kept beside a target. */
const maxModel = 256;

/** Name of the provider row, or the stored provider. A stored provider that is not in memory is looked up, for the next time. */
function providerOf(
  directory: Parts['directory'],
  x: Exchange,
  target: Target,
  inModel: string | null,
): string | StoredProvider | null {
  const chosen = target.virtualKey ?? target.provider ?? inModel;
  if (chosen === null) return null;
  const at = chosen.charCodeAt(0) === 64; /* @ */
  if (target.virtualKey === null && !at) return chosen;
  const workspace = x.principal.workspaceId;
  if (workspace === null) return null;
  const found = directory.provider(workspace, at ? chosen.slice(1) : chosen);
  if (!(found instanceof Promise)) return found;
  // An error will be reported when the target is called.
  found.catch(() => {});
  return null;
}
