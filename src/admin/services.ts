import type { AdminMethod } from '../../proto/tree.js';
import { apiKeysService } from './api-keys.js';
import { auditLogsService } from './audit-logs.js';
import type { Implementations, Run } from './call.js';
import { circuitBreakersService } from './circuit-breakers.js';
import { collectionsService } from './collections.js';
import { configsService } from './configs.js';
import { deploymentsService } from './deployments.js';
import { guardrailsService } from './guardrails.js';
import { integrationsService } from './integrations.js';
import { invitesService } from './invites.js';
import { labelsService } from './labels.js';
import { logsService } from './logs.js';
import { modelsService } from './models.js';
import { organisationsService } from './organisations.js';
import { providersService } from './providers.js';
import { rateLimitsPoliciesService } from './rate-limits-policies.js';
import { requestsService } from './requests.js';
import type { AdminParts, Service, ServiceName } from './service.js';
import { usageLimitsPoliciesService } from './usage-limits-policies.js';
import { usersService } from './users.js';
import { virtualKeysService } from './virtual-keys.js';
import { watchService } from './watch.js';
import { workspaceMembersService } from './workspace-members.js';
import { workspacesService } from './workspaces.js';

/** Every service of the proto files, a line each, in order of their names. */
const services: { readonly [Name in ServiceName]: (parts: AdminParts) => Service<Name> } = {
  ApiKeys: apiKeysService,
  AuditLogs: auditLogsService,
  CircuitBreakers: circuitBreakersService,
  Collections: collectionsService,
  Configs: configsService,
  Deployments: deploymentsService,
  Guardrails: guardrailsService,
  Integrations: integrationsService,
  Invites: invitesService,
  Labels: labelsService,
  Logs: logsService,
  Models: modelsService,
  Organisations: organisationsService,
  Providers: providersService,
  RateLimitsPolicies: rateLimitsPoliciesService,
  Requests: requestsService,
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
