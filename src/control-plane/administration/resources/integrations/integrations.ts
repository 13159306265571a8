import type { IntegrationDetail, Integration as IntegrationMessage } from '../../../../../proto/messages.js';
import type { Forget } from '../../../../common/ipc/messages.js';
import type { CredentialsChange, Integration, IntegrationUse, Place } from '../../../store/store.js';
import { speaksForAll } from '../../access/host-trust.js';
import { checkOwnIdentity } from '../../access/own-identity.js';
import { AdminError } from '../../admin-error.js';
import { changeOf } from '../../audit/mask.js';
import { changedCredentials, newCredentials, pathOf } from '../../credentials/integration-credentials.js';
import { mappedFields, secretMappingMessage } from '../../credentials/secret-mappings.js';
import { pageOf, stale, textOf, timeOf, timeOrNull } from '../../grpc/wire.js';
import type { AdminParts, Service } from '../../service.js';
import { forgetLentTo } from '../configs/plugins.js';
import { lentReset } from './integration-budgets.js';
import { integrationFinder, noIntegration, scopeOf } from './integration-finder.js';
import { limitsMessage } from './integration-limits.js';
import { integrationModels } from './integration-models.js';
import { integrationWorkspaces, isOpenTo, makeDefaultProvider } from './integration-workspaces.js';
import { checkAddress, providerNamed } from './provider-names.js';
import { forgetProvider } from './providers.js';

const toRow = (integration: Integration): IntegrationMessage => ({
  id: integration.id,
  organisation_id: integration.organisationId,
  ai_provider_id: integration.provider,
  name: integration.name,
  status: integration.status,
  created_at: timeOf(integration.createdAt),
  last_updated_at: timeOf(integration.updatedAt),
  slug: integration.slug,
  description: integration.description,
  object: 'integration',
  workspace_id: integration.workspaceId,
  etag: integration.etag,
});

/** Configurations that a request leaves as they were are not looked at. */
function checkStoredAddress(
  parts: AdminParts,
  provider: string,
  { configurations, secretMappings = [] }: CredentialsChange,
): void {
  if (configurations === undefined) return;
  const mapped = mappedFields(secretMappings, 'configurations').has('custom_host');
  const stored = configurations.shown['custom_host'] !== undefined;
  checkAddress(parts, provider, pathOf('custom_host'), stored || mapped);
}

const isUses = (result: Integration | readonly IntegrationUse[]): result is readonly IntegrationUse[] =>
  Array.isArray(result);

function stillUsed(slug: string, uses: readonly IntegrationUse[]): AdminError {
  const named = uses.map((use) => `provider ${use.slug} of workspace ${use.workspace}`).join(', ');
  const which = uses.length === 1 ? 'it' : 'them';
  return new AdminError('AB07', `slug: ${slug} is still used by ${named}: delete ${which} first.`);
}

