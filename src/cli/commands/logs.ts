import { setTimeout as wait } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Message } from '../../../proto/codec.js';
import { adminTree } from '../../../proto/tree.js';
import type { LogMetrics } from '../../client/index.js';
import { writeMessage } from '../../control-plane/administration/shape/json.js';
import { CliError } from '../cli-error.js';
import { printable, writeJson, writeLine } from '../output/output.js';
import { registerResource } from '../resource.js';
import { type SessionContext, type SessionOptions, withAdmin, withSession } from '../session.js';
import { registerImport } from './logs-import.js';

interface LogsOptions extends SessionOptions {
  readonly follow?: boolean;
  readonly trace?: string;
  readonly limit: string;
}

const pollMs = 500;
/** Fixed, so that later lines are aligned with those already printed. */
const columns: readonly (readonly [heading: string, width: number, cell: (row: LogMetrics) => string])[] = [
  ['TIME', 23, (row) => row.created_at.slice(0, -1)],
  ['STATUS', 6, (row) => (row.state === 'unknown' ? '?' : String(row.response_status_code))],
  ['MS', 7, (row) => row.response_time.toFixed(0)],
  ['PROVIDER', 16, (row) => (row.virtual_key == null ? (row.ai_org ?? '-') : `@${row.virtual_key}`)],
  ['MODEL', 24, (row) => row.ai_model ?? '-'],
  ['IN', 6, (row) => String(row.req_units)],
  ['OUT', 6, (row) => String(row.res_units)],
  ['COST', 12, (row) => (row.cost == null ? '-' : dollars(row.cost))],
  ['TRIES', 5, (row) => String(row.attempts.length)],
  ['CACHE', 13, (row) => (row.cache_status === 'DISABLED' ? '-' : row.cache_status)],
  ['ID', 36, (row) => row.id],
  [
    'REQUEST',
    0,
    (row) => `${row.request_method} ${row.request_url}${row.error == null ? '' : ` [${row.error}]`}`,
  ],
];

/** Six digits after the point, more where they would be mostly zeros. */
const dollars = (cost: number): string => `$${cost.toFixed(cost > 0 && cost < 0.001 ? 9 : 6)}`;

const heading = columns.map(([name, width]) => name.padEnd(width)).join('  ');

const line = (row: LogMetrics): string =>
  columns
    .map(([, width, cell]) => printable(cell(row)).padEnd(width))
    .join('  ')
    .trimEnd();

const picture = (rows: readonly LogMetrics[]): string => [heading, ...rows.map(line)].join('\n');

/** What was decided for a request and what was tried, a line each. */
const explained = (row: LogMetrics): string[] => [
  ...row.decisions.map(({ target, decision, reason }) => `    ${target}  ${decision}: ${reason}`),
  ...row.attempts.map(
    ({ target, provider, status, error, started_at_ms, duration_ms }) =>
      `    ${target}  tried: ${provider}, ${error ?? status}, ${duration_ms.toFixed(0)} ms from ms ${started_at_ms.toFixed(0)} on`,
  ),
];

/** A row as GET /v1/logs has it, which `headgate logs import` takes. */
function asRest(row: LogMetrics): unknown {
  const { response } = [...adminTree().methods.values()].find(({ name }) => name === 'Logs.ListLogs')!;
  return writeMessage(response.field('data')!.message!, row as unknown as Message);
}

type Shown = 'rows' | 'json' | 'explained';

function show(rows: readonly LogMetrics[], as: Shown): void {
  for (const row of rows) {
    if (as === 'json') writeJson(asRest(row));
    else writeLine(line(row));
    if (as === 'explained') for (const text of explained(row)) writeLine(printable(text));
  }
}

/** `headgate logs`. */
export function register(program: Command, context: SessionContext): void {
  const logs = registerResource(program, context, 'Logs', {
    ImportLogs: { isOwn: true },
    ListLogs: { show: (answer) => picture(answer['data'] as readonly LogMetrics[]) },
  }).description('show recent requests, newest last; list and get give all that is kept of them');
  registerImport(logs, context);
  withSession(logs, { workspace: true })
    .option('--follow', 'go on showing requests as they come in')
    .option('--trace <id>', 'only requests of this trace, with what was decided and tried for each')
    .option('--limit <count>', 'how many to begin with', '20')
    .action(async (options: LogsOptions) => {
      const limit = Number(options.limit);
      if (!Number.isInteger(limit) || limit < 1 || limit > 1000)
        throw new CliError('--limit must be 1 to 1000.', 2);
      await withAdmin(context, options, async (client) => {
        const filter = { workspace_id: options.workspace, trace_id: options.trace };
        const as = options.json === true ? 'json' : options.trace === undefined ? 'rows' : 'explained';
        const recent = await client.logs.list({ ...filter, limit });
        if (as !== 'json') writeLine(heading);
        show([...recent.data].reverse(), as);
        let { cursor } = recent;
        while (options.follow === true) {
          await wait(pollMs);
          const next = await client.logs.list({ ...filter, after: cursor, limit: 1000 });
          show(next.data, as);
          cursor = next.cursor;
        }
      });
    });
}
