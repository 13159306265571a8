import type { KeyType } from './principal.js';

type Holders = readonly KeyType[];

const organisation: Holders = ['organisation-service'];
const service: Holders = ['organisation-service', 'workspace-service'];
const workspace: Holders = ['workspace-service', 'workspace-user'];
const all: Holders = ['organisation-service', 'workspace-service', 'workspace-user'];
const crud = ['create', 'read', 'update', 'delete', 'list'] as const;

/** Resource, its actions, and the types of keys that may have them. */
const table: readonly (readonly [resource: string, actions: readonly string[], holders: Holders])[] = [
  ['organisation_users', crud, organisation],
  ['organisation_service_api_keys', [...crud, 'rotate'], organisation],
  ['audit_logs', ['list'], organisation],
  ['plugins', ['create', 'update', 'list'], organisation],
  ['secret_references', crud, organisation],
  ['deployments', crud, organisation],
  ['organisation_integrations', ['create', 'read', 'update', 'delete'], organisation],
  ['organisation_integrations', ['list'], all],
  ['organisation_mcp_integrations', ['create', 'read', 'update', 'delete'], organisation],
  ['organisation_mcp_integrations', ['list'], all],
  ['organisation_agent_integrations', ['create', 'read', 'update', 'delete'], organisation],
  ['organisation_agent_integrations', ['list'], all],
  ['workspaces', ['delete'], organisation],
  ['workspaces', ['create', 'read', 'update', 'list'], all],
  ['workspace_service_api_keys', [...crud, 'rotate'], service],
  ['workspace_user_api_keys', [...crud, 'rotate'], service],
  ['workspace_users', crud, all],
  ['prompts', [...crud, 'publish'], all],
  ['prompts', ['render'], workspace],
  ['configs', crud, all],
  ['guardrails', crud, all],
  ['guardrails', ['invoke'], workspace],
  ['virtual_keys', [...crud, 'duplicate', 'copy'], all],
  ['providers', [...crud, 'duplicate'], all],
  ['policies', crud, all],
  ['workspace_integrations', crud, all],
  ['workspace_mcp_integrations', crud, all],
  ['workspace_agent_integrations', crud, all],
  ['mcp_servers', crud, all],
  ['mcp', ['invoke'], workspace],
  ['agent_servers', crud, all],
  ['agents', ['invoke'], workspace],
  ['analytics', ['view'], all],
  ['logs', ['export', 'list', 'view'], all],
  ['logs', ['write', 'read'], workspace],
  ['completions', ['write', 'read'], workspace],
  ['feedbacks', ['read', 'write'], workspace],
];

const holdersOf = new Map<string, Holders>();
for (const [resource, actions, holders] of table) {
  for (const action of actions) holdersOf.set(`${resource}.${action}`, holders);
}

/** Resource in the scopes for managing keys of a type: `workspace_user_api_keys` in `workspace_user_api_keys.create`. */
export const keyResource: Readonly<Record<KeyType, string>> = {
  'organisation-service': 'organisation_service_api_keys',
  'workspace-service': 'workspace_service_api_keys',
  'workspace-user': 'workspace_user_api_keys',
};

/** Is there such a scope at all? */
export const isScope = (scope: string): boolean => holdersOf.has(scope);

/** May a key of this type hold this scope? */
export const mayHold = (type: KeyType, scope: string): boolean =>
  holdersOf.get(scope)?.includes(type) ?? false;

/** Every scope that a key of this type may hold. */
export function scopesOf(type: KeyType): string[] {
  return [...holdersOf].filter(([, holders]) => holders.includes(type)).map(([scope]) => scope);
}
