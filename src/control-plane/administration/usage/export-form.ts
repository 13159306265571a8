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

/** Rows of a part, if one is requested. */
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

function responseOf({ row, bodies, seesMetadata }: Shown): object {
  const { status, body = null, headers } = loggedResponse(row, bodies, seesMetadata);
  return { status, body, headers, responseTime: Math.round(row.totalMs), lastUsedOptionJsonPath: row.target };
}

interface Column {
  /** Names of the ledger's fields that it is made of; null: all. */
  readonly fields: readonly string[] | null;
  of(shown: Shown): unknown;
}
const column = (of: Column['of'], ...fields: readonly string[]): Column => ({ of, fields });
const whole = (of: Column['of']): Column => ({ of, fields: null });

/** The columns that may be requested, by name. */
const columns = {
  id: column(({ row }) => row.id, 'id'),
  trace_id: column(({ row }) => row.trace, 'trace', 'id'),
  created_at: column(({ row }) => timeOf(row.at), 'at'),
  request: whole(requestOf),
  response: whole(responseOf),
  is_success: column(({ row }) => isSuccess(row), 'state', 'error', 'status'),
  ai_org: column(({ row }) => row.provider, 'provider'),
  ai_model: column(({ row }) => row.modelUsed ?? row.modelAsked, 'model', 'model_asked'),
  req_units: column(({ row }) => row.usage.input, 'input_tokens'),
  res_units: column(({ row }) => row.usage.output, 'output_tokens'),
  total_units: column(({ row }) => row.usage.input + row.usage.output, 'input_tokens', 'output_tokens'),
  request_url: column(({ row }) => row.path, 'path'),
  cost: column(({ row }) => (row.cost === null ? null : dollarsOf(row.cost)), 'cost'),
  cost_currency: column(() => 'USD'),
  response_time: column(({ row }) => Math.round(row.totalMs), 'total_us'),
  response_status_code: column(({ row }) => row.status, 'status'),
  mode: column(({ row }) => row.endpoint, 'endpoint'),
  config: column(({ row }) => row.config, 'config'),
  prompt_slug: column(({ row }) => row.prompt, 'prompt'),
  metadata: column(({ row }) => row.metadata, 'metadata'),
} as const satisfies Readonly<Record<string, Column>>;

export type ExportColumn = keyof typeof columns;
export const exportColumns = Object.keys(columns) as ExportColumn[];

/** Null: all. */
function fieldsOf(names: readonly ExportColumn[]): readonly string[] | null {
  const fields = new Set<string>();
  for (const name of names) {
    const own: readonly string[] | null = columns[name].fields;
    if (own === null) return null;
    for (const field of own) fields.add(field);
  }
  return [...fields];
}

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
  const most = max === longestPage ? ` to ${max}` : '';
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
    (name): name is ExportColumn => Object.hasOwn(columns, name) && !left.includes(name),
  );
  const shown = (row: LedgerRow, bodies: Bodies | null): Shown => ({
    ...{ row, bodies },
    seesMetadata: sight.metadata,
  });
  return {
    ...read,
    filters: { ...read.filters, at },
    sight: { org, workspaces: [workspaceId], except: [], keys: sight.keys },
    fields: fieldsOf(names),
    wantsBodies: names.includes('request') || names.includes('response'),
    contentType: contentTypes[format],
    heading: format === 'csv' ? `${names.join(',')}\r\n` : '',
    line(row, bodies) {
      const values = shown(row, bodies);
      if (format === 'csv') return `${names.map((name) => cellOf(columns[name].of(values))).join(',')}\r\n`;
      return `${JSON.stringify(Object.fromEntries(names.map((name) => [name, columns[name].of(values) ?? null])))}\n`;
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
