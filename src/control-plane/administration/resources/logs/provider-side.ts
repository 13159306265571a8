import type { Log } from '../../../../../proto/messages.js';
import { editJsonBytes } from '../../../../common/json/json-edit.js';
import type { Bodies, LedgerRow } from '../../../../common/ledger/record.js';
import { shownHeaders } from './logged-messages.js';

type ProviderSide = Pick<Log, 'transformed_request' | 'original_response' | 'final_untransformed_request'>;

/** What a provider was sent and has answered. `own`: its bodies, where they differ from those of the client. */
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

/** In the client's format: what was sent, where that was not converted. */
function finalBody(bodies: Bodies, own: Bodies | null, sent: string | null): string | null {
  const edits = own?.headers?.edits;
  if (edits === undefined) return own?.headers?.isConverted === true ? bodies.request : sent;
  if (bodies.request === null || bodies.cut) return null;
  return editJsonBytes(Buffer.from(bodies.request), edits).toString();
}
