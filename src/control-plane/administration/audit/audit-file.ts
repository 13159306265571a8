import type { AuditLog } from '../../../../proto/messages.js';
import type { AuditRecord } from '../../store/store.js';
import { timeOf } from '../grpc/wire.js';

/** A row of the audit log as messages, and files, have it. */
export const auditLog = (row: AuditRecord): AuditLog => ({
  timestamp: timeOf(row.at),
  method: row.method as AuditLog['method'],
  uri: row.uri,
  request_id: row.requestId,
  request_body: row.requestBody,
  query_params: row.queryParams,
  request_headers: row.requestHeaders,
  user_id: row.userId,
  user_type: row.userType,
  organisation_id: row.organisationId,
  workspace_id: row.workspaceId,
  response_status_code: row.responseStatusCode,
  resource_type: row.resourceType,
  action: row.action,
  client_ip: row.clientIp,
  country: row.country,
  seq: row.seq,
  actor_name: row.actorName,
  resource_id: row.resourceId,
  allowed: row.allowed,
});

const columns = [
  'seq',
  'timestamp',
  'allowed',
  'action',
  'resource_type',
  'resource_id',
  'user_type',
  'user_id',
  'actor_name',
  'organisation_id',
  'workspace_id',
  'method',
  'uri',
  'response_status_code',
  'client_ip',
  'country',
  'request_id',
  'request_headers',
  'query_params',
  'request_body',
] as const satisfies readonly (keyof AuditLog)[];

/** What makes a spreadsheet run a cell, in both widths, and what it passes over on the way there. */
const formula = /^\s*[=+\-@＝＋－＠]|^[\t\r\n]/;

/** A cell by RFC 4180. One that a spreadsheet would run begins with an apostrophe, which makes it text. */
export function csvCell(value: string | number | boolean | null | undefined): string {
  const plain = String(value ?? '');
  const text = typeof value === 'string' && formula.test(plain) ? `'${plain}` : plain;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const csvLine = (cells: readonly (string | number | boolean | null | undefined)[]): string =>
  `${cells.map(csvCell).join(',')}\r\n`;

export type AuditFileFormat = 'jsonl' | 'csv';

/** The type of a file's content. */
export const auditFileType: Readonly<Record<AuditFileFormat, string>> = {
  jsonl: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8; header=present',
};

/** Rows together in one piece of a file. */
const pieceOf = 200;

/** Rows as a file: a JSON object a line, or a CSV table under its heading. Comes piece by piece. */
export async function* auditFile(
  rows: AsyncIterable<AuditRecord>,
  format: AuditFileFormat,
): AsyncGenerator<string> {
  let piece = format === 'csv' ? csvLine(columns) : '';
  let count = 0;
  for await (const row of rows) {
    const message = auditLog(row);
    piece +=
      format === 'csv'
        ? csvLine(columns.map((column) => message[column]))
        : `${JSON.stringify(Object.fromEntries(columns.map((column) => [column, message[column] ?? null])))}\n`;
    count += 1;
    if (count % pieceOf > 0) continue;
    yield piece;
    piece = '';
  }
  yield piece;
}
