import type {
  IntegrationWorkspaceUpdate,
  ProviderRateLimit,
  UpdateIntegrationWorkspacesRequest,
} from '../../../../../proto/messages.js';
import type { Forget } from '../../../../common/ipc/messages.js';
import type {
  GlobalAccess,
  Integration,
  IntegrationAccess,
  IntegrationReach,
  Place,
  Provider,
  RateLimit,
} from '../../../store/store.js';
import type { Caller } from '../../access/caller.js';
import { AdminError } from '../../admin-error.js';
import type { AdminParts, Service } from '../../service.js';
import { BudgetStates } from '../../usage/budget-states.js';
import { rateLimitMessages, rateLimitsOf, usageLimitsMessage } from '../limits/limits.js';
import { globalAfter, lentAfter, lentBudget } from './integration-budgets.js';
import type { Find } from './integration-finder.js';
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

/** Rate limits that a request names, or those of all workspaces. */
const ratesOf = (
  asked: readonly ProviderRateLimit[],
  path: string,
  usual: readonly RateLimit[],
): readonly RateLimit[] => (asked.length === 0 ? usual : rateLimitsOf(asked, path));

/** Workspaces of an integration. */
export function integrationWorkspaces(
  { store, budgets, answered }: AdminParts,
  find: Find,
  forgets: (integration: Integration) => Promise<Forget[]>,
): Methods {
  const states = new BudgetStates(budgets, answered);

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
      const integration = await find(caller, request, 'read');
      const { organisationId, id, workspaceId, globalAccess } = integration;
      if (workspaceId !== null) {
        const only = { id: workspaceId, enabled: true, usage_limits: [], rate_limits: [] };
        return { total: 1, workspaces: [only] };
      }
      const reaches = await store.integrations.reach(organisationId, id);
      const open = reaches.filter(({ own }) => own !== null || globalAccess.enabled);
      const held = open.map((reach) => lentBudget(integration, reach));
      const found = await states.ofAll(organisationId, held, Date.now());
      const workspaces = open.map(({ workspaceId: workspace, own }, i) => {
        const { usageLimits, rateLimits } = own ?? globalAccess;
        const state = found[i]!;
        return {
          id: workspace,
          enabled: isOpenTo(globalAccess, own),
          usage_limits: usageLimits && state ? [usageLimitsMessage(usageLimits, state)] : [],
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
      const globalPath = 'global_workspace_access.';
      const globalAccess: GlobalAccess = asked
        ? {
            enabled: asked.enabled === true,
            usageLimits: await globalAfter(
              states,
              integration,
              reaches,
              asked.usage_limits[0],
              `${globalPath}usage_limits[0]`,
              now,
            ),
            rateLimits: ratesOf(asked.rate_limits, `${globalPath}rate_limits`, []),
          }
        : integration.globalAccess;

      const next = new Map<string, IntegrationAccess>();
      const entry = async (
        reach: IntegrationReach,
        enabled: boolean,
        update: IntegrationWorkspaceUpdate | null,
        path: string,
      ): Promise<void> => {
        const limits = update?.usage_limits[0];
        const reset = update?.reset_usage === true;
        const limitsPath = `${path}usage_limits[0]`;
        const usual = globalAccess.usageLimits;
        next.set(reach.workspaceId, {
          workspaceId: reach.workspaceId,
          enabled,
          usageLimits: await lentAfter(states, integration, reach, limits, usual, reset, limitsPath, now),
          rateLimits: ratesOf(
            update?.rate_limits ?? [],
            `${path}rate_limits`,
            (reset ? reach.own?.rateLimits : null) ?? globalAccess.rateLimits,
          ),
        });
      };
      const wishes = await named(caller, request, reaches);
      if (request.override_existing_workspace_access === true) {
        for (const reach of reaches)
          if (reach.own !== null) await entry(reach, globalAccess.enabled, null, '');
      }
      for (const [i, [update, reach]] of [...wishes].entries())
        await entry(reach, update.enabled === true, update, `workspaces[${i}].`);

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
      for (const [{ reset_usage: reset }, reach] of wishes)
        if (reset === true) await states.ended(organisationId, lentBudget(integration, reach), now);
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
