import type { Bodies, LedgerRow } from '../../../common/ledger/record.js';
import { dollarsOf } from '../../../common/vocabulary/money.js';
import type { ExportForm } from '../../exports/exporter.js';
import type { FilterValues, LogExport } from '../../store/store.js';
import { AdminError } from '../admin-error.js';
import { csvCell } from '../audit/audit-file.js';
import { timeOf } from '../grpc/wire.js';
import { isSuccess } from '../resources/logs/log-metrics.js';
import { loggedRequest, loggedResponse } from '../resources/logs/logged-messages.js';
import { readOnlyLogFilters } from './log-filters.js';

/** Rows of a part, where one is asked for. */
const longestPage = 50_000;

interface Shown {
  readonly row: LedgerRow;
  readonly bodies: Bodies | null;
  readonly seesMetadata: boolean;
}

/** Both as `GET /v1/logs/{id}` gives them. */
function requestOf({ row, bodies, seesMetadata }: Shown): object {
  const {
    gateway_headers: gatewayHeaders,
    body = null,
    ...request
  } = loggedRequest(row, bodies, seesMetadata);
  return { ...request, body, gatewayHeaders };
}

function responseOf({ row, bodies }: Shown): object {
  const { status, body = null, headers } = loggedResponse(row, bodies);
  return { status, body, headers, responseTime: row.totalMs, lastUsedOptionJsonPath: row.target };
}

/** What a line has under each name that may be asked for. */
const columns = {
  id: ({ row }) => row.id,
  trace_id: ({ row }) => row.trace,
  created_at: ({ row }) => timeOf(row.at),
  request: requestOf,
  response: responseOf,
  is_success: ({ row }) => isSuccess(row),
  ai_org: ({ row }) => row.provider,
  ai_model: ({ row }) => row.modelUsed ?? row.modelAsked,
  req_units: ({ row }) => row.usage.input,
  res_units: ({ row }) => row.usage.output,
  total_units: ({ row }) => row.usage.input + row.usage.output,
  request_url: ({ row }) => row.path,
  cost: ({ row }) => (row.cost === null ? null : dollarsOf(row.cost)),
  cost_currency: () => 'USD',
  response_time: ({ row }) => row.totalMs,
  response_status_code: ({ row }) => row.status,
  mode: ({ row }) => row.endpoint,
  config: ({ row }) => row.config,
  prompt_slug: ({ row }) => row.prompt,
  metadata: ({ row }) => row.metadata,
} as const satisfies Readonly<Record<string, (shown: Shown) => unknown>>;

type Column = keyof typeof columns;

/** Names of columns that a caller's exports leave out. */
export const restrictedFields = (seesMetadata: boolean): readonly string[] =>
  seesMetadata ? [] : ['metadata'];

/** The filters of an export as they are kept, and the part that it is of. Throws AB01 with the path. */
export function readExportFilters(filters: FilterValues): Pick<ExportForm, 'filters' | 'skip' | 'most'> {
  const { page_size: size, current_page: page, ...others } = filters;
  const most = wholeOf('page_size', size, 1, longestPage);
  const number = wholeOf('current_page', page, 0, Number.MAX_SAFE_INTEGER / longestPage);
  const isPart = most !== null || number !== null;
  return {
    filters: readOnlyLogFilters(others),
    skip: (number ?? 0) * (most ?? longestPage),
    most: isPart ? (most ?? longestPage) : Number.POSITIVE_INFINITY,
  };
}

function wholeOf(name: string, value: unknown, min: number, max: number): number | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
  const most = max === longestPage ? ` of at most ${max}` : '';
  throw AdminError.field(`filters.${name}`, `must be a whole number from ${min}${most}.`);
}

/** How an export that was started is read and written. */
export function exportForm(started: LogExport): ExportForm {
  const { organisationId: org, workspaceId, format, sight, startedAt } = started;
  if (sight === null || startedAt === null) throw new Error('It was not started.');
  const read = readExportFilters(started.filters);
  // Rows that arrive while it runs are left out: with them it might never end.
  const at = { ...read.filters.at, max: Math.min(read.filters.at.max ?? startedAt, startedAt) };
  const left = restrictedFields(sight.metadata);
  const names = started.requestedData.filter(
    (name): name is Column => name in columns && !left.includes(name),
  );
  const shown = (row: LedgerRow, bodies: Bodies | null): Shown => ({
    ...{ row, bodies },
    seesMetadata: sight.metadata,
  });
  return {
    ...read,
    filters: { ...read.filters, at },
    sight: { org, workspaces: [workspaceId], except: [], keys: sight.keys },
    wantsBodies: names.includes('request') || names.includes('response'),
    contentType: contentTypes[format],
    heading: format === 'csv' ? `${names.join(',')}\r\n` : '',
    line(row, bodies) {
      const values = shown(row, bodies);
      if (format === 'csv') return `${names.map((name) => cellOf(columns[name](values))).join(',')}\r\n`;
      return `${JSON.stringify(Object.fromEntries(names.map((name) => [name, columns[name](values) ?? null])))}\n`;
    },
  };
}

export const contentTypes: Readonly<Record<LogExport['format'], string>> = {
  jsonl: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8; header=present',
};

/** Objects as JSON. */
const cellOf = (value: unknown): string =>
  csvCell(typeof value === 'object' && value !== null ? JSON.stringify(value) : (value as string | null));
