import type {
  IntegrationModel as IntegrationModelMessage,
  IntegrationModelUpdate,
} from '../../../../../proto/messages.js';
import type { Forget } from '../../../../common/ipc/messages.js';
import { builtInPrices } from '../../../../common/prices/prices.js';
import type { Integration, IntegrationModel } from '../../../store/store.js';
import { speaksForAll } from '../../access/host-trust.js';
import { AdminError } from '../../admin-error.js';
import type { AdminParts, Service } from '../../service.js';
import { checkPrices } from '../models/price-amounts.js';
import type { Find } from './integration-finder.js';

type Methods = Pick<
  Service<'Integrations'>,
  'ListIntegrationModels' | 'UpdateIntegrationModels' | 'DeleteIntegrationModels'
>;

const toMessage = (model: IntegrationModel): IntegrationModelMessage => ({
  slug: model.slug,
  name: model.slug,
  enabled: model.enabled,
  is_custom: model.isCustom,
  is_finetune: model.isFinetune,
  base_model_slug: model.baseModelSlug,
  pricing_config: model.pricingConfig as IntegrationModelMessage['pricing_config'],
  configurations: model.customHost === null ? null : { custom_host: model.customHost },
});

/** Models of the catalogue without an entry, and those with one. */
function allModels(integration: Integration, named: readonly IntegrationModel[]): IntegrationModel[] {
  const known = new Set(named.map(({ slug }) => slug));
  const catalogue = new Set(builtInPrices[integration.provider]?.map(({ model }) => model));
  const rest = [...catalogue]
    .filter((model) => !known.has(model))
    .map((model) => ({
      slug: model,
      enabled: integration.allowAllModels,
      isCustom: false,
      isFinetune: false,
      baseModelSlug: null,
      customHost: null,
      pricingConfig: null,
    }));
  return [...named, ...rest].sort((a, b) => (a.slug < b.slug ? -1 : 1));
}

/** A model after an update. What the update does not give stays. */
function changed(
  update: IntegrationModelUpdate,
  path: string,
  before: IntegrationModel | undefined,
): IntegrationModel {
  const isFinetune = update.is_finetune ?? before?.isFinetune ?? false;
  const baseModelSlug = update.base_model_slug || before?.baseModelSlug || null;
  if (isFinetune && baseModelSlug === null)
    throw AdminError.field(`${path}.base_model_slug`, 'is required for a fine-tuned model.');
  const host = update.configurations?.custom_host;
  checkPrices(update.pricing_config?.pay_as_you_go, `${path}.pricing_config.pay_as_you_go`);
  return {
    slug: update.slug,
    enabled: update.enabled === true,
    isCustom: update.is_custom ?? before?.isCustom ?? isFinetune,
    isFinetune,
    baseModelSlug,
    customHost: update.configurations ? host?.replace(/\/+$/, '') || null : (before?.customHost ?? null),
    pricingConfig: update.pricing_config ?? before?.pricingConfig ?? null,
  };
}

/** Models of an integration. */
export function integrationModels(
  { store }: AdminParts,
  find: Find,
  forgets: (integration: Integration) => Promise<Forget[]>,
): Methods {
  return {
    async ListIntegrationModels(caller, request) {
      const integration = await find(caller, request, 'read');
      const { organisationId, id, allowAllModels } = integration;
      const models = allModels(integration, await store.integrations.models(organisationId, id));
      return { total: models.length, allow_all_models: allowAllModels, models: models.map(toMessage) };
    },

    async UpdateIntegrationModels(caller, request) {
      const integration = await find(caller, request, 'update');
      const { organisationId, id } = integration;
      const before = await store.integrations.models(organisationId, id);
      const models = request.models.map((update, i) => {
        const path = `models[${i}]`;
        // The integration's credential would go there.
        if (update.configurations?.custom_host && !speaksForAll(caller))
          throw new AdminError(
            'AB03',
            `${path}.configurations.custom_host: a key of the organisation sets it.`,
          );
        if (request.models.findIndex(({ slug }) => slug === update.slug) < i)
          throw AdminError.field(`${path}.slug`, `is ${update.slug} a second time: name each model once.`);
        return changed(
          update,
          path,
          before.find(({ slug }) => slug === update.slug),
        );
      });
      await store.integrations.putModels(organisationId, id, models);
      const allowAllModels = request.allow_all_models ?? undefined;
      await store.integrations.update(organisationId, id, { allowAllModels });
      caller.changed(integration, await forgets(integration));
      return {};
    },

    async DeleteIntegrationModels(caller, request) {
      const integration = await find(caller, request, 'update');
      const { organisationId, id } = integration;
      const models = await store.integrations.models(organisationId, id);
      for (const [i, slug] of request.slugs.entries()) {
        const model = models.find((one) => one.slug === slug);
        if (model === undefined) throw new AdminError('AB02', `slugs[${i}]: there is no such model.`);
        if (!model.isCustom)
          throw AdminError.field(`slugs[${i}]`, "is the catalogue's: turn it off instead of deleting it.");
      }
      await store.integrations.deleteModels(organisationId, id, request.slugs);
      await store.integrations.update(organisationId, id, {});
      caller.changed(integration, await forgets(integration));
      return {};
    },
  };
}
