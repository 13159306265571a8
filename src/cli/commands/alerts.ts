import type { Command } from 'commander';
import { cell } from '../output/show.js';
import { registerResource } from '../resource.js';
import type { SessionContext } from '../session.js';

/** `headgate alerts`: its list shows what happened to which budget, and whether it was sent. */
export const register = (program: Command, context: SessionContext): Command =>
  registerResource(program, context, 'Alerts', {
    ListAlerts: {
      columns: [
        ['CREATED', (row) => cell(row['created_at']).slice(0, 19)],
        ['EVENT', (row) => cell(row['event'])],
        ['HOLDER', (row) => cell(row['holder_type'])],
        ['NAME', (row) => cell(row['holder_name'] ?? row['holder_id'])],
        ['VALUES', (row) => cell(row['value_key'])],
        ['TYPE', (row) => cell(row['type'])],
        ['USAGE', (row) => cell(row['usage'])],
        ['LIMIT', (row) => cell(row['credit_limit'])],
        ['DELIVERY', (row) => cell(row['delivery'])],
      ],
    },
  });
