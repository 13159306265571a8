import type {
  CreateWorkspaceRequest,
  NewWorkspaceDefaults,
  UpdateWorkspaceRequest,
  WorkspaceUsageLimits as UsageLimitsRequest,
  Workspace as WorkspaceMessage,
} from '../../../../../proto/messages.js';
import { settingsInForce } from '../../../store/records/settings-in-force.js';
import type {
  Organisation,
  SettingsInForce,
  Workspace,
  WorkspaceDefaults,
  WorkspaceSettings,
  WorkspaceUsageLimits,
} from '../../../store/store.js';
import type { Caller } from '../../access/caller.js';
import { checkMemberships } from '../../access/grants.js';
import { joined } from '../../access/people/joining.js';
import { activeWorkspaceAt, rolesOf, workspaceAt } from '../../access/roles.js';
import { AdminError } from '../../admin-error.js';
import { changeOf } from '../../audit/mask.js';
import { mergedDocument } from '../../grpc/documents.js';
import { pageOf, stale, textOf } from '../../grpc/wire.js';
import { guardrailsNamed } from '../../references/guardrail-references.js';
import { checkMetadata } from '../../references/metadata-schema.js';
import { flagsAfter } from '../../references/security-flags.js';
import type { AdminParts, Service } from '../../service.js';
import { BudgetStates } from '../../usage/budget-states.js';
import { limitsAfter, rateLimitsOf, usageLimitsOf } from '../limits/limits.js';
import { keysOfWorkspace } from '../people/users.js';
import { memberMessage } from './workspace-members.js';
import { workspaceBudget, workspaceMessage } from './workspace-message.js';

const settingNames = [
  'user_api_key_ttl',
  'user_api_key_max_ttl',
  'user_api_key_count',
  'debug_log',
  'user_key_metadata',
  'user_key_metadata_override',
  'user_api_key_rotation_period',
  'user_api_key_auto_create',
  'log_retention_days',
  'log_body_retention_days',
] as const;

/** `weekly`, `monthly` or days; empty text removes it. */
function checkPeriod(period: unknown): WorkspaceSettings['user_api_key_rotation_period'] {
  if (period === undefined || period === 'weekly' || period === 'monthly') return period;
  if (period === '' || period === 'none') return 'none';
  if (typeof period === 'number' && Number.isInteger(period) && period >= 1 && period <= 365) return period;
  throw AdminError.field(
    'settings.user_api_key_rotation_period',
    'must be weekly, monthly or a whole number of days from 1 to 365.',
  );
}

/** A key that lives longer than it may would never be made. */
export function checkTtl(ttl: number | undefined, most: number | undefined): void {
  if (ttl && most && ttl > most)
    throw AdminError.field('settings.user_api_key_ttl', 'must be at most user_api_key_max_ttl.');
}

function settingsAfter(request: UpdateWorkspaceRequest, before: WorkspaceSettings): WorkspaceSettings {
  const next = mergedDocument(request, 'settings', settingNames, before);
  checkTtl(next.user_api_key_ttl, next.user_api_key_max_ttl);
  const period = checkPeriod(next.user_api_key_rotation_period);
  return period === undefined ? next : { ...next, user_api_key_rotation_period: period };
}

const limitsPath = 'usage_limits[0]';

const budgetsOf = (asked: readonly UsageLimitsRequest[], now: number): WorkspaceUsageLimits[] =>
  asked.map((limits) => ({ ...usageLimitsOf(limits, limitsPath, now), metadata: limits.metadata }));

/** Empty text means absent. */
const trimmed = (text: string | null | undefined): string | null | undefined =>
  text === undefined ? undefined : text?.trim() || null;

/** Ids of users, each as text or in an object of its own. */
function usersOf(values: CreateWorkspaceRequest['users']): string[] {
  return values.map((value, i) => {
    const id = typeof value === 'object' && value !== null && 'id' in value ? value.id : value;
    if (typeof id !== 'string' || id === '')
      throw AdminError.field(`users[${i}]`, 'must be the id of a user, or an object with it.');
    return id;
  });
}

