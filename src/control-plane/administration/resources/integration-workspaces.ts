import type {
  IntegrationWorkspaceUpdate,
  ProviderRateLimit,
  UpdateIntegrationWorkspacesRequest,
} from '../../../../proto/messages.js';
import type { Forget } from '../../../common/ipc/messages.js';
import { unused, usageUnder } from '../../store/records/usage.js';
import type {
  GlobalAccess,
  Integration,
  IntegrationAccess,
  IntegrationReach,
  Place,
  Provider,
} from '../../store/store.js';
import type { Caller } from '../access/caller.js';
import { AdminError } from '../admin-error.js';
import { usageReset } from '../credentials/provider-terms.js';
import type { AdminParts, Service } from '../service.js';
import type { Find } from './integration-finder.js';
import { rateLimitMessages, rateLimitsOf, usageLimitsMessage, usageLimitsOf } from './limits.js';
import { forgetProvider } from './providers.js';

type Methods = Pick<Service<'Integrations'>, 'ListIntegrationWorkspaces' | 'UpdateIntegrationWorkspaces'>;

/** May a workspace use an integration of the organisation? `own`: the entry of that workspace. */
export const isOpenTo = (access: GlobalAccess, own: IntegrationAccess | null): boolean =>
  own?.enabled ?? access.enabled;

/**
 * Makes the provider that a workspace gets with its access. A slug that was asked for must be free; else the
 * integration's own is taken, or one made from its name.
 */
export async function makeDefaultProvider(
  caller: Caller,
  place: Place,
  integration: Integration,
  asked: string | null,
  path: string,
): Promise<void> {
  const make = (slug: string | undefined): Promise<Provider | 'taken' | 'missing'> =>
    caller.store.providers.create(place, { slug, name: integration.name, integrationId: integration.id });
  // GET /v1/providers/models is another place.
  const wanted = asked ?? (integration.slug === 'models' ? undefined : integration.slug);
  let made = await make(wanted);
  if (made === 'taken' && asked !== null)
    throw AdminError.field(path, `is taken: a workspace has a provider ${asked} already.`);
  if (made === 'taken') made = await make(undefined);
  if (made === 'taken' || made === 'missing')
    throw new AdminError('AB02', 'workspace_id: there is no such workspace.');
  caller.changed({ ...made, kind: 'provider', action: 'create' }, [forgetProvider(made)]);
}

/** Limits that a request names, or those of all workspaces. */
function limitsOf(
  asked: Pick<IntegrationWorkspaceUpdate, 'usage_limits' | 'rate_limits'>,
  path: string,
  now: number,
  before: IntegrationAccess | GlobalAccess | null,
  usual: GlobalAccess | null,
): Omit<GlobalAccess, 'enabled'> {
  const [limits] = asked.usage_limits;
  const used = before !== null && 'usage' in before && before.usage.currentUsage > 0;
  return {
    usageLimits:
      limits === undefined
        ? (usual?.usageLimits ?? null)
        : usageLimitsOf(limits, `${path}usage_limits[0]`, now, before?.usageLimits ?? null, used),
    rateLimits:
      asked.rate_limits.length === 0
        ? (usual?.rateLimits ?? [])
        : rateLimitsOf(asked.rate_limits, `${path}rate_limits`),
  };
}

/** The new entry of one workspace. Its usage stays, unless the request resets it. */
function accessOf(
  reach: IntegrationReach,
  enabled: boolean,
  limits: Omit<GlobalAccess, 'enabled'>,
  reset: boolean,
  now: number,
): IntegrationAccess {
  const { workspaceId, own } = reach;
  const usage = reset ? usageReset(now) : (own?.usage ?? unused);
  return {
    workspaceId,
    enabled,
    ...limits,
    usage: usageUnder(usage, own?.usageLimits ?? null, limits.usageLimits),
  };
}

