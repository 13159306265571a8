import type { JsonFields } from './json.js';
import type { DocumentKind } from './kind.js';
import { deploymentKind, partnerKind, peopleKinds, priceKind } from './organisation-kinds.js';
import { references } from './references.js';

const limits = ['usage_limits.next_usage_reset_at'];
const usualLimits = {
  'usage_limits.type': 'cost',
  'usage_limits.shadow': false,
  'rate_limits.*.shadow': false,
};
const policies = (service: string) => ({
  reach: 'workspace' as const,
  create: `${service}ies.Create${service}y`,
  list: `${service}ies.List${service}ies`,
  read: null,
  update: `${service}ies.Update${service}y`,
  delete: `${service}ies.Delete${service}y`,
  id: 'id' as const,
  namedBy: 'id' as const,
  hasSlug: false,
  references: references.policy,
});

/** A list of workspaces means that not all may use it. */
function listedWorkspacesAlone(spec: JsonFields): JsonFields {
  const { allow_all_workspaces, ...rest } = spec;
  const listed = spec['allowed_workspaces'];
  return Array.isArray(listed) && listed.length > 0 && allow_all_workspaces === false ? rest : spec;
}

/** What both fields are when a document has one of them no longer: neither can be set without regard to the other. */
function workspacesLeft({ allow_all_workspaces = true, allowed_workspaces: listed }: JsonFields): JsonFields {
  return Array.isArray(listed) && listed.length > 0
    ? { allow_all_workspaces: false }
    : { allow_all_workspaces, allowed_workspaces: null };
}

