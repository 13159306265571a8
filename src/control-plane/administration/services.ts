import type { AdminMethod } from '../../../proto/tree.js';
import type { Implementations, Run } from './access/call.js';
import { alertsService } from './resources/alerts.js';
import { analyticsService } from './resources/analytics.js';
import { apiKeysService } from './resources/api-keys.js';
import { auditLogsService } from './resources/audit-logs.js';
import { circuitBreakersService } from './resources/circuit-breakers.js';
import { collectionsService } from './resources/collections.js';
import { configsService } from './resources/configs.js';
import { deploymentsService } from './resources/deployments.js';
import { feedbackService } from './resources/feedback.js';
import { guardrailsService } from './resources/guardrails.js';
import { integrationsService } from './resources/integrations.js';
import { invitesService } from './resources/invites.js';
import { labelsService } from './resources/labels.js';
import { logExportsService } from './resources/log-exports.js';
import { logsService } from './resources/logs.js';
import { modelPricesService } from './resources/model-prices.js';
import { modelsService } from './resources/models.js';
import { nodesService } from './resources/nodes.js';
import { organisationsService } from './resources/organisations.js';
import { pluginsService } from './resources/plugins.js';
import { providersService } from './resources/providers.js';
import { rateLimitsPoliciesService } from './resources/rate-limits-policies.js';
import { reconciliationsService } from './resources/reconciliations.js';
import { requestsService } from './resources/requests.js';
import { savedFiltersService } from './resources/saved-filters.js';
import { schedulesService } from './resources/schedules.js';
import { usageLimitsPoliciesService } from './resources/usage-limits-policies.js';
import { usersService } from './resources/users.js';
import { virtualKeysService } from './resources/virtual-keys.js';
import { watchService } from './resources/watch.js';
import { workspaceMembersService } from './resources/workspace-members.js';
import { workspacesService } from './resources/workspaces.js';
import type { AdminParts, Service, ServiceName } from './service.js';

/** Every service of the proto files, a line each, in order of their names. */
const services: { readonly [Name in ServiceName]: (parts: AdminParts) => Service<Name> } = {
  Alerts: alertsService,
  Analytics: analyticsService,
  ApiKeys: apiKeysService,
  AuditLogs: auditLogsService,
  CircuitBreakers: circuitBreakersService,
  Collections: collectionsService,
  Configs: configsService,
  Deployments: deploymentsService,
  Feedback: feedbackService,
  Guardrails: guardrailsService,
  Integrations: integrationsService,
  Invites: invitesService,
  Labels: labelsService,
  LogExports: logExportsService,
  Logs: logsService,
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
