import type { SharedAnswer, SharedQuestion } from '../../common/ipc/shared.js';
import { createPricing, type OwnPrices, type PriceBook } from '../../common/prices/pricing.js';
import { priceFileOf, priceFileState, pricesWithFileAside } from '../../common/settings/price-file.js';
import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';
import type { WorkerProcesses } from './worker-processes.js';

export interface PricesGiven {
  readonly prices: LivePrices;
}

/** How often the file of prices is looked at. Milliseconds. */
const lookMs = 1000;
/** Models in one answer to a data worker: what it reads of them takes about a millisecond. */
const modelsInPiece = 250;

/** The prices that a node counts with: those of the settings and of `prices.json`, which is read again when it changes. */
export class LivePrices {
  /** Grows with every change. */
  revision = 0;
  readonly book: PriceBook;
  #pieces: readonly OwnPrices[] | null = null;

  constructor(public own: OwnPrices) {
    this.book = createPricing({ prices: own });
  }

  replace(own: OwnPrices): void {
    this.own = own;
    this.revision++;
    this.#pieces = null;
    this.book.replace(own);
  }

  /** A piece of the prices for a data worker; null: it has them all. */
  answer({ has, revision, piece }: SharedQuestion<'prices'>): SharedAnswer<'prices'> {
    if (has === this.revision) return null;
    this.#pieces ??= piecesOf(this.own);
    // They changed while they were asked for piece by piece: from the beginning.
    const at = revision === this.revision ? piece : 0;
    return {
      revision: this.revision,
      piece: at,
      count: this.#pieces.length,
      prices: this.#pieces[at] ?? {},
    };
  }
}

function piecesOf(own: OwnPrices): OwnPrices[] {
  const pieces: OwnPrices[] = [];
  let models = modelsInPiece;
  let open: Record<string, Record<string, OwnPrices[string][string]>> = {};
  for (const [provider, listed] of Object.entries(own)) {
    for (const [model, prices] of Object.entries(listed)) {
      if (models++ >= modelsInPiece) {
        models = 1;
        open = Object.create(null);
        pieces.push(open);
      }
      open[provider] ??= Object.create(null);
      open[provider]![model] = prices;
    }
  }
  return pieces;
}

/** Reads `prices.json` again when it has changed, and lets the data workers know. A file that cannot be used changes nothing. */
export const pricesPart: ProcessPart<
  Base & WorkerProcesses,
  PricesGiven & { readonly stopLooking: () => void }
> = {
  name: 'prices',
  start({ settings, ownPrices, workers, log }) {
    const prices = new LivePrices(ownPrices.prices);
    workers.shared.answer('prices', (question) => prices.answer(question));
    const file = priceFileOf(settings.dataDir);
    let state = ownPrices.fileState;
    let problem: string | null = null;
    let isLooking = false;
    const look = async (): Promise<void> => {
      let found: string | null;
      try {
        found = priceFileState(settings.dataDir);
        if (found === state) return;
        state = found;
        prices.replace(await pricesWithFileAside(settings.dataDir, settings.prices));
      } catch (error) {
        if (problem === (error as Error).message) return;
        problem = (error as Error).message;
        log.error(
          { file, reason: problem },
          'prices.json cannot be used: calls go on being counted with the prices before it',
        );
        return;
      }
      problem = null;
      workers.shared.broadcast('prices', { revision: prices.revision });
      log.info(
        { file, removed: found === null },
        'prices.json has changed: calls are counted with it from now on',
      );
    };
    const timer = setInterval(() => {
      // A long file is still being read.
      if (isLooking) return;
      isLooking = true;
      void look().finally(() => {
        isLooking = false;
      });
    }, lookMs);
    timer.unref();
    return { prices, stopLooking: () => clearInterval(timer) };
  },
  stop: ({ stopLooking }) => stopLooking(),
};
