import type { Command } from 'commander';
import { cell } from '../output/show.js';
import { registerResource } from '../resource.js';
import type { SessionContext } from '../session.js';

/** `headgate audit-logs`: its list shows actor, action and object; all of a row is in `--json` and in the export. */
export const register = (program: Command, context: SessionContext): Command =>
  registerResource(program, context, 'AuditLogs', {
    ListAuditLogs: {
      columns: [
        ['TIMESTAMP', (row) => cell(row['timestamp']).slice(0, 19)],
        ['WHO', (row) => cell(row['actor_name'] ?? row['user_id'])],
        ['ACTION', (row) => cell(row['action'])],
        ['RESOURCE', (row) => cell(row['resource_type'])],
        ['ID', (row) => cell(row['resource_id'])],
        ['ALLOWED', (row) => (row['allowed'] === true ? 'yes' : 'no')],
        ['STATUS', (row) => cell(row['response_status_code'])],
        ['CLIENT', (row) => cell(row['client_ip'])],
      ],
    },
  });
