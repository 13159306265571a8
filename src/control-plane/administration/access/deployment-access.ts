import type { DeploymentAuthSettings, DeploymentAuthSettingsUpdate } from '../../../../proto/messages.js';
import type { DeploymentAccess } from '../../store/store.js';
import { AdminError } from '../admin-error.js';
import { changeOf } from '../audit/mask.js';
import type { Caller } from './caller.js';

/** Where a deployment is reached and who may use it: `auth_settings` of its messages. */

export const noAccess: DeploymentAccess = {
  gatewayBaseUrl: null,
  mcpGatewayBaseUrl: null,
  privateLinkEndpoint: null,
  usePrivateLinkProxy: null,
  isDataserviceHosted: null,
  isPlaygroundProxyAllowed: null,
  disableGateway: null,
  jwtSubWorkspaceMapping: null,
  jwtSubsAllowed: [],
  workspacesAllowed: [],
};

export const accessMessage = (access: DeploymentAccess): DeploymentAuthSettings => ({
  gateway_base_url: access.gatewayBaseUrl,
  mcp_gateway_base_url: access.mcpGatewayBaseUrl,
  private_link_endpoint: access.privateLinkEndpoint,
  use_private_link_proxy: access.usePrivateLinkProxy,
  is_dataservice_hosted: access.isDataserviceHosted,
  is_playground_proxy_allowed: access.isPlaygroundProxyAllowed,
  disable_gateway: access.disableGateway,
  jwt_sub_workspace_mapping: access.jwtSubWorkspaceMapping,
  jwt_subs_allowed: access.jwtSubsAllowed,
  workspaces_allowed: access.workspacesAllowed,
});

/** Ids of workspaces that are named by id or slug. Throws AB02 for one that is not there. */
async function idsOf(caller: Caller, names: readonly string[], field: string): Promise<string[]> {
  const ids: string[] = [];
  for (const [i, name] of names.entries()) {
    const workspace = await caller.store.workspaces.get(caller.organisationId, name);
    if (workspace === null)
      throw new AdminError('AB02', `auth_settings.${field}[${i}]: there is no such workspace.`);
    ids.push(workspace.id);
  }
  return ids;
}

const joined = (kept: readonly string[], more: readonly string[], gone: readonly string[]): string[] =>
  [...new Set([...kept, ...more])].filter((one) => !gone.includes(one));

/** A workspace, or several, for each subject. */
function checkedMapping(mapping: DeploymentAccess['jwtSubWorkspaceMapping']) {
  for (const [subject, to] of Object.entries(mapping ?? {})) {
    const names: unknown[] = Array.isArray(to) ? to : [to];
    if (names.length === 0 || !names.every((name) => typeof name === 'string' && name !== ''))
      throw AdminError.field(
        `auth_settings.jwt_sub_workspace_mapping.${subject}`,
        'must be a workspace, or a list of them, by id or slug.',
      );
  }
  return mapping;
}

interface AccessRequest {
  readonly auth_settings?: (DeploymentAuthSettings & Partial<DeploymentAuthSettingsUpdate>) | null;
  readonly update_mask?: readonly string[] | null;
}

/** `before` with the additions and removals of the request. */
export async function accessOf(
  caller: Caller,
  before: DeploymentAccess,
  request: AccessRequest,
): Promise<DeploymentAccess> {
  const { auth_settings: given } = request;
  if (!given) return changeOf(request, 'auth_settings') === null ? noAccess : before;
  const single = <K extends keyof DeploymentAuthSettings, V>(
    field: K,
    kept: V,
  ): NonNullable<DeploymentAuthSettings[K]> | V | null =>
    given[field] || (changeOf(request, `auth_settings.${field}`) === null ? null : kept);
  const allowed = await idsOf(caller, given.workspaces_allowed, 'workspaces_allowed');
  const removed = await idsOf(caller, given.remove_workspaces_allowed ?? [], 'remove_workspaces_allowed');
  const isOpen = given.allow_all_workspaces === true;
  if (isOpen && allowed.length > 0)
    throw AdminError.field(
      'auth_settings.workspaces_allowed',
      'does not go together with allow_all_workspaces.',
    );
  const workspaces = joined(before.workspacesAllowed, allowed, removed);
  if (!isOpen && workspaces.length === 0 && removed.length > 0)
    throw AdminError.field(
      'auth_settings.remove_workspaces_allowed',
      'would leave none, and so let every workspace in: send allow_all_workspaces for that.',
    );
  return {
    gatewayBaseUrl: single('gateway_base_url', before.gatewayBaseUrl),
    mcpGatewayBaseUrl: single('mcp_gateway_base_url', before.mcpGatewayBaseUrl),
    privateLinkEndpoint: single('private_link_endpoint', before.privateLinkEndpoint),
    usePrivateLinkProxy: single('use_private_link_proxy', before.usePrivateLinkProxy),
    isDataserviceHosted: single('is_dataservice_hosted', before.isDataserviceHosted),
    isPlaygroundProxyAllowed: single('is_playground_proxy_allowed', before.isPlaygroundProxyAllowed),
    disableGateway: single('disable_gateway', before.disableGateway),
    jwtSubWorkspaceMapping: checkedMapping(
      single('jwt_sub_workspace_mapping', before.jwtSubWorkspaceMapping),
    ),
    jwtSubsAllowed: joined(before.jwtSubsAllowed, given.jwt_subs_allowed, given.remove_subs_allowed ?? []),
    workspacesAllowed: isOpen ? [] : workspaces,
  };
}
