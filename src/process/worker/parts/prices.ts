import { createPricing, type PriceBook } from '../../../common/prices/pricing.js';
import type { ProcessPart } from '../../part-list.js';
import type { WorkerBase } from './base.js';

export interface PricesGiven {
  readonly pricing: PriceBook;
}

/** What models cost: an operator's own prices before the built-in ones. */
export const pricesPart: ProcessPart<WorkerBase, PricesGiven> = {
  name: 'prices',
  start: ({ init }) => ({ pricing: createPricing({ prices: init.prices }) }),
};
