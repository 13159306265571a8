import type { Shared } from '../../../common/ipc/shared.js';
import { createPricing, type OwnPrices, type PriceBook } from '../../../common/prices/pricing.js';
import type { ProcessPart } from '../../part-list.js';
import type { WorkerBase } from './base.js';

export interface WorkerPrices {
  readonly pricing: PriceBook;
}

/** What models cost: an operator's own prices before the built-in ones. They follow those of the control process. */
export const pricesPart: ProcessPart<WorkerBase, WorkerPrices> = {
  name: 'prices',
  start({ init, shared, log }) {
    const pricing = createPricing({ prices: init.prices });
    let has = init.pricesRevision;
    let asking: Promise<void> | null = null;
    const ask = (): void => {
      asking ??= latest(shared, has)
        .then(
          (found) => {
            if (found === null) return;
            has = found.revision;
            pricing.replace(found.prices);
          },
          (error: unknown) => log.error({ err: error }, 'changed prices could not be asked for'),
        )
        .finally(() => {
          asking = null;
        });
    };
    shared.on('prices', ({ revision }) => {
      if (asking === null) ask();
      else asking.then(() => has < revision && ask());
    });
    // They may have changed while this worker started.
    ask();
    return { pricing };
  },
};

/** The prices of the control process, piece by piece, so that no message blocks requests; null: they are those of `has`. */
async function latest(
  shared: Shared,
  has: number,
): Promise<{ readonly revision: number; readonly prices: OwnPrices } | null> {
  const prices: Record<string, Record<string, OwnPrices[string][string]>> = Object.create(null);
  let revision = -1;
  for (let piece = 0; ; piece++) {
    const answer = await shared.ask('prices', { has, revision, piece });
    if (answer === null) return null;
    if (answer.revision !== revision) for (const provider of Object.keys(prices)) delete prices[provider];
    ({ revision, piece } = answer);
    for (const [provider, models] of Object.entries(answer.prices)) {
      prices[provider] ??= Object.create(null);
      Object.assign(prices[provider]!, models);
    }
    if (piece + 1 >= answer.count) return { revision, prices };
  }
}
