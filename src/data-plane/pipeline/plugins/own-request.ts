import { Pieces } from '../../../common/bytes/pieces.js';
import { GatewayError } from '../../../common/core/errors.js';
import type { Exchange } from '../../../common/core/exchange.js';
import type { CheckReply, CheckRequest } from '../../../common/guardrails/check-request.js';
import type { HeaderList } from '../../../common/http/headers.js';
import type { Upstream } from '../../upstream/upstream.js';

const maxBytes = 256 * 1024;

/** Of the connections that these use: no call to a provider shares them. */
const account = Symbol('requests of stages');

/** A request of a stage's own, to an address that a tenant chose, over connections of that tenant. */
export function sendOwn(
  upstream: Upstream,
  { principal }: Exchange,
  request: CheckRequest,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<CheckReply> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(GatewayError.from(signal.reason));
    let status = 0;
    let headers: HeaderList = [];
    const pieces = new Pieces();
    const timeouts = {
      connectMs: timeoutMs,
      headersMs: timeoutMs,
      firstTokenMs: timeoutMs,
      idleMs: timeoutMs,
    };
    const tenant = principal.workspaceId ?? principal.organisationId;
    const abort = (): void => {
      flight.cancel();
      reject(GatewayError.from(signal.reason));
    };
    const over = (): void => signal.removeEventListener('abort', abort);
    signal.addEventListener('abort', abort);
    const flight = upstream.send(
      { ...request, callerChosen: true, tenant, account, timeouts, maxBodyBytes: maxBytes },
      {
        head(given, list) {
          status = given;
          headers = list;
        },
        data(chunk) {
          pieces.add(chunk);
          return true;
        },
        end() {
          over();
          resolve({ status, headers, body: pieces.bytes() });
        },
        error(error) {
          over();
          reject(error);
        },
      },
    );
  });
}
