import type { Log, LogRequest, LogResponse } from '../../../../../proto/messages.js';
import { editJsonBytes } from '../../../../common/json/json-edit.js';
import type { Bodies, LedgerRow } from '../../../../common/ledger/record.js';

const gatewayHeader = /^x-(?:gateway|portkey|headgate)-/;

/** Headers with metadata: as sent, in conditions of a config, or in the names of dropped fields. */
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
  response_time: Math.round(row.totalMs),
  response_time_ms: Math.round(row.totalMs),
  last_used_option_json_path: row.target,
  last_used_option: row.target,
  headers: shownHeaders(bodies?.headers?.response, seesMetadata),
});

type ProviderSide = Pick<Log, 'transformed_request' | 'original_response' | 'final_untransformed_request'>;

/** The request to a provider and its answer. `own`: their bodies, if they differ from the client's. */
export function providerSide(
  row: LedgerRow,
  bodies: Bodies,
  own: Bodies | null,
  seesMetadata: boolean,
): ProviderSide {
  const call = bodies.headers?.call;
  if (call === undefined) return {};
  const { url, status, same } = call;
  const [isSent, isReceived] = [same[0] === 1, same[1] === 1];
  const { method } = row;
  const headers = own?.headers;
  const sent = isSent ? bodies.request : (own?.request ?? null);
  const received = isReceived ? bodies.response : (own?.response ?? null);
  return {
    transformed_request: { url, method, headers: shownHeaders(headers?.request, seesMetadata), body: sent },
    original_response: {
      ...{ status, url, method },
      ...{ headers: shownHeaders(headers?.response, seesMetadata), body: received },
    },
    final_untransformed_request: {
      ...{ url: row.path, method },
      headers: shownHeaders(bodies.headers?.request, seesMetadata),
      body: finalBody(bodies, own, sent),
    },
  };
}

/** The request in the client's format; the one that was sent, if it was not converted. */
function finalBody(bodies: Bodies, own: Bodies | null, sent: string | null): string | null {
  const edits = own?.headers?.edits;
  if (edits === undefined) return own?.headers?.isConverted === true ? bodies.request : sent;
  if (bodies.request === null || bodies.cut) return null;
  return editJsonBytes(Buffer.from(bodies.request), edits).toString();
}
