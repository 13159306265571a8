import type { ModelPricing, Price } from '../../../../../proto/messages.js';
import type { RateName, Price as Rates } from '../../../../common/prices/price.js';
import { priceOf } from '../../../../common/prices/pricing.js';
import { AdminError } from '../../admin-error.js';
import type { AdminParts, Service } from '../../service.js';
import { catalogue } from './model-catalogue.js';
import { isOrder, isSort, openAiModel, sorted } from './model-lists.js';

/** A price in picodollars, as US cents. */
const centsOf = (picos: number): Price => ({ price: picos / 1e10 });

const times = (...operands: readonly string[]) => ({
  operation: 'multiply',
  operands: operands.map((value) => ({ value })),
});

/** How the ledger counts: what is read from a cache or written to one has its own price. */
const calculate = {
  request: {
    operation: 'sum',
    operands: [
      times('input_tokens', 'rates.request_token'),
      times('cache_read_tokens', 'rates.cache_read_input_token'),
      times('cache_write_tokens', 'rates.cache_write_input_token'),
    ],
  },
  response: times('output_tokens', 'rates.response_token'),
};

/** Names of the units that few models have; one that costs what text does, or nothing, is left out. */
const unitNames: readonly (readonly [RateName, string, RateName | null])[] = [
  ['reasoning', 'thinking_token', 'output'],
  ['cacheWriteHour', 'cache_write_1h_input_token', 'cacheWrite'],
  ['imageInput', 'input_image', 'input'],
  ['imageCached', 'cache_read_image_input_token', 'cached'],
  ['imageOutput', 'response_image_token', 'output'],
  ['character', 'character', null],
  ['second', 'second', null],
  ['request', 'request', null],
];

/** Absent where sound costs what text does, or there is none. */
const soundOf = (price: Rates) => ({
  ...(price.audioInput !== price.input && {
    request_audio_token: centsOf(price.audioInput),
    cache_read_audio_input_token: centsOf(price.audioCached),
  }),
  ...(price.audioOutput !== price.output && { response_audio_token: centsOf(price.audioOutput) }),
});

const additionalUnits = (price: Rates): Record<string, Price> =>
  Object.fromEntries(
    unitNames
      .filter(([name, , usual]) => price[name] !== (usual === null ? 0 : price[usual]))
      .map(([name, unit]) => [unit, centsOf(price[name])]),
  );

/** Models that workspaces can call, and what they cost. */
export function modelsService(parts: AdminParts): Service<'Models'> {
  return {
    async ListModels(caller, request) {
      const place = await caller.place(request.workspace_id);
      const { ai_service: aiService, provider, sort, order } = request;
      const all = await catalogue(parts, place, { aiService, provider });
      sorted(all, isSort(sort) ? sort : 'name', isOrder(order) ? order : 'asc');
      const offset = request.offset ?? 0;
      const limit = Math.min(request.limit || 50, 1000);
      const data = all.slice(offset, offset + limit).map(openAiModel);
      return { object: 'list', total: all.length, data };
    },

    async GetModelPricing(_caller, { provider, model }): Promise<ModelPricing> {
      const price = priceOf(provider, model);
      if (price === null) throw new AdminError('AB08', 'No price of this model is known.');
      return {
        pay_as_you_go: {
          request_token: centsOf(price.input),
          response_token: centsOf(price.output),
          cache_write_input_token: centsOf(price.cacheWrite),
          cache_read_input_token: centsOf(price.cached),
          ...soundOf(price),
          additional_units: additionalUnits(price),
        },
        calculate,
        currency: 'USD',
      };
    },
  };
}