/** Every kind, in the order in which records are created: a kind that names another one follows it. */
export const kinds: readonly DocumentKind[] = [
  {
    kind: 'Workspace',
    reach: 'organisation',
    create: 'Workspaces.CreateWorkspace',
    list: 'Workspaces.ListWorkspaces',
    read: null,
    update: 'Workspaces.UpdateWorkspace',
    delete: 'Workspaces.DeleteWorkspace',
    id: 'workspace_id',
    namedBy: 'id',
    hasSlug: true,
    without: ['users'],
    parts: [
      {
        method: 'Workspaces.UpdateWorkspace',
        fields: ['defaults', 'settings', 'security_settings'],
        late: true,
      },
    ],
    computed: ['usage_limits.*.next_usage_reset_at'],
    usual: {
      'usage_limits.*.type': 'cost',
      'usage_limits.*.shadow': false,
      'rate_limits.*.shadow': false,
    },
    references: references.workspace,
  },
  ...peopleKinds,
  {
    kind: 'SecretReference',
    reach: 'organisation',
    create: 'SecretReferences.CreateSecretReference',
    list: 'SecretReferences.ListSecretReferences',
    read: 'SecretReferences.GetSecretReference',
    update: 'SecretReferences.UpdateSecretReference',
    delete: 'SecretReferences.DeleteSecretReference',
    id: 'secret_reference_id',
    namedBy: 'slug',
    hasSlug: true,
    usual: { allow_all_workspaces: true },
    cleared: { allow_all_workspaces: workspacesLeft, allowed_workspaces: workspacesLeft },
    form: listedWorkspacesAlone,
    references: references.secretReference,
  },
  {
    kind: 'Integration',
    reach: 'either',
    create: 'Integrations.CreateIntegration',
    list: 'Integrations.ListIntegrations',
    read: 'Integrations.GetIntegration',
    update: 'Integrations.UpdateIntegration',
    delete: 'Integrations.DeleteIntegration',
    id: 'slug',
    namedBy: 'slug',
    hasSlug: true,
    once: ['create_default_provider', 'default_provider_slug'],
    parts: [
      { method: 'Integrations.UpdateIntegrationModels', fields: ['models', 'allow_all_models'] },
      {
        method: 'Integrations.UpdateIntegrationWorkspaces',
        fields: ['workspaces', 'global_workspace_access'],
      },
    ],
    computed: [
      'workspaces.*.usage_limits.*.next_usage_reset_at',
      'global_workspace_access.usage_limits.*.next_usage_reset_at',
    ],
    usual: {
      'secret_mappings.*.value_format': 'string',
      'models.*.is_custom': false,
      'models.*.is_finetune': false,
      'workspaces.*.usage_limits.*.type': 'cost',
      'workspaces.*.usage_limits.*.shadow': false,
      'workspaces.*.rate_limits.*.shadow': false,
      'global_workspace_access.usage_limits.*.type': 'cost',
      'global_workspace_access.usage_limits.*.shadow': false,
      'global_workspace_access.rate_limits.*.shadow': false,
    },
    keyed: { models: 'slug', workspaces: 'id' },
    references: references.integration,
  },
  {
    kind: 'Provider',
    reach: 'workspace',
    create: 'Providers.CreateProvider',
    list: 'Providers.ListProviders',
    read: null,
    update: 'Providers.UpdateProvider',
    delete: 'Providers.DeleteProvider',
    id: 'slug',
    namedBy: 'slug',
    hasSlug: true,
    once: ['source_provider_api_key_id'],
    computed: limits,
    usual: { ...usualLimits, 'secret_mappings.*.value_format': 'string' },
    references: references.provider,
  },
  partnerKind,
  priceKind,
  {
    kind: 'Guardrail',
    reach: 'either',
    create: 'Guardrails.CreateGuardrail',
    list: 'Guardrails.ListGuardrails',
    read: 'Guardrails.GetGuardrail',
    update: 'Guardrails.UpdateGuardrail',
    delete: 'Guardrails.DeleteGuardrail',
    id: 'id',
    namedBy: 'slug',
    hasSlug: false,
    usual: {
      'checks.*.is_enabled': true,
      'actions.sequential': false,
      'actions.soft_deny_200': false,
      'actions.stream': 'end',
      'actions.passthrough': 'refuse',
      'actions.on_success.feedback.value': 5,
      'actions.on_success.feedback.weight': 1,
      'actions.on_success.feedback.metadata': '',
      'actions.on_fail.feedback.value': -5,
      'actions.on_fail.feedback.weight': 1,
      'actions.on_fail.feedback.metadata': '',
    },
    secrets: 'guardrail',
  },
  {
    kind: 'Config',
    reach: 'workspace',
    create: 'Configs.CreateConfig',
    list: 'Configs.ListConfigs',
    read: 'Configs.GetConfig',
    update: 'Configs.UpdateConfig',
    delete: 'Configs.DeleteConfig',
    id: 'slug',
    namedBy: 'slug',
    hasSlug: true,
    slugPrefix: 'pc-',
    usual: { is_default: 0 },
    secrets: 'config',
    references: references.config,
  },
  {
    kind: 'Collection',
    reach: 'workspace',
    create: 'Collections.CreateCollection',
    list: 'Collections.ListCollections',
    read: null,
    update: 'Collections.UpdateCollection',
    delete: 'Collections.DeleteCollection',
    id: 'id',
    namedBy: 'slug',
    hasSlug: false,
    references: references.collection,
  },
  {
    kind: 'Label',
    reach: 'either',
    create: 'Labels.CreateLabel',
    list: 'Labels.ListLabels',
    read: null,
    update: 'Labels.UpdateLabel',
    delete: 'Labels.DeleteLabel',
    id: 'id',
    namedBy: 'id',
    hasSlug: false,
  },
  {
    kind: 'SavedFilter',
    reach: 'workspace',
    create: 'SavedFilters.CreateSavedFilter',
    list: 'SavedFilters.ListSavedFilters',
    read: null,
    update: 'SavedFilters.UpdateSavedFilter',
    delete: 'SavedFilters.DeleteSavedFilter',
    id: 'id',
    namedBy: 'id',
    hasSlug: false,
  },
  {
    kind: 'ApiKey',
    reach: 'either',
    create: 'ApiKeys.CreateApiKey',
    list: 'ApiKeys.ListApiKeys',
    read: null,
    update: 'ApiKeys.UpdateApiKey',
    delete: 'ApiKeys.DeleteApiKey',
    id: 'id',
    namedBy: 'id',
    hasSlug: false,
    newSecret: 'key',
    once: ['type', 'sub_type', 'user_id'],
    computed: [...limits, 'rotation_policy.next_rotation_at'],
    usual: {
      ...usualLimits,
      'defaults.allow_config_override': true,
      'rotation_policy.key_transition_period_ms': 1_800_000,
    },
    references: references.apiKey,
  },
  deploymentKind,
  {
    kind: 'UsageLimitsPolicy',
    ...policies('UsageLimitsPolic'),
    computed: ['next_usage_reset_at'],
    usual: { shadow: false },
  },
  {
    kind: 'RateLimitsPolicy',
    ...policies('RateLimitsPolic'),
    usual: { shadow: false, target: 'llm' },
  },
  {
    kind: 'Organisation',
    reach: 'single',
    create: null,
    list: null,
    read: 'Organisations.GetOrganisation',
    update: 'Organisations.UpdateOrganisation',
    delete: null,
    id: 'id',
    namedBy: 'id',
    hasSlug: false,
    parts: [
      {
        method: 'Organisations.UpdateOrganisationDefaults',
        fields: ['input_guardrails', 'output_guardrails'],
      },
      {
        method: 'Organisations.UpdateAuthSettings',
        fields: [
          'session_settings',
          'jwks_url',
          'jwks',
          'issuer',
          'audience',
          'algorithms',
          'user_id_claims',
          'oidc',
        ],
      },
    ],
    usual: { algorithms: ['RS256'], user_id_claims: ['email_id', 'sub', 'uid'] },
    references: references.organisation,
  },
];

const byName = new Map(kinds.map((kind) => [kind.kind, kind]));

/** The kind of that name. */
export const kindNamed = (name: unknown): DocumentKind | undefined => byName.get(name as string);
