import type { LedgerBudgets } from '../../../../common/ledger/budgets.js';
import { builtInPrices } from '../../../../common/prices/prices.js';
import { priceOf } from '../../../../common/prices/pricing.js';
import type { Place, UsableProvider } from '../../../store/store.js';
import type { AdminParts } from '../../service.js';
import { BudgetStates } from '../../usage/budget-states.js';

/** Providers of a workspace that a catalogue is made of, the first by slug. */
const maxProviders = 1000;
/** Models of a workspace that a catalogue has. */
export const maxModels = 10_000;

/** A model that calls of the workspace can use now. */
export interface CatalogueModel {
  /** As calls name it: `@slug/model`. */
  readonly id: string;
  readonly name: string;
  /** Slug of the stored provider. */
  readonly provider: string;
  /** Name of the provider row whose API is called. */
  readonly aiService: string;
}

export type CatalogueParts = Pick<AdminParts, 'store' | 'budgets'>;

export interface CatalogueFilter {
  /** Slug of a stored provider, with or without its `@`. */
  readonly provider?: string | null | undefined;
  readonly aiService?: string | null | undefined;
}

/**
 * Models of the workspace's providers: those that their integrations name, and where other models may be called too,
 * those of the price table. The latter is a guess: no provider is called.
 */
export async function catalogue(
  { store, budgets }: CatalogueParts,
  place: Place,
  { provider, aiService }: CatalogueFilter = {},
): Promise<CatalogueModel[]> {
  const slug = provider ? { slug: provider.replace(/^@/, '') } : {};
  const models: CatalogueModel[] = [];
  const usable = await store.providers.usable(place, { ...slug, limit: maxProviders });
  for (const one of await affordable(budgets, place, usable)) {
    if (aiService && aiService !== one.provider) continue;
    for (const name of namesOf(one)) {
      if (models.length === maxModels) return models;
      models.push(modelOf(one, name));
    }
  }
  return models;
}

/** The model of this id; null: the workspace cannot call it, or no list has it. Dated names count as listed. */
export async function catalogueModel(
  { store, budgets }: CatalogueParts,
  place: Place,
  id: string,
): Promise<CatalogueModel | null> {
  const slash = id.indexOf('/');
  if (id[0] !== '@' || slash < 2) return null;
  const usable = await store.providers.usable(place, { slug: id.slice(1, slash), limit: 1 });
  const [one] = await affordable(budgets, place, usable);
  if (one === undefined) return null;
  const name = id.slice(slash + 1);
  const rule = one.models?.named.find(({ model }) => model === name);
  const isThere = rule?.enabled ?? ((one.models?.others ?? true) && priceOf(one.provider, name) !== null);
  return isThere ? modelOf(one, name) : null;
}

/** Those of which no budget is used up. */
async function affordable(
  ledger: LedgerBudgets,
  { organisationId }: Place,
  usable: readonly UsableProvider[],
): Promise<readonly UsableProvider[]> {
  const all = usable.flatMap(({ budgets }) => budgets);
  if (all.length === 0) return usable;
  const spent = new Set(await new BudgetStates(ledger).exhausted(organisationId, all, Date.now()));
  return usable.filter(({ budgets }) => !budgets.some((budget) => spent.has(budget)));
}

function namesOf({ provider, models }: UsableProvider): Iterable<string> {
  const names = new Set(models?.others === false ? [] : builtInPrices[provider]?.map(({ model }) => model));
  for (const { model, enabled } of models?.named ?? []) {
    if (enabled) names.add(model);
    else names.delete(model);
  }
  return names;
}

const modelOf = ({ slug, provider }: UsableProvider, name: string): CatalogueModel => ({
  id: `@${slug}/${name}`,
  name,
  provider: slug,
  aiService: provider,
});
