import type { Model, ModelPricing, Price } from '../../proto/messages.js';
import { builtInPrices } from '../ledger/prices.js';
import { priceOf } from '../ledger/pricing.js';
import type { IntegrationModel, Place, Provider } from '../store/store.js';
import { AdminError } from './admin-error.js';
import type { AdminParts, Service } from './service.js';

/** Providers of a workspace that a catalogue is made of. */
const mostProviders = 1000;
/** A price in micro-dollars for a million tokens, as US cents for one. */
const centsOf = (micros: number): Price => ({ price: micros / 1e10 });

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

type Sort = 'name' | 'provider' | 'ai_service';

/** A model of a provider of the workspace, and what lists of them go by. */
interface Offered {
  readonly model: Model;
  readonly name: string;
  readonly provider: string;
  readonly ai_service: string;
}

/** What an integration says of the models of its providers. */
interface Choice {
  readonly others: boolean;
  readonly models: readonly IntegrationModel[];
}

/** A provider with a credential of its own offers what its API has. */
const everything: Choice = { others: true, models: [] };

function offeredBy({ slug, provider }: Provider, { others, models }: Choice): Offered[] {
  const names = new Set(others ? (builtInPrices[provider] ?? []).map(({ model }) => model) : []);
  for (const { slug: name, enabled } of models) {
    if (enabled) names.add(name);
    else names.delete(name);
  }
  return [...names].map((name) => ({
    model: { id: `@${slug}/${name}`, created: 0, object: 'model', owned_by: provider },
    name,
    provider: slug,
    ai_service: provider,
  }));
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const by =
  (sort: Sort, sign: number) =>
  (a: Offered, b: Offered): number =>
    sign * compare(a[sort], b[sort]) || compare(a.model.id, b.model.id);

/** Models that workspaces can call, and what they cost (spec/api.md §5.25). */
export function modelsService({ store }: AdminParts): Service<'Models'> {
  async function choiceOf({ organisationId }: Place, { integration }: Provider): Promise<Choice> {
    if (integration === null) return everything;
    const { id } = integration;
    const others = (await store.integrations.get(organisationId, id))?.allowAllModels ?? false;
    return { others, models: await store.integrations.models(organisationId, id) };
  }

  return {
    async ListModels(caller, request) {
      const place = await caller.place(request.workspace_id);
      const { rows } = await store.providers.list(place, { offset: 0, limit: mostProviders });
      const all: Offered[] = [];
      for (const one of rows) {
        if (request.ai_service && request.ai_service !== one.provider) continue;
        if (request.provider && request.provider.replace(/^@/, '') !== one.slug) continue;
        all.push(...offeredBy(one, await choiceOf(place, one)));
      }
      all.sort(by(request.sort || 'name', request.order === 'desc' ? -1 : 1));
      const offset = request.offset ?? 0;
      const limit = Math.min(request.limit || 50, 1000);
      const data = all.slice(offset, offset + limit).map(({ model }) => model);
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
          additional_units: {},
        },
        calculate,
        currency: 'USD',
      };
    },
  };
}
