import type { LogRequest, LogResponse } from '../../../../../proto/messages.js';
import type { Bodies, LedgerRow } from '../../../../common/ledger/record.js';

const gatewayHeader = /^x-(?:gateway|portkey|headgate)-/;

/** Those that have metadata: as it was sent, in conditions of a config, or by the names of what was dropped of it. */
const metadataHeader = /-(?:metadata|explanation|dropped-fields)$/;

/** Headers as they were logged; without metadata for those who may not see it. */
export const shownHeaders = (
  headers: Readonly<Record<string, string>> | undefined,
  seesMetadata: boolean,
): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers ?? {}).filter(([name]) => seesMetadata || !metadataHeader.test(name)),
  );

/** Of a request; those of the gateway once more. */
function headersOf(bodies: Bodies | null, seesMetadata: boolean) {
  const headers = shownHeaders(bodies?.headers?.request, seesMetadata);
  const own = Object.entries(headers).filter(([name]) => gatewayHeader.test(name));
  return { headers, gateway_headers: Object.fromEntries(own) };
}

/** A request as it was logged. */
export const loggedRequest = (row: LedgerRow, bodies: Bodies | null, seesMetadata: boolean): LogRequest => ({
  url: row.path,
  method: row.method,
  body: bodies?.request,
  ...headersOf(bodies, seesMetadata),
});

/** Its answer. */
export const loggedResponse = (
  row: LedgerRow,
  bodies: Bodies | null,
  seesMetadata: boolean,
): LogResponse => ({
  status: row.status,
  body: bodies?.response,
  response_time: row.totalMs,
  response_time_ms: row.totalMs,
  last_used_option_json_path: row.target,
  last_used_option: row.target,
  headers: shownHeaders(bodies?.headers?.response, seesMetadata),
});
