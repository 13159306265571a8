import type { IntegrationDetail, Integration as IntegrationMessage } from '../../proto/messages.js';
import type { Forget } from '../core/messages.js';
import type { Integration, Place } from '../store/store.js';
import { AdminError } from './admin-error.js';
import type { Caller } from './caller.js';
import { speaksForAll } from './host-trust.js';
import { changedCredentials, newCredentials, pathOf } from './integration-credentials.js';
import { limitsMessage } from './integration-limits.js';
import { integrationModels } from './integration-models.js';
import { integrationWorkspaces, isOpenTo, makeDefaultProvider } from './integration-workspaces.js';
import { changeOf } from './mask.js';
import { checkOwnIdentity } from './own-identity.js';
import { providerNamed } from './provider-names.js';
import { forgetProvider } from './providers.js';
import { secretMappingMessage } from './secret-mappings.js';
import type { AdminParts, Service } from './service.js';
import { pageOf, stale, textOf, timeOf, timeOrNull } from './wire.js';

type Action = 'create' | 'read' | 'update' | 'delete' | 'list';

const scopeOf = (workspaceId: string | null, action: Action): string =>
  `${workspaceId === null ? 'organisation' : 'workspace'}_integrations.${action}`;

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

const missing = (): AdminError => new AdminError('AB08', 'There is no such integration.');

/** What a method is about: the integration, and the right to do that with it. */
export type Find = (
  caller: Caller,
  request: { readonly slug: string; readonly workspace_id?: string | null },
  action: Action,
) => Promise<Integration>;

/** Integrations (spec/api.md §5.2). */
export function integrationsService(parts: AdminParts): Service<'Integrations'> {
  const { store } = parts;

  /** One that the caller cannot see is answered as if it did not exist. */
  const find: Find = async (caller, { slug, workspace_id }, action) => {
    const { organisationId } = caller;
    const workspaceId = workspace_id ? (await caller.place(workspace_id)).workspaceId : caller.workspaceId;
    const integration = await store.integrations.get(organisationId, slug);
    if (integration === null) throw missing();
    const isForeign =
      integration.workspaceId === null
        ? caller.workspaceId !== null &&
          (await store.integrations.usable(
            { organisationId, workspaceId: caller.workspaceId },
            integration.id,
          )) === null
        : workspaceId !== null && integration.workspaceId !== workspaceId;
    if (isForeign) throw missing();
    caller.need(scopeOf(integration.workspaceId, action));
    if (action !== 'read' && integration.status !== 'active') throw missing();
    return integration;
  };

  const forgets = async ({ organisationId, id }: Integration): Promise<Forget[]> =>
    (await store.integrations.providers(organisationId, id)).map(forgetProvider);

  async function detailOf(integration: Integration): Promise<IntegrationDetail> {
    const { organisationId, id, workspaceId, globalAccess } = integration;
    const reach = workspaceId === null ? await store.integrations.reach(organisationId, id) : [];
    const resets = reach.map(({ own }) => own?.usage.lastResetAt ?? 0);
    return {
      ...toRow(integration),
      masked_key: integration.maskedKey,
      configurations: integration.configurations,
      global_workspace_access_settings: { enabled: globalAccess.enabled, ...limitsMessage(globalAccess) },
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
      const own = newCredentials(request, provider);
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
      const own = changedCredentials(caller, request, before);
      checkOwnIdentity(parts, before, own.configurations, pathOf);
      const integration = await store.integrations.update(caller.organisationId, before.id, {
        name: changeOf(request, 'name')?.trim(),
        description: description && (description.trim() || null),
        pricingAdjustments: changeOf(request, 'pricing_adjustments'),
        ...own,
        etag: request.etag ?? undefined,
      });
      if (integration === 'missing') throw missing();
      if (integration === 'stale') throw stale();
      caller.changed(integration, await forgets(integration));
      return {};
    },

    async DeleteIntegration(caller, request) {
      const { id } = await find(caller, request, 'delete');
      const gone = await store.integrations.delete(caller.organisationId, id, request.etag ?? undefined);
      if (gone === 'missing') throw missing();
      if (gone === 'stale') throw stale();
      if (gone === 'used')
        throw new AdminError('AB07', 'slug: providers use this integration: delete them first.');
      caller.changed(gone);
      return {};
    },

    ...integrationModels(parts, find, forgets),
    ...integrationWorkspaces(parts, find, forgets),
  };
}