/** Integrations. */
export function integrationsService(parts: AdminParts): Service<'Integrations'> {
  const { store } = parts;

  const find = integrationFinder(store);

  const forgets = async ({ organisationId, id }: Integration): Promise<Forget[]> =>
    (await store.integrations.providers(organisationId, id)).map(forgetProvider);

  async function detailOf(integration: Integration): Promise<IntegrationDetail> {
    const { organisationId, id, workspaceId, globalAccess, createdAt } = integration;
    const reach = workspaceId === null ? await store.integrations.reach(organisationId, id) : [];
    const now = Date.now();
    const resets = reach.map((one) => lentReset(integration, one, now) ?? 0);
    return {
      ...toRow(integration),
      masked_key: integration.maskedKey,
      configurations: integration.configurations,
      global_workspace_access_settings: {
        enabled: globalAccess.enabled,
        ...limitsMessage(globalAccess, createdAt, now),
      },
      allow_all_models: integration.allowAllModels,
      workspace_count:
        workspaceId === null ? reach.filter((one) => isOpenTo(globalAccess, one.own)).length : 1,
      secret_mappings: integration.secretMappings.map(secretMappingMessage),
      pricing_adjustments: integration.pricingAdjustments as IntegrationDetail['pricing_adjustments'],
      last_reset_at: timeOrNull(Math.max(0, ...resets) || null),
    };
  }

  async function checkDefaultSlug(place: Place | null, slug: string | null | undefined): Promise<void> {
    if (place === null || !slug || (await store.providers.get(place, slug)) === null) return;
    throw AdminError.field(
      'default_provider_slug',
      `is taken: the workspace has a provider ${slug} already.`,
    );
  }

  return {
    async CreateIntegration(caller, request) {
      const inWorkspace = caller.workspaceId !== null || Boolean(request.workspace_id);
      const place = inWorkspace ? await caller.place(request.workspace_id) : null;
      const workspaceId = place?.workspaceId ?? null;
      caller.need(scopeOf(workspaceId, 'create'));
      const provider = providerNamed(parts, request.ai_provider_id, 'ai_provider_id');
      const { default_provider_slug: defaultSlug, create_default_provider: wanted } = request;
      if (wanted !== false) await checkDefaultSlug(place, defaultSlug);
      const own = await newCredentials(caller, request, provider, workspaceId);
      checkStoredAddress(parts, provider, own);
      checkOwnIdentity(
        parts,
        { organisationId: caller.organisationId, workspaceId },
        own.configurations,
        pathOf,
      );
      const made = await store.integrations.create(caller.organisationId, {
        workspaceId,
        slug: request.slug || undefined,
        name: textOf('name', request.name),
        description: request.description?.trim() || null,
        provider,
        ...own,
        pricingAdjustments: request.pricing_adjustments ?? null,
        defaultProviderSlug: defaultSlug || null,
        hostTrusted: speaksForAll(caller),
      });
      if (made === 'taken')
        throw new AdminError('AB07', `slug: the organisation has an integration ${request.slug} already.`);
      if (made === 'missing') throw new AdminError('AB02', 'workspace_id: there is no such workspace.');
      caller.changed(made);
      if (place !== null && wanted !== false)
        await makeDefaultProvider(caller, place, made, defaultSlug || null, 'default_provider_slug');
      return { id: made.id, slug: made.slug };
    },

    async ListIntegrations(caller, request) {
      const inWorkspace = caller.workspaceId !== null || Boolean(request.workspace_id);
      const place = inWorkspace ? await caller.place(request.workspace_id) : null;
      const levels = (['organisation', 'workspace'] as const).filter(
        (level) =>
          caller.has(`${level}_integrations.list`) &&
          (!request.type || request.type === 'all' || request.type === level),
      );
      const { total, rows } = await store.integrations.list(
        caller.organisationId,
        { levels, workspaceId: place?.workspaceId },
        pageOf(request),
      );
      return { object: 'list', total, data: rows.map(toRow) };
    },

    async GetIntegration(caller, request) {
      return detailOf(await find(caller, request, 'read'));
    },

    async UpdateIntegration(caller, request) {
      const before = await find(caller, request, 'update');
      const description = changeOf(request, 'description');
      const own = await changedCredentials(caller, request, before);
      checkStoredAddress(parts, before.provider, {
        configurations: own.configurations,
        secretMappings: own.secretMappings ?? before.secretMappings,
      });
      checkOwnIdentity(parts, before, own.configurations, pathOf);
      const integration = await store.integrations.update(caller.organisationId, before.id, {
        name: changeOf(request, 'name')?.trim(),
        description: description && (description.trim() || null),
        pricingAdjustments: changeOf(request, 'pricing_adjustments'),
        ...own,
        etag: request.etag ?? undefined,
      });
      if (integration === 'missing') throw noIntegration();
      if (integration === 'stale') throw stale();
      caller.changed(integration, [...(await forgets(integration)), ...forgetLentTo(integration.provider)]);
      return {};
    },

    async DeleteIntegration(caller, request) {
      const { id, slug } = await find(caller, request, 'delete');
      const result = await store.integrations.delete(caller.organisationId, id, request.etag ?? undefined);
      if (result === 'missing') throw noIntegration();
      if (result === 'stale') throw stale();
      if (isUses(result)) throw stillUsed(slug, result);
      caller.changed(result, forgetLentTo(result.provider));
      return {};
    },

    ...integrationModels(parts, find, forgets),
    ...integrationWorkspaces(parts, find, forgets),
  };
}
