import type { Message } from '../../proto/codec.js';

/** One of everything, in one workspace: by id or slug. */
export interface Place {
  readonly organisation: string;
  readonly workspace: string;
  readonly workspaceName: string;
  /** Members of the workspace, and a user who is none. */
  readonly user: string;
  readonly stranger: string;
  readonly config: string;
  readonly configVersion: string;
  readonly provider: string;
  readonly virtualKey: string;
  readonly virtualKeyId: string;
  readonly serviceKey: string;
  readonly userKey: string;
  /** Of the organisation. */
  readonly adminKey: string;
  /** Rotated by schedule, and not revealed yet. */
  readonly rotatedServiceKey: string;
  readonly rotatedUserKey: string;
  readonly rotatedAdminKey: string;
  /** That has failed. */
  readonly mail: string;
  readonly guardrail: string;
  readonly label: string;
  readonly collection: string;
  readonly savedFilter: string;
  readonly logExport: string;
  readonly integration: string;
  readonly organisationIntegration: string;
  readonly ratePolicy: string;
  readonly usagePolicy: string;
  readonly invite: string;
  readonly inviteToken: string;
  /** A session of `user`. */
  readonly session: string;
  readonly deployment: string;
  /** Of the organisation. */
  readonly secretReference: string;
  /** Of the organisation. */
  readonly plugin: string;
  readonly log: string;
  /** Of the organisation. */
  readonly scimGroup: string;
  readonly scimMapping: string;
}

/** The request of a row: what it is about stands in `at`. */
export type RequestOf = (at: Place) => Message;

const within = (at: Place): Message => ({ workspace_id: at.workspace });
const about = (name: string, field: keyof Place, more: Message = {}): RequestOf => {
  return (at) => ({ [name]: at[field], ...within(at), ...more });
};
/** Of the organisation: no workspace is named. */
const only = (name: string, field: keyof Place, more: Message = {}): RequestOf => {
  return (at) => ({ [name]: at[field], ...more });
};
const nothing: RequestOf = () => ({});
const time = { start_time: '2026-01-01T00:00:00.000Z', end_time: '2036-01-01T00:00:00.000Z' };
const condition = { conditions: [{ key: 'model', value: '@main/gpt' }], group_by: [{ key: 'api_key' }] };
const reaction = { feedback: {} };
const actions = { deny: true, async: false, on_success: reaction, on_fail: reaction };
const integration = { name: 'new', ai_provider_id: 'openai', key: 'sk-new', create_default_provider: false };
const key = { name: 'new', scopes: ['configs.list'] };

const variable = { manager_type: 'env', auth_config: {}, secret_path: 'SECRET' };
/** The organisation is in the path. */
const ofScim = (more: RequestOf = () => ({})): RequestOf => {
  return (at) => ({ organisation_id: at.organisation, ...more(at) });
};
const deactivation = { Operations: [{ op: 'replace', path: 'active', value: false }] };
const emptying = { Operations: [{ op: 'remove', path: 'members' }] };

const figures: RequestOf = (at) => ({
  workspace_slug: at.workspace,
  time_of_generation_min: time.start_time,
  time_of_generation_max: time.end_time,
});

