import type { LogRequest, LogResponse } from '../../../../../proto/messages.js';
import type { Bodies, LedgerRow } from '../../../../common/ledger/record.js';

const gatewayHeader = /^x-(?:gateway|portkey|headgate)-/;

/** Headers of a request as they were logged; those of the gateway once more. */
function headersOf(bodies: Bodies | null, seesMetadata: boolean) {
  const given = Object.entries(bodies?.headers?.request ?? {});
  const headers = given.filter(([name]) => seesMetadata || !name.endsWith('-metadata'));
  const own = headers.filter(([name]) => gatewayHeader.test(name));
  return {
    headers: Object.fromEntries(headers),
    gateway_headers: Object.fromEntries(own),
  };
}

/** A request as it was logged. */
export const loggedRequest = (row: LedgerRow, bodies: Bodies | null, seesMetadata: boolean): LogRequest => ({
  url: row.path,
  method: row.method,
  body: bodies?.request,
  ...headersOf(bodies, seesMetadata),
});

/** Its answer. */
export const loggedResponse = (row: LedgerRow, bodies: Bodies | null): LogResponse => ({
  status: row.status,
  body: bodies?.response,
  response_time: row.totalMs,
  response_time_ms: row.totalMs,
  last_used_option_json_path: row.target,
  last_used_option: row.target,
  headers: bodies?.headers?.response ?? {},
});
