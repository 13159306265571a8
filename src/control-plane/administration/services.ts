import type { AdminMethod } from '../../../proto/tree.js';
import type { Implementations, Run } from './access/call.js';
import { configsService } from './resources/configs/configs.js';
import { guardrailsService } from './resources/configs/guardrails.js';
import { pluginsService } from './resources/configs/plugins.js';
import { documentsService } from './resources/files/documents.js';
import { auditLogsService } from './resources/gateway/audit-logs.js';
import { deploymentsService } from './resources/gateway/deployments.js';
import { mailService } from './resources/gateway/mail.js';
import { nodesService } from './resources/gateway/nodes.js';
import { requestsService } from './resources/gateway/requests.js';
import { schedulesService } from './resources/gateway/schedules.js';
import { watchService } from './resources/gateway/watch.js';
import { circuitBreakersService } from './resources/integrations/circuit-breakers.js';
import { integrationsService } from './resources/integrations/integrations.js';
import { providersService } from './resources/integrations/providers.js';
import { virtualKeysService } from './resources/integrations/virtual-keys.js';
import { apiKeysService } from './resources/keys/api-keys.js';
import { alertsService } from './resources/limits/alerts.js';
import { rateLimitsPoliciesService } from './resources/limits/rate-limits-policies.js';
import { usageLimitsPoliciesService } from './resources/limits/usage-limits-policies.js';
import { analyticsService } from './resources/logs/analytics.js';
import { feedbackService } from './resources/logs/feedback.js';
import { logExportsService } from './resources/logs/log-exports.js';
import { logsService } from './resources/logs/logs.js';
import { savedFiltersService } from './resources/logs/saved-filters.js';
import { modelPricesService } from './resources/models/model-prices.js';
import { modelsService } from './resources/models/models.js';
import { reconciliationsService } from './resources/models/reconciliations.js';
import { authService } from './resources/people/auth.js';
import { invitesService } from './resources/people/invites.js';
import { organisationsService } from './resources/people/organisations.js';
import { usersService } from './resources/people/users.js';
import { collectionsService } from './resources/prompts/collections.js';
import { labelsService } from './resources/prompts/labels.js';
import { scimService } from './resources/scim/scim.js';
import { scimMappingsService } from './resources/scim/scim-mappings.js';
import { secretReferencesService } from './resources/secrets/secret-references.js';
import { workspaceMembersService } from './resources/workspaces/workspace-members.js';
import { workspacesService } from './resources/workspaces/workspaces.js';
import type { AdminParts, Service, ServiceName } from './service.js';

/** Every service of the proto files, a line each, in order of their names. */
const services: { readonly [Name in ServiceName]: (parts: AdminParts) => Service<Name> } = {
  Alerts: alertsService,
  Analytics: analyticsService,
  ApiKeys: apiKeysService,
  AuditLogs: auditLogsService,
  Auth: authService,
  CircuitBreakers: circuitBreakersService,
  Collections: collectionsService,
  Configs: configsService,
  Deployments: deploymentsService,
  Documents: documentsService,
  Feedback: feedbackService,
  Guardrails: guardrailsService,
  Integrations: integrationsService,
  Invites: invitesService,
  Labels: labelsService,
  LogExports: logExportsService,
  Logs: logsService,
  Mail: mailService,
  ModelPrices: modelPricesService,
  Models: modelsService,
  Nodes: nodesService,
  Organisations: organisationsService,
  Plugins: pluginsService,
  Providers: providersService,
  RateLimitsPolicies: rateLimitsPoliciesService,
  Reconciliations: reconciliationsService,
  Requests: requestsService,
  SavedFilters: savedFiltersService,
  Schedules: schedulesService,
  SecretReferences: secretReferencesService,
  Scim: scimService,
  ScimMappings: scimMappingsService,
  UsageLimitsPolicies: usageLimitsPoliciesService,
  Users: usersService,
  VirtualKeys: virtualKeysService,
  Watch: watchService,
  WorkspaceMembers: workspaceMembersService,
  Workspaces: workspacesService,
};

/** What runs for each method. Throws at the start for one that nothing would run for. */
export function implement(parts: AdminParts, methods: Iterable<AdminMethod>): Implementations {
  const made = new Map<string, Readonly<Record<string, Run>>>();
  for (const [name, service] of Object.entries(services))
    made.set(name, service(parts) as unknown as Readonly<Record<string, Run>>);
  const implementations = new Map<string, Run>();
  for (const { name, service, method } of methods) {
    const run = made.get(service)?.[method];
    if (run === undefined) throw new Error(`${name} is in the proto files and in no service.`);
    implementations.set(name, run);
  }
  return implementations;
}
