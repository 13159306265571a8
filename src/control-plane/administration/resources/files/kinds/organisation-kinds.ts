import type { JsonFields } from './json.js';
import type { DocumentIdentity, DocumentKind } from './kind.js';
import { references } from './references.js';

const text = (value: unknown): string => String(value ?? '');
const isEmail = (name: string): boolean => /^[^\s@]+@[^\s@]+$/.test(name);

const user: DocumentIdentity = {
  form: 'the e-mail address',
  isName: isEmail,
  normal: (name) => name.toLowerCase(),
  nameOf: ({ email }) => text(email).toLowerCase(),
  idOf: ({ id }) => text(id),
  requestOf: (id) => ({ user_id: id }),
  newRequest: async (name, body) => ({ ...body, email: name }),
};

/** A membership: one user in one workspace. */
const member: DocumentIdentity = {
  form: 'the e-mail address of a user',
  isName: isEmail,
  normal: (name) => name.toLowerCase(),
  nameOf: ({ email }) => text(email).toLowerCase(),
  idOf: ({ workspace_id, id }) => `${text(workspace_id)} ${text(id)}`,
  requestOf(id) {
    const [workspace_id, user_id] = id.split(' ');
    return { workspace_id, user_id };
  },
  async newRequest(name, { workspace_id, ...rest }, userId) {
    return { workspace_id, users: [{ ...rest, id: await userId(name) }] };
  },
  newId: ({ workspace_id, users }) => `${text(workspace_id)} ${text((users as JsonFields[])[0]?.['id'])}`,
};

const mapping: DocumentIdentity = {
  form: 'the name of a SCIM group',
  isName: () => true,
  nameOf: ({ scim_group }) => text(scim_group),
  idOf: ({ id }) => text(id),
  requestOf: (id) => ({ scim_workspace_group_id: id }),
  newRequest: async (name, body) => ({ ...body, scim_group_name: name }),
};

const partner: DocumentIdentity = {
  form: 'the partner, as in the ids of its checks',
  isName: (name) => /^[\w-]+$/.test(name),
  nameOf: ({ plugin_provider_id }) => text(plugin_provider_id),
  idOf: ({ id }) => text(id),
  requestOf: (id) => ({ id }),
  newRequest: async (name, body) => ({ ...body, plugin_provider_id: name }),
};

/** `openai/gpt-4o`, or `openai/gpt-4o@2026-10-07` for a price from a day on. */
const priceName = /^([^/]+)\/(.+?)(?:@(\d{4}-\d\d-\d\d))?$/;

function priceOf(name: string): JsonFields {
  const [, provider, model, since] = priceName.exec(name) ?? [];
  return { provider, model, ...(since !== undefined && { since }) };
}

const priceNameOf = ({ provider, model, since }: JsonFields): string =>
  `${text(provider)}/${text(model)}${since ? `@${text(since)}` : ''}`;

const price: DocumentIdentity = {
  form: 'provider/model, or provider/model@2026-10-07 for a price from that day on',
  isName: (name) => priceName.test(name),
  nameOf: priceNameOf,
  idOf: priceNameOf,
  requestOf: priceOf,
  newRequest: async (name, body) => ({ ...body, ...priceOf(name) }),
  newId: priceNameOf,
};

/** People, their memberships, and the groups of an identity provider that are mapped to memberships. */
export const peopleKinds: readonly DocumentKind[] = [
  {
    kind: 'User',
    reach: 'organisation',
    create: 'Users.CreateUser',
    list: 'Users.ListUsers',
    read: null,
    update: 'Users.UpdateUser',
    delete: 'Users.DeleteUser',
    id: 'user_id',
    namedBy: 'id',
    hasSlug: false,
    identity: user,
    onRequest: true,
    without: ['email', 'workspaces'],
    once: ['first_name', 'last_name'],
  },
  {
    kind: 'Member',
    reach: 'workspace',
    create: 'WorkspaceMembers.AddWorkspaceMembers',
    list: 'WorkspaceMembers.ListWorkspaceMembers',
    read: null,
    update: 'WorkspaceMembers.UpdateWorkspaceMember',
    delete: 'WorkspaceMembers.RemoveWorkspaceMember',
    id: 'user_id',
    namedBy: 'id',
    hasSlug: false,
    identity: member,
    onRequest: true,
    specMethod: 'WorkspaceMembers.UpdateWorkspaceMember',
    without: ['user_id'],
  },
  {
    kind: 'ScimMapping',
    reach: 'workspace',
    create: 'ScimMappings.CreateScimMapping',
    list: 'ScimMappings.ListScimMappings',
    read: null,
    update: 'ScimMappings.CreateScimMapping',
    delete: 'ScimMappings.DeleteScimMapping',
    id: 'id',
    namedBy: 'id',
    hasSlug: false,
    identity: mapping,
    without: ['scim_group_id', 'scim_group_name'],
    change: 'never',
  },
];

/** Credentials of partners whose checks guardrails name. */
export const partnerKind: DocumentKind = {
  kind: 'Plugin',
  reach: 'organisation',
  create: 'Plugins.CreatePlugin',
  list: 'Plugins.ListPlugins',
  read: null,
  update: 'Plugins.UpdatePlugin',
  delete: 'Plugins.DeletePlugin',
  id: 'id',
  namedBy: 'id',
  hasSlug: false,
  identity: partner,
  without: ['plugin_provider_id'],
  usual: { 'secret_mappings.*.value_format': 'string' },
  secrets: 'partner',
  references: references.provider,
};

export const priceKind: DocumentKind = {
  kind: 'ModelPrice',
  reach: 'organisation',
  create: 'ModelPrices.UpdateModelPrice',
  list: 'ModelPrices.ListModelPrices',
  read: null,
  update: 'ModelPrices.UpdateModelPrice',
  delete: 'ModelPrices.DeleteModelPrice',
  id: 'id',
  namedBy: 'id',
  hasSlug: false,
  identity: price,
  without: ['provider', 'model', 'since'],
  change: 'whole',
};

export const deploymentKind: DocumentKind = {
  kind: 'Deployment',
  reach: 'organisation',
  create: 'Deployments.CreateDeployment',
  list: 'Deployments.ListDeployments',
  read: null,
  update: 'Deployments.UpdateDeployment',
  delete: 'Deployments.DeleteDeployment',
  id: 'deployment_id',
  namedBy: 'slug',
  hasSlug: true,
  // Otherwise fields that a document omits from these objects would keep their values.
  withUpdate: { override_existing: true },
  usual: { type: 'production', is_default: false },
  newSecret: 'auth_secret',
  references: references.deployment,
};
