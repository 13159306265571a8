import type {
  CreateIntegrationRequest,
  IntegrationDetail,
  Integration as IntegrationMessage,
  UpdateIntegrationRequest,
} from '../../proto/messages.js';
import type { Forget } from '../core/messages.js';
import type { Integration, NewConfigurations, Place, SecretMapping } from '../store/store.js';
import { AdminError } from './admin-error.js';
import type { Caller } from './caller.js';
import { changedConfigurations, isEmpty, providerKeyOf } from './configurations.js';
import { credentialFields } from './credential-fields.js';
import { addressIn, movedHost, speaksForAll } from './host-trust.js';
import { limitsMessage } from './integration-limits.js';
import { integrationModels } from './integration-models.js';
import { integrationWorkspaces, isOpenTo, makeDefaultProvider } from './integration-workspaces.js';
import { changeOf } from './mask.js';
import { needsKey, providerNamed } from './provider-names.js';
import { forgetProvider } from './providers.js';
import { mappedFields, secretMappingMessage, secretMappingsOf } from './secret-mappings.js';
import type { AdminParts, Service } from './service.js';
import { pageOf, stale, textOf, timeOf, timeOrNull } from './wire.js';

const root = 'configurations';

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
      const made = await store.integrations.create(caller.organisationId, {
        workspaceId,
        slug: request.slug || undefined,
        name: textOf('name', request.name),
        description: request.description?.trim() || null,
        provider,
        ...newKit(request, provider),
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
      const kit = changedKit(request, before);
      const moved =
        kit.configurations === undefined
          ? {}
          : movedHost(caller, {
              from: addressIn(before.configurations),
              to: addressIn(kit.configurations.shown),
              keepsSecrets:
                (kit.key === undefined && before.maskedKey !== null) || kit.configurations.kept.length > 0,
              path: `${root}.custom_host`,
            });
      const description = changeOf(request, 'description');
      const integration = await store.integrations.update(caller.organisationId, before.id, {
        name: changeOf(request, 'name')?.trim(),
        description: description && (description.trim() || null),
        pricingAdjustments: changeOf(request, 'pricing_adjustments'),
        ...kit,
        ...moved,
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

interface Kit {
  readonly key?: ReturnType<typeof providerKeyOf> | null;
  readonly configurations?: NewConfigurations;
  readonly secretMappings?: readonly SecretMapping[];
}

function checkKey(
  provider: string,
  hasKey: boolean,
  configurations: NewConfigurations['shown'],
  mappings: readonly SecretMapping[],
): void {
  if (hasKey || mappedFields(mappings, root).has('key') || !needsKey(provider, configurations)) return;
  throw AdminError.field('key', `is required for ${provider}: give it, or map it in secret_mappings.`);
}

const faceOf = (provider: string, mappings: readonly SecretMapping[]) => ({
  provider,
  path: (field: string): string => `${root}.${field}`,
  complete: true,
  mapped: mappedFields(mappings, root),
});

function newKit(request: CreateIntegrationRequest, provider: string): Kit {
  const secretMappings = secretMappingsOf(request.secret_mappings, root, provider);
  const said = new Map(Object.entries(request.configurations ?? {}));
  const configurations = changedConfigurations(faceOf(provider, secretMappings), {}, said);
  const key = request.key ? providerKeyOf(request.key) : null;
  checkKey(provider, key !== null, configurations.shown, secretMappings);
  return { key, configurations, secretMappings };
}

/** Configurations are replaced as a whole; but a secret that is not named stays. */
function saidOf(request: UpdateIntegrationRequest): ReadonlyMap<string, unknown> {
  const configurations = changeOf(request, root);
  if (configurations === undefined) return new Map();
  const given = (configurations ?? {}) as Readonly<Record<string, unknown>>;
  const isNamed = (name: string): boolean =>
    configurations === null ||
    !isEmpty(given[name]) ||
    request.update_mask?.includes(`${root}.${name}`) === true;
  const fields = Object.entries(credentialFields).filter(
    ([name, { secret }]) => isNamed(name) || secret !== true,
  );
  return new Map(fields.map(([name]) => [name, given[name] ?? null]));
}

function changedKit(request: UpdateIntegrationRequest, before: Integration): Kit {
  const { provider } = before;
  const asked = changeOf(request, 'secret_mappings');
  const changed = asked === undefined ? undefined : secretMappingsOf(asked ?? [], root, provider);
  const mappings = changed ?? before.secretMappings;
  const key = changeOf(request, 'key');
  const face = faceOf(provider, mappings);
  const configurations = changedConfigurations(face, before.configurations, saidOf(request));
  const hasKey = key === undefined ? before.maskedKey !== null : key !== null;
  checkKey(provider, hasKey, configurations.shown, mappings);
  const isSame = changed === undefined && changeOf(request, root) === undefined;
  return {
    key: key === undefined || key === null ? key : providerKeyOf(key),
    configurations: isSame ? undefined : configurations,
    secretMappings: changed,
  };
}
