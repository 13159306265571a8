import type { SecurityFlag, SecuritySettings } from '../../../common/access/security-settings.js';
import type { Place, Roles, Store } from '../../store/store.js';

/**
 * Who may do what. A scope is a permission of a key; where the key belongs to a person, that
 * person's roles and the flags of the workspace limit it. Deny by default: a scope without a row here
 * is for admins.
 */

/** The current rank of a person in a workspace. */
export interface Standing extends Roles {
  /** The flags in force in the workspace. */
  readonly security: SecuritySettings;
}

/** Always, never, or while the flag is set. */
type Permission = boolean | SecurityFlag;

interface Right {
  readonly member: Permission;
  readonly manager: Permission;
}

interface Row {
  readonly view: Right;
  readonly write: Right;
}

type Flagged = 'api_keys' | 'configs' | 'prompts' | 'guardrails' | 'virtual_keys';

const everybody: Right = { member: true, manager: true };
const managers = (answer: Permission): Right => ({ member: false, manager: answer });
const flagged = (noun: Flagged): Row => ({
  view: { member: `members_view_${noun}`, manager: `managers_view_${noun}` },
  write: { member: `members_write_${noun}`, manager: `managers_write_${noun}` },
});
/** Seen by all, changed by managers while `answer` holds. */
const managed = (answer: Permission = true): Row => ({ view: everybody, write: managers(answer) });
/** Nothing of it is the administration's: calls of models and what belongs to them. */
const open: Row = { view: everybody, write: everybody };

const rows: Readonly<Record<string, Row>> = {
  configs: flagged('configs'),
  prompts: flagged('prompts'),
  guardrails: flagged('guardrails'),
  virtual_keys: flagged('virtual_keys'),
  providers: flagged('virtual_keys'),
  workspace_service_api_keys: flagged('api_keys'),
  workspace_user_api_keys: flagged('api_keys'),
  policies: managed(),
  workspaces: managed('managers_update_ws'),
  workspace_users: managed('managers_write_ws_users'),
  workspace_integrations: managed('managers_write_ws_integrations'),
  workspace_mcp_integrations: managed('managers_write_ws_mcp_integrations'),
  workspace_agent_integrations: managed(),
  mcp_servers: managed('managers_write_mcp_servers'),
  agent_servers: managed(),
  organisation_integrations: managed(false),
  organisation_mcp_integrations: managed(false),
  organisation_agent_integrations: managed(false),
  logs: { view: { member: 'members_view_logs', manager: 'managers_view_logs' }, write: everybody },
  analytics: {
    view: { member: 'members_view_analytics', manager: 'managers_view_analytics' },
    write: managers(false),
  },
  completions: open,
  feedbacks: open,
  mcp: open,
  agents: open,
};

const viewing = new Set(['list', 'read', 'view', 'export']);
/** Actions that use existing records, for the data plane. */
const using = new Set(['invoke', 'render']);

const isLogView = (resource: string, action: string): boolean => resource === 'logs' && viewing.has(action);

/** Do the roles and flags leave this scope to its holder? */
export function leaves(standing: Standing, scope: string): boolean {
  const [resource = '', action = ''] = scope.split('.');
  const { organisation, workspace, security } = standing;
  if (organisation === 'owner') return true;
  if (organisation === 'admin') return !isLogView(resource, action) || security.organisation_admins_view_logs;
  if (workspace === 'admin') return true;
  if (workspace === null) return false;
  if (using.has(action)) return true;
  const right = rows[resource]?.[viewing.has(action) ? 'view' : 'write'];
  const answer = right?.[workspace] ?? false;
  return typeof answer === 'boolean' ? answer : security[answer];
}

type Sight = 'log_metadata' | 'all_data';

function sees({ organisation, workspace, security }: Standing, what: Sight): boolean {
  if (organisation === 'owner') return true;
  if (organisation === 'admin') return what === 'all_data' || security.organisation_admins_view_log_metadata;
  if (workspace === 'admin') return true;
  if (workspace === null) return false;
  return security[`${workspace}s_view_${what}`];
}

/** May they see logs and analytics of all keys, or of their own alone? */
export const seesAllData = (standing: Standing): boolean => sees(standing, 'all_data');

/** May they see the feedback of clients on requests? */
export const seesLogMetadata = (standing: Standing): boolean => sees(standing, 'log_metadata');

/** null: the organisation has no such user, or the user has no place in that workspace. */
export async function standingOf(store: Store, place: Place, userId: string): Promise<Standing | null> {
  const roles = await store.members.roleOf(place.workspaceId, userId);
  const settings = await store.organisations.settings(place.organisationId, place.workspaceId);
  if (roles === null || roles.workspace === null || settings === null) return null;
  return { ...roles, security: settings.security };
}

/** Of an owner or admin, in the organisation as a whole. null: there is no such organisation. */
export async function standingInOrganisation(
  store: Store,
  organisationId: string,
  role: 'owner' | 'admin',
): Promise<Standing | null> {
  const settings = await store.organisations.settings(organisationId);
  if (settings === null) return null;
  const { security } = settings;
  // A workspace may show what the organisation does not: which logs they are is decided by VisibleLogs.
  const showsLogs =
    security.organisation_admins_view_logs ||
    (await store.workspaces.withOwnFlags(organisationId)).some(
      ({ securitySettings }) => securitySettings.organisation_admins_view_logs === true,
    );
  return {
    organisation: role,
    workspace: 'admin',
    security: { ...security, organisation_admins_view_logs: showsLogs },
  };
}
