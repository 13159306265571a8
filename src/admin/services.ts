import type { AdminMethod } from '../../proto/tree.js';
import { apiKeysService } from './api-keys.js';
import { auditLogsService } from './audit-logs.js';
import type { Implementations, Run } from './call.js';
import { configsService } from './configs.js';
import { invitesService } from './invites.js';
import { logsService } from './logs.js';
import { organisationsService } from './organisations.js';
import { providersService } from './providers.js';
import type { AdminParts, Service, ServiceName } from './service.js';
import { usersService } from './users.js';
import { watchService } from './watch.js';
import { workspaceMembersService } from './workspace-members.js';
import { workspacesService } from './workspaces.js';

/** Every service of the proto files, a line each, in order of their names. */
const services: { readonly [Name in ServiceName]?: (parts: AdminParts) => Service<Name> } = {
  ApiKeys: apiKeysService,
  AuditLogs: auditLogsService,
  Configs: configsService,
  Invites: invitesService,
  Logs: logsService,
  Organisations: organisationsService,
  Providers: providersService,
  Users: usersService,
  WorkspaceMembers: workspaceMembersService,
  Workspaces: workspacesService,
  Watch: watchService,
};

/** What runs for each method. A service lacks none of its methods: its type says so. */
export function implement(parts: AdminParts, methods: Iterable<AdminMethod>): Implementations {
  const made = new Map<string, Readonly<Record<string, Run>>>();
  for (const [name, service] of Object.entries(services))
    made.set(name, service(parts) as unknown as Readonly<Record<string, Run>>);
  const implementations = new Map<string, Run>();
  for (const { name, service, method } of methods) {
    const run = made.get(service)?.[method];
    if (run !== undefined) implementations.set(name, run);
  }
  return implementations;
}
