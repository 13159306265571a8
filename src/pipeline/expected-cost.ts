import type { Directory } from '../core/directory.js';
import type { Exchange } from '../core/exchange.js';
import type { Target } from '../core/target.js';
import { splitModel } from './address.js';
import { maxTokens } from './max-tokens.js';
import type { Pricing } from './parts.js';

/** Of a JSON body, on the whole: an estimate for comparing, never one to bill by. */
const bytesPerToken = 4;
/** The answer of a request that sets itself no limit, of a kind that was not seen before. */
const defaultOutput = 500;

/** What a request would cost at a target in micro-dollars; null where that is not known (yet). */
export function expectedCost(
  { directory, pricing }: { readonly directory: Directory; readonly pricing: Pricing },
  x: Exchange,
  target: Target,
  outputTokens: number | null,
): number | null {
  const override = target.overrideParams?.['model'];
  const named = splitModel(typeof override === 'string' ? override : x.modelAsked);
  const provider = providerOf(directory, x, target, named.provider);
  if (provider === null || named.model === null) return null;
  const most = maxTokens(x, target) ?? Number.POSITIVE_INFINITY;
  return pricing.cost(provider, named.model, {
    input: Math.ceil((x.request.bytes?.length ?? 0) / bytesPerToken),
    output: Math.ceil(Math.min(outputTokens ?? defaultOutput, Math.max(0, most))),
    cached: 0,
    cacheWrite: 0,
    reasoning: 0,
    source: 'none',
  });
}

/** Name of the provider row. A stored one that this worker has not met yet is asked for, and known the next time. */
function providerOf(
  directory: Directory,
  x: Exchange,
  target: Target,
  inModel: string | null,
): string | null {
  const chosen = target.virtualKey ?? target.provider ?? inModel;
  if (chosen === null) return null;
  const at = chosen.charCodeAt(0) === 64; /* @ */
  if (target.virtualKey === null && !at) return chosen;
  const workspace = x.principal.workspaceId;
  if (workspace === null) return null;
  const found = directory.provider(workspace, at ? chosen.slice(1) : chosen);
  if (!(found instanceof Promise)) return found?.provider ?? null;
  // Whatever is wrong with it shows when it is asked.
  found.catch(() => {});
  return null;
}