/** Parts of the organisation. */
export function workspacesService({ store, budgets, answered }: AdminParts): Service<'Workspaces'> {
  const states = new BudgetStates(budgets, answered);

  const shown = async (
    org: string,
    rows: readonly Workspace[],
    inForce: (workspace: Workspace) => SettingsInForce,
    usage = false,
  ): Promise<WorkspaceMessage[]> => {
    const found = await states.ofAll(org, rows.map(workspaceBudget), Date.now());
    return rows.map((row, i) => workspaceMessage(row, inForce(row), found[i]!, usage));
  };

  /** The budget after an update; undefined: as it was. */
  async function budgetAfter(
    request: UpdateWorkspaceRequest,
    workspace: Workspace,
    now: number,
  ): Promise<WorkspaceUsageLimits[] | undefined> {
    const changed = changeOf(request, 'usage_limits');
    const asked = changed === undefined ? undefined : (changed?.[0] ?? null);
    const next = await limitsAfter(
      states,
      workspace.organisationId,
      workspaceBudget(workspace),
      asked,
      request.reset_usage === true,
      limitsPath,
      now,
    );
    if (next === undefined) return undefined;
    const metadata = asked?.metadata ?? workspace.usageLimits[0]?.metadata ?? {};
    return next === null ? [] : [{ ...next, metadata }];
  }

  async function settingsIn(workspace: Workspace): Promise<SettingsInForce> {
    return settingsInForce(await ownOrganisation(workspace.organisationId), workspace);
  }

  async function ownOrganisation(id: string): Promise<Organisation> {
    const organisation = await store.organisations.get(id);
    if (organisation === null) throw new AdminError('AB08', 'There is no such organisation.');
    return organisation;
  }

  async function configNamed(workspace: Workspace, name: string): Promise<string> {
    const place = { organisationId: workspace.organisationId, workspaceId: workspace.id };
    const config = await store.configs.get(place, name);
    if (config === null || config.status !== 'active')
      throw new AdminError('AB02', 'defaults.user_api_key_config: there is no such config in the workspace.');
    return config.slug;
  }

  /** What is set in `asked` over `before`. Absent: `undefined`. */
  async function defaultsOf(
    caller: Caller,
    workspaceId: string | null,
    asked: Partial<NewWorkspaceDefaults>,
    before: WorkspaceDefaults,
  ): Promise<WorkspaceDefaults> {
    const { metadata, input_guardrails: input, output_guardrails: output } = asked;
    if (metadata !== undefined) {
      const settings = await store.organisations.settings(caller.organisationId);
      checkMetadata(settings?.metadataSchema ?? null, metadata, 'defaults.metadata');
    }
    const ids = async (names: readonly string[], path: string): Promise<string[]> =>
      (await guardrailsNamed(caller, workspaceId, names, path)).map(({ id }) => id);
    return {
      ...before,
      metadata: metadata ?? before.metadata,
      inputGuardrails:
        input === undefined ? before.inputGuardrails : await ids(input, 'defaults.input_guardrails'),
      outputGuardrails:
        output === undefined ? before.outputGuardrails : await ids(output, 'defaults.output_guardrails'),
    };
  }

  async function defaultsAfter(
    caller: Caller,
    request: UpdateWorkspaceRequest,
    workspace: Workspace,
  ): Promise<WorkspaceDefaults | undefined> {
    if (changeOf(request, 'defaults') === undefined) return undefined;
    const listed = (name: string): readonly string[] | undefined => {
      const names = changeOf<readonly string[]>(request, `defaults.${name}`);
      return names === null ? [] : names;
    };
    const metadata = changeOf<Record<string, string>>(request, 'defaults.metadata');
    const asked = {
      metadata: metadata === null ? {} : metadata,
      input_guardrails: listed('input_guardrails'),
      output_guardrails: listed('output_guardrails'),
    };
    const next = await defaultsOf(caller, workspace.id, asked, workspace.defaults);
    const config = changeOf<string>(request, 'defaults.user_api_key_config');
    if (config === undefined) return next;
    return { ...next, userApiKeyConfig: config ? await configNamed(workspace, config) : null };
  }

  return {
    async CreateWorkspace(caller, request) {
      const { defaults, description, icon, slug } = request;
      if (request.users.length > 0) checkMemberships(caller, 'create', 'users');
      if (defaults?.user_api_key_config)
        throw AdminError.field(
          'defaults.user_api_key_config',
          'names a config of the workspace: set it later.',
        );
      const none: WorkspaceDefaults = {
        metadata: {},
        inputGuardrails: [],
        outputGuardrails: [],
        userApiKeyConfig: null,
      };
      const workspace = await store.workspaces.create(caller.organisationId, {
        name: textOf('name', request.name, 128),
        slug: slug || undefined,
        description: description?.trim() || null,
        icon: icon || null,
        defaults: await defaultsOf(caller, null, defaults ?? { metadata: {} }, none),
        usageLimits: budgetsOf(request.usage_limits, Date.now()),
        rateLimits: rateLimitsOf(request.rate_limits, 'rate_limits'),
        createdBy: caller.id,
      });
      if (workspace === 'taken')
        throw new AdminError('AB07', `slug: the organisation has a workspace ${slug} already.`);
      const place = { organisationId: caller.organisationId, workspaceId: workspace.id };
      caller.changed({ id: workspace.id, slug: workspace.slug, workspaceId: workspace.id });
      for (const [i, id] of usersOf(request.users).entries()) {
        const user = await store.users.get(caller.organisationId, id);
        if (user === null) throw new AdminError('AB02', `users[${i}]: the organisation has no such user.`);
        if ((await store.members.add(place, id, 'member')) === 'taken')
          throw AdminError.field(`users[${i}]`, 'names a user who is named before.');
        await joined(caller, place, user);
      }
      const inForce = await settingsIn(workspace);
      const [message] = await shown(caller.organisationId, [workspace], () => inForce);
      return message!;
    },

    async ListWorkspaces(caller, request) {
      const isNarrow = caller.workspaceId !== null;
      const { organisation } = await rolesOf(caller);
      const status = request.status.length === 0 ? (['active'] as const) : request.status;
      if (status.includes('archived') && organisation === 'member')
        throw new AdminError(
          'AB03',
          'status: archived workspaces are for owners and admins of the organisation.',
        );
      const { total, rows } = await store.workspaces.list(caller.organisationId, pageOf(request), {
        ids: isNarrow ? (caller.person?.user.workspaceIds ?? [caller.workspaceId]) : undefined,
        name: request.name || undefined,
        exactName: request.exact_name || undefined,
        status,
      });
      const usual = await ownOrganisation(caller.organisationId);
      const data = await shown(caller.organisationId, rows, (row) => settingsInForce(usual, row));
      return { object: 'list', total, data };
    },

    async GetWorkspace(caller, { workspace_id, include_usage }) {
      const workspace = await workspaceAt(caller, workspace_id);
      const inForce = await settingsIn(workspace);
      const place = { organisationId: workspace.organisationId, workspaceId: workspace.id };
      const members = await store.members.list(place, {}, { offset: 0, limit: 1000 });
      const usage = include_usage ?? false;
      const [message] = await shown(workspace.organisationId, [workspace], () => inForce, usage);
      return {
        ...message!,
        users: members.rows.map((member) => memberMessage(member, inForce.security)),
      };
    },

    async UpdateWorkspace(caller, request) {
      const workspace = await activeWorkspaceAt(caller, request.workspace_id);
      const rules = ['settings', 'security_settings'] as const;
      const isOfRules = rules.some((name) => changeOf(request, name) !== undefined);
      if (isOfRules && (await rolesOf(caller)).workspace !== 'admin')
        throw new AdminError('AB03', 'settings and security_settings are for admins of the workspace.');
      const now = Date.now();
      const rates = changeOf(request, 'rate_limits');
      const updated = await store.workspaces.update(caller.organisationId, workspace.id, {
        name: changeOf(request, 'name')?.trim(),
        description: trimmed(changeOf(request, 'description')),
        icon: trimmed(changeOf(request, 'icon')),
        defaults: await defaultsAfter(caller, request, workspace),
        usageLimits: await budgetAfter(request, workspace, now),
        rateLimits: rates === undefined ? undefined : rateLimitsOf(rates ?? [], 'rate_limits'),
        securitySettings: flagsAfter(request, workspace.securitySettings),
        settings: settingsAfter(request, workspace.settings),
        etag: request.etag ?? undefined,
      });
      if (updated === 'missing') throw new AdminError('AB08', 'There is no such workspace.');
      if (updated === 'stale') throw stale();
      caller.changed(
        { id: workspace.id, slug: workspace.slug, workspaceId: workspace.id },
        keysOfWorkspace(workspace.id),
      );
      if (request.reset_usage === true)
        await states.ended(caller.organisationId, workspaceBudget(workspace), now);
      return {};
    },

    async DeleteWorkspace(caller, { workspace_id, name, force_delete, etag }) {
      const workspace = await activeWorkspaceAt(caller, workspace_id);
      if (workspace.isDefault)
        throw new AdminError(
          'AB03',
          `${workspace.slug} is the default workspace of the organisation and stays.`,
        );
      if (name !== workspace.name)
        throw AdminError.field(
          'name',
          "must be the workspace's exact name, to be sure that this one is meant.",
        );
      const dependents = await store.workspaces.dependents(caller.organisationId, workspace.id);
      if (dependents > 0 && force_delete !== true)
        throw new AdminError(
          'AB07',
          `The workspace holds ${dependents} keys, providers, configs, guardrails, integrations or policies: delete them first, or set force_delete.`,
        );
      const gone = await store.workspaces.archive(caller.organisationId, workspace.id, etag ?? undefined);
      if (gone === 'missing') throw new AdminError('AB08', 'There is no such workspace.');
      if (gone === 'stale') throw stale();
      caller.changed(
        { id: workspace.id, slug: workspace.slug, workspaceId: workspace.id },
        keysOfWorkspace(workspace.id),
      );
      return {};
    },
  };
}