/** `Service.Method`, or `Service.Method of a thing` where one method has several kinds of object. */
export const requests: Readonly<Record<string, RequestOf>> = {
  'Analytics.GraphRequests': figures,
  'Analytics.GraphCost': figures,
  'Analytics.GraphLatency': figures,
  'Analytics.GraphTtft': figures,
  'Analytics.GraphTokens': figures,
  'Analytics.GraphUsers': figures,
  'Analytics.GraphUsersRequests': figures,
  'Analytics.GraphErrors': figures,
  'Analytics.GraphErrorsRate': figures,
  'Analytics.GraphErrorsStacks': figures,
  'Analytics.GraphErrorsStatusCodes': figures,
  'Analytics.GraphRequestsRescued': figures,
  'Analytics.GraphCacheHitRate': figures,
  'Analytics.GraphCacheLatency': figures,
  'Analytics.GraphFeedbacks': figures,
  'Analytics.GraphFeedbacksScores': figures,
  'Analytics.GraphFeedbacksWeighted': figures,
  'Analytics.GraphFeedbacksAiModels': figures,
  'Analytics.SummarizeCache': figures,
  'Analytics.GroupUsers': figures,
  'Analytics.GroupAiModels': figures,
  'Analytics.GroupWorkspaces': figures,
  'Analytics.GroupMetadata': (at) => ({ ...figures(at), metadata_key: 'team' }),
  'Analytics.GroupBy': (at) => ({ ...figures(at), group_by: 'model' }),
  'Analytics.WhatIf': (at) => ({ filters: figures(at), replace: [] }),
  'Analytics.ListAnomalies': (at) => ({ workspace_slug: at.workspace }),
  'Analytics.ListMetadataValues': (at) => ({ workspace_slug: at.workspace, metadata_key: 'team' }),
  'ApiKeys.CreateApiKey of the organisation': () => ({ type: 'organisation', sub_type: 'service', ...key }),
  'ApiKeys.CreateApiKey of a workspace': (at) => ({
    type: 'workspace',
    sub_type: 'service',
    ...key,
    ...within(at),
  }),
  'ApiKeys.CreateApiKey of a user': (at) => ({
    type: 'workspace',
    sub_type: 'user',
    user_id: at.user,
    ...key,
    ...within(at),
  }),
  'Alerts.ListAlerts': within,
  'ApiKeys.ListApiKeys': within,
  'ApiKeys.GetApiKey of the organisation': only('id', 'adminKey'),
  'ApiKeys.GetApiKey of a workspace': only('id', 'serviceKey'),
  'ApiKeys.GetApiKey of a user': only('id', 'userKey'),
  'ApiKeys.UpdateApiKey of the organisation': only('id', 'adminKey', { name: 'other' }),
  'ApiKeys.UpdateApiKey of a workspace': only('id', 'serviceKey', { name: 'other' }),
  'ApiKeys.UpdateApiKey of a user': only('id', 'userKey', { name: 'other' }),
  'ApiKeys.DeleteApiKey of the organisation': only('id', 'adminKey'),
  'ApiKeys.DeleteApiKey of a workspace': only('id', 'serviceKey'),
  'ApiKeys.DeleteApiKey of a user': only('id', 'userKey'),
  'ApiKeys.RotateApiKey of the organisation': only('id', 'adminKey'),
  'ApiKeys.RotateApiKey of a workspace': only('id', 'serviceKey'),
  'ApiKeys.RotateApiKey of a user': only('id', 'userKey'),
  'ApiKeys.RevealRotatedApiKey of the organisation': only('id', 'rotatedAdminKey'),
  'ApiKeys.RevealRotatedApiKey of a workspace': only('id', 'rotatedServiceKey'),
  'ApiKeys.RevealRotatedApiKey of a user': only('id', 'rotatedUserKey'),
  'AuditLogs.ListAuditLogs': (at) => ({ ...time, ...within(at) }),
  'AuditLogs.ExportAuditLogs': (at) => ({ ...time, format: 'jsonl', ...within(at) }),
  // Without a password: nothing is hashed.
  'Auth.SignIn': () => ({ email: 'user@example.com', password: '' }),
  'Auth.StartOidc': nothing,
  'Auth.FinishOidc': nothing,
  'Auth.SignOut': nothing,
  'Auth.GetSession': nothing,
  'Auth.ListSessions': (at) => ({ user_id: at.user }),
  'Auth.ListSessions of its own': nothing,
  'Auth.DeleteSession': only('session_id', 'session'),
  'Auth.UpdatePassword': () => ({ current_password: 'x', new_password: 'too short' }),
  'CircuitBreakers.ListCircuitBreakers': within,
  'Collections.CreateCollection': (at) => ({ name: 'new', ...within(at) }),
  'Collections.ListCollections': within,
  'Collections.GetCollection': about('id', 'collection'),
  'Collections.UpdateCollection': about('id', 'collection', { name: 'other' }),
  'Collections.DeleteCollection': about('id', 'collection'),
  'Configs.CreateConfig': (at) => ({ name: 'new', config: { retry: { attempts: 1 } }, ...within(at) }),
  'Configs.ListConfigs': within,
  'Configs.GetConfig': about('slug', 'config'),
  'Configs.UpdateConfig': about('slug', 'config', { name: 'other' }),
  'Configs.DeleteConfig': about('slug', 'config'),
  'Configs.ListConfigVersions': about('slug', 'config'),
  'Configs.GetConfigVersion': (at) => ({
    slug: at.config,
    version_id: at.configVersion,
    ...within(at),
  }),
  'Deployments.CreateDeployment': () => ({ name: 'new' }),
  'Deployments.ListDeployments': nothing,
  'Deployments.GetDeployment': only('deployment_id', 'deployment'),
  'Deployments.UpdateDeployment': only('deployment_id', 'deployment', { name: 'other' }),
  'Deployments.DeleteDeployment': only('deployment_id', 'deployment'),
  'Deployments.PingDeployment': only('deployment_id', 'deployment'),
  'SecretReferences.CreateSecretReference': () => ({ name: 'new', ...variable }),
  'SecretReferences.ListSecretReferences': nothing,
  'SecretReferences.GetSecretReference': only('secret_reference_id', 'secretReference'),
  'SecretReferences.UpdateSecretReference': only('secret_reference_id', 'secretReference', { name: 'other' }),
  'SecretReferences.DeleteSecretReference': only('secret_reference_id', 'secretReference'),
  'Guardrails.CreateGuardrail': (at) => ({
    name: 'new',
    checks: [{ id: 'default.regexMatch', parameters: { rule: 'a' } }],
    actions,
    ...within(at),
  }),
  'Guardrails.ListGuardrails': within,
  'Guardrails.GetGuardrail': about('id', 'guardrail'),
  'Guardrails.UpdateGuardrail': about('id', 'guardrail', { name: 'other' }),
  'Guardrails.TestGuardrail': about('id', 'guardrail', { texts: [{ text: 'test' }] }),
  'Guardrails.DeleteGuardrail': about('id', 'guardrail'),
  'Integrations.CreateIntegration of a workspace': (at) => ({
    ...integration,
    ...within(at),
  }),
  'Integrations.CreateIntegration of the organisation': () => ({
    ...integration,
  }),
  'Integrations.ListIntegrations': within,
  'Integrations.GetIntegration of a workspace': about('slug', 'integration'),
  'Integrations.GetIntegration of the organisation': only('slug', 'organisationIntegration'),
  'Integrations.UpdateIntegration of a workspace': about('slug', 'integration', { name: 'other' }),
  'Integrations.UpdateIntegration of the organisation': only('slug', 'organisationIntegration', {
    name: 'other',
  }),
  'Integrations.DeleteIntegration of a workspace': about('slug', 'integration'),
  'Integrations.DeleteIntegration of the organisation': only('slug', 'organisationIntegration'),
  'Integrations.ListIntegrationModels': about('slug', 'integration'),
  'Integrations.UpdateIntegrationModels': about('slug', 'integration', {
    models: [{ slug: 'gpt', enabled: true }],
  }),
  'Integrations.DeleteIntegrationModels': about('slug', 'integration', { slugs: ['gpt'] }),
  'Integrations.ListIntegrationWorkspaces': only('slug', 'organisationIntegration'),
  'Integrations.UpdateIntegrationWorkspaces': (at) => ({
    slug: at.organisationIntegration,
    workspaces: [{ id: at.workspace, enabled: true }],
  }),
  'Invites.CreateInvite': (at) => ({
    email: 'new@example.com',
    role: 'member',
    workspaces: [{ id: at.workspace, role: 'member' }],
  }),
  'Invites.ListInvites': nothing,
  'Invites.GetInvite': only('invite_id', 'invite'),
  'Invites.DeleteInvite': only('invite_id', 'invite'),
  'Invites.ResendInvite': only('invite_id', 'invite'),
  'Invites.AcceptInvite': only('token', 'inviteToken'),
  'SavedFilters.CreateSavedFilter': (at) => ({
    name: 'new',
    filters: { status_code: '500' },
    ...within(at),
  }),
  'SavedFilters.ListSavedFilters': within,
  'SavedFilters.GetSavedFilter': about('id', 'savedFilter'),
  'SavedFilters.UpdateSavedFilter': about('id', 'savedFilter', { name: 'other' }),
  'SavedFilters.DeleteSavedFilter': about('id', 'savedFilter'),
  'LogExports.CreateLogExport': (at) => ({
    filters: { status_code: '500' },
    requested_data: ['id'],
    ...within(at),
  }),
  'LogExports.ListLogExports': within,
  'LogExports.GetFieldRestrictions': within,
  'LogExports.GetLogExport': about('export_id', 'logExport'),
  'LogExports.UpdateLogExport': about('export_id', 'logExport', { description: 'other' }),
  'LogExports.StartLogExport': about('export_id', 'logExport'),
  'LogExports.CancelLogExport': about('export_id', 'logExport'),
  'LogExports.DownloadLogExport': about('export_id', 'logExport'),
  'LogExports.ReadLogExportFile': (at) => ({
    export_id: at.logExport,
    organisation_id: at.organisation,
    expires: 4102444800,
    signature: 'none',
  }),
  'Labels.CreateLabel': (at) => ({ name: 'new', ...within(at) }),
  'Labels.ListLabels': within,
  'Labels.GetLabel': about('id', 'label'),
  'Labels.UpdateLabel': about('id', 'label', { name: 'other' }),
  'Labels.DeleteLabel': about('id', 'label'),
  'Feedback.CreateFeedback': () => ({ feedbacks: [{ trace_id: 't', value: 5 }] }),
  'Feedback.UpdateFeedback': () => ({ id: 'none', value: 5 }),
  'Logs.CreateLogs': () => ({
    logs: [{ request: { url: 'https://x.example/v1', body: {} }, response: { body: {} } }],
  }),
  'Logs.CreateTraces': () => ({ spans: { content_type: 'application/json', data: Buffer.from('{}') } }),
  'Logs.ExplainCost': only('id', 'log'),
  'Logs.GetLog': only('id', 'log'),
  'Logs.GetUnredactedText': only('id', 'log'),
  'Logs.ImportLogs': (at) => ({
    lines: Buffer.from(
      JSON.stringify({ created_at: '2026-01-01T00:00:00.000Z', workspace_id: at.workspace }),
    ),
  }),
  'Logs.ListLogs': within,
  'Mail.ListMails': nothing,
  'Mail.GetMail': only('id', 'mail'),
  'Mail.RetryMail': only('id', 'mail'),
  'Mail.TestMail': () => ({ address: 'test@example.com' }),
  'ModelPrices.ListModelPrices': nothing,
  'ModelPrices.UpdateModelPrice': () => ({
    provider: 'openai',
    model: 'gpt-4o-mini',
    pay_as_you_go: { request_token: { price: 0.00001 }, response_token: { price: 0.00001 } },
  }),
  'ModelPrices.DeleteModelPrice': () => ({ provider: 'openai', model: 'gpt-4o-mini' }),
  'Models.GetModelPricing': () => ({ provider: 'openai', model: 'gpt-4o-mini' }),
  'Models.ListModels': within,
  'Nodes.ListNodes': nothing,
  'Organisations.GetAuthSettings': nothing,
  'Organisations.GetOrganisation': nothing,
  'Organisations.GetOrganisationDefaults': nothing,
  'Organisations.ListWorkspaceExclusions': (at) => ({
    kind: 'input-guardrails',
    organisation_id: at.organisation,
  }),
  'Organisations.RefreshAuthSettings': nothing,
  'Organisations.UpdateAuthSettings': () => ({ session_settings: { max_session_ttl: 900 } }),
  'Organisations.UpdateOrganisation': () => ({ name: 'other' }),
  'Organisations.UpdateOrganisationDefaults': () => ({ input_guardrails: [] }),
  'Organisations.UpdateWorkspaceExclusions': (at) => ({
    kind: 'input-guardrails',
    workspaces: [{ workspace_id: at.workspace, excluded: true }],
  }),
  'Plugins.CreatePlugin': () => ({
    plugin_provider_id: 'patronus',
    credentials: { apiKey: 'pat-0123456789' },
  }),
  'Plugins.ListPlugins': nothing,
  'Plugins.GetPlugin': only('id', 'plugin'),
  'Plugins.UpdatePlugin': only('id', 'plugin', { name: 'other' }),
  'Plugins.DeletePlugin': only('id', 'plugin'),
  'Providers.CreateProvider': (at) => ({ name: 'new', provider: 'openai', key: 'sk-new', ...within(at) }),
  'Providers.ListProviders': within,
  'Providers.GetProvider': about('slug', 'provider'),
  'Providers.UpdateProvider': about('slug', 'provider', { name: 'other' }),
  'Providers.DeleteProvider': about('slug', 'provider'),
  'RateLimitsPolicies.CreateRateLimitsPolicy': (at) => ({
    ...condition,
    type: 'requests',
    unit: 'rpm',
    value: 5,
    ...within(at),
  }),
  'RateLimitsPolicies.ListRateLimitsPolicies': within,
  'RateLimitsPolicies.GetRateLimitsPolicy': about('id', 'ratePolicy'),
  'RateLimitsPolicies.UpdateRateLimitsPolicy': about('id', 'ratePolicy', { name: 'other' }),
  'RateLimitsPolicies.DeleteRateLimitsPolicy': about('id', 'ratePolicy'),
  'Reconciliations.ReconcileUsage': () => ({
    provider: 'generic',
    file: 'date,model,key,input_tokens,output_tokens,cost_usd\n2026-10-07,m,k,1,1,0.1\n',
  }),
  'Documents.ApplyDocuments': (at) => ({
    dry_run: true,
    documents: [{ kind: 'Config', name: at.config, workspace: at.workspace, spec: { name: 'other' } }],
  }),
  'Documents.ExportDocuments': within,
  'Requests.ReplayRequests': (at) => ({ config: { provider: 'openai' }, ...within(at) }),
  'Requests.ExplainRequest': (at) => ({ request_body: { model: 'gpt' }, ...within(at) }),
  'Schedules.ListSchedules': nothing,
  'Schedules.ListScheduleRuns': () => ({ name: 'prune' }),
  'Scim.ListScimUsers': ofScim(),
  'Scim.CreateScimUser': ofScim(() => ({ resource: { userName: 'new-scim@example.com' } })),
  'Scim.GetScimUser': ofScim((at) => ({ user_id: at.user })),
  'Scim.ReplaceScimUser': ofScim((at) => ({ user_id: at.user, resource: { userName: 'scim@example.com' } })),
  'Scim.PatchScimUser': ofScim((at) => ({ user_id: at.user, patch: deactivation })),
  'Scim.DeleteScimUser': ofScim((at) => ({ user_id: at.user })),
  'Scim.ListScimGroups': ofScim(),
  'Scim.CreateScimGroup': ofScim(() => ({ resource: { displayName: 'new' } })),
  'Scim.GetScimGroup': ofScim((at) => ({ group_id: at.scimGroup })),
  'Scim.ReplaceScimGroup': ofScim((at) => ({ group_id: at.scimGroup, resource: { displayName: 'other' } })),
  'Scim.PatchScimGroup': ofScim((at) => ({ group_id: at.scimGroup, patch: emptying })),
  'Scim.DeleteScimGroup': ofScim((at) => ({ group_id: at.scimGroup })),
  'Scim.GetScimServiceProviderConfig': ofScim(),
  'Scim.ListScimResourceTypes': ofScim(),
  'Scim.GetScimResourceType': ofScim(() => ({ name: 'User' })),
  'Scim.ListScimSchemas': ofScim(),
  'Scim.GetScimSchema': ofScim(() => ({ schema_id: 'urn:ietf:params:scim:schemas:core:2.0:User' })),
  'ScimMappings.ListScimMappings': nothing,
  'ScimMappings.CreateScimMapping': (at) => ({
    ...within(at),
    role: 'manager',
    scim_group_id: at.scimGroup,
  }),
  'ScimMappings.DeleteScimMapping': only('scim_workspace_group_id', 'scimMapping'),
  'ScimMappings.ListScimMappingGroups': nothing,
  'UsageLimitsPolicies.CreateUsageLimitsPolicy': (at) => ({
    ...condition,
    type: 'cost',
    credit_limit: 5,
    ...within(at),
  }),
  'UsageLimitsPolicies.ListUsageLimitsPolicies': within,
  'UsageLimitsPolicies.GetUsageLimitsPolicy': about('id', 'usagePolicy'),
  'UsageLimitsPolicies.UpdateUsageLimitsPolicy': about('id', 'usagePolicy', { name: 'other' }),
  'UsageLimitsPolicies.DeleteUsageLimitsPolicy': about('id', 'usagePolicy'),
  'UsageLimitsPolicies.ListUsageLimitsEntities': about('id', 'usagePolicy'),
  'UsageLimitsPolicies.ResetUsageLimitsEntity': about('id', 'usagePolicy', { entity_id: 'none' }),
  'Users.CreateUser': (at) => ({
    email: 'new@example.com',
    role: 'member',
    workspaces: [{ id: at.workspace, role: 'member' }],
  }),
  'Users.ListUsers': nothing,
  'Users.ListOrganisationMembers': ofScim(),
  'Users.GetUser': only('user_id', 'user'),
  'Users.UpdateUser': only('user_id', 'user', { role: 'admin' }),
  'Users.DeleteUser': only('user_id', 'user'),
  'Users.LinkUser': only('user_id', 'user'),
  'Users.LinkUser for the first owner': nothing,
  'VirtualKeys.CreateVirtualKey': (at) => ({ name: 'new', provider: 'openai', key: 'sk-new', ...within(at) }),
  'VirtualKeys.ListVirtualKeys': within,
  'VirtualKeys.GetVirtualKey': about('slug', 'virtualKey'),
  'VirtualKeys.UpdateVirtualKey': about('slug', 'virtualKey', { name: 'other' }),
  'VirtualKeys.DeleteVirtualKey': about('slug', 'virtualKey'),
  'VirtualKeys.MigrateVirtualKey': only('virtual_key_id', 'virtualKeyId'),
  'Watch.WatchConfig': nothing,
  'WorkspaceMembers.AddWorkspaceMembers': (at) => ({
    ...within(at),
    users: [{ id: at.stranger, role: 'member' }],
  }),
  'WorkspaceMembers.ListWorkspaceMembers': within,
  'WorkspaceMembers.GetWorkspaceMember': about('user_id', 'user'),
  'WorkspaceMembers.UpdateWorkspaceMember': about('user_id', 'user', { role: 'manager' }),
  'WorkspaceMembers.RemoveWorkspaceMember': about('user_id', 'user'),
  'Workspaces.CreateWorkspace': () => ({ name: 'new' }),
  'Workspaces.ListWorkspaces': nothing,
  'Workspaces.GetWorkspace': within,
  'Workspaces.UpdateWorkspace': (at) => ({ ...within(at), description: 'other' }),
  'Workspaces.DeleteWorkspace': (at) => ({ ...within(at), name: at.workspaceName, force_delete: true }),
};