/** Workspaces of an integration. */
export function integrationWorkspaces(
  { store }: AdminParts,
  find: Find,
  forgets: (integration: Integration) => Promise<Forget[]>,
): Methods {
  /** The workspaces that a request names, each once, in its order. */
  async function named(
    caller: Caller,
    request: UpdateIntegrationWorkspacesRequest,
    reaches: readonly IntegrationReach[],
  ): Promise<Map<IntegrationWorkspaceUpdate, IntegrationReach>> {
    const found = new Map<IntegrationWorkspaceUpdate, IntegrationReach>();
    for (const [i, update] of request.workspaces.entries()) {
      const workspace = await store.workspaces.get(caller.organisationId, update.id);
      const reach = reaches.find(({ workspaceId }) => workspaceId === workspace?.id);
      if (reach === undefined)
        throw new AdminError('AB02', `workspaces[${i}].id: there is no such workspace.`);
      if ([...found.values()].includes(reach))
        throw AdminError.field(`workspaces[${i}].id`, 'is named a second time.');
      found.set(update, reach);
    }
    return found;
  }

  return {
    async ListIntegrationWorkspaces(caller, request) {
      const { organisationId, id, workspaceId, globalAccess } = await find(caller, request, 'read');
      if (workspaceId !== null) {
        const only = { id: workspaceId, enabled: true, usage_limits: [], rate_limits: [] };
        return { total: 1, workspaces: [only] };
      }
      const reaches = await store.integrations.reach(organisationId, id);
      const workspaces = reaches
        .filter(({ own }) => own !== null || globalAccess.enabled)
        .map(({ workspaceId: workspace, own }) => {
          const { usageLimits, rateLimits } = own ?? globalAccess;
          return {
            id: workspace,
            enabled: isOpenTo(globalAccess, own),
            usage_limits: usageLimits === null ? [] : [usageLimitsMessage(usageLimits, own?.usage ?? unused)],
            rate_limits: rateLimitMessages(rateLimits) as readonly ProviderRateLimit[],
          };
        });
      return { total: workspaces.length, workspaces };
    },

    async UpdateIntegrationWorkspaces(caller, request) {
      const integration = await find(caller, request, 'update');
      const { organisationId, id } = integration;
      if (integration.workspaceId !== null)
        throw AdminError.field('slug', 'names an integration of one workspace: no other may use it.');
      const now = Date.now();
      const reaches = await store.integrations.reach(organisationId, id);
      const asked = request.global_workspace_access;
      const globalAccess: GlobalAccess = asked
        ? {
            enabled: asked.enabled === true,
            ...limitsOf(asked, 'global_workspace_access.', now, integration.globalAccess, null),
          }
        : integration.globalAccess;

      const next = new Map<string, IntegrationAccess>();
      const wishes = await named(caller, request, reaches);
      if (request.override_existing_workspace_access === true) {
        for (const reach of reaches)
          if (reach.own !== null)
            next.set(reach.workspaceId, accessOf(reach, globalAccess.enabled, globalAccess, false, now));
      }
      for (const [i, [update, reach]] of [...wishes].entries()) {
        const limits = limitsOf(update, `workspaces[${i}].`, now, reach.own, globalAccess);
        const reset = update.reset_usage === true;
        next.set(reach.workspaceId, accessOf(reach, update.enabled === true, limits, reset, now));
      }

      await store.integrations.putAccess(organisationId, id, [...next.values()]);
      const changed = await store.integrations.update(organisationId, id, { globalAccess });
      if (changed === 'missing' || changed === 'stale')
        throw new Error('the integration changed in its own unit');
      caller.changed(changed, await forgets(changed));
      const gaining = reaches.filter(
        ({ workspaceId, own }) =>
          !isOpenTo(integration.globalAccess, own) && isOpenTo(globalAccess, next.get(workspaceId) ?? own),
      );
      await provide(caller, changed, request, gaining, wishes);
      return {};
    },
  };

  /** Workspaces that gain access get a provider, unless they have one or it is not wanted. */
  async function provide(
    caller: Caller,
    integration: Integration,
    request: UpdateIntegrationWorkspacesRequest,
    gaining: readonly IntegrationReach[],
    wishes: ReadonlyMap<IntegrationWorkspaceUpdate, IntegrationReach>,
  ): Promise<void> {
    const { organisationId, id } = integration;
    const providers = await store.integrations.providers(organisationId, id);
    const having = new Set(providers.map(({ workspaceId }) => workspaceId));
    for (const reach of gaining) {
      const { workspaceId } = reach;
      const [update] = [...wishes].find(([, one]) => one === reach) ?? [];
      const wanted = update?.create_default_provider ?? request.create_default_provider ?? true;
      if (having.has(workspaceId) || !wanted) continue;
      const own = update?.default_provider_slug;
      const path = own && update ? `workspaces[${request.workspaces.indexOf(update)}].` : '';
      const slug = own || request.default_provider_slug || integration.defaultProviderSlug;
      const place = { organisationId, workspaceId };
      await makeDefaultProvider(caller, place, integration, slug || null, `${path}default_provider_slug`);
    }
  }
}
