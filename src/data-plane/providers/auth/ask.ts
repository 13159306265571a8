import type { Tenant } from '../../../common/access/own-identity.js';
import { Pieces } from '../../../common/bytes/pieces.js';
import { GatewayError } from '../../../common/core/errors.js';
import type { HeaderList } from '../../../common/http/headers.js';
import type { Timeouts, Upstream } from '../../upstream/upstream.js';

export interface OwnRequest {
  readonly method: string;
  /** Absolute http(s) URL. */
  readonly url: string;
  readonly headers: HeaderList;
  readonly body: Buffer | null;
  /** Did a caller have a word in the address? Then it passes the rules for hosts that callers choose. */
  readonly callerChosen?: boolean;
  /** Does the gateway ask about its own identity? Then it may be a metadata service that is asked. */
  readonly ownIdentity?: boolean;
}

export interface OwnReply {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: HeaderList;
  readonly body: Buffer;
}

/** One small request of the gateway's own, answered whole. Rejects with a GatewayError where no answer came. */
export type Ask = (question: OwnRequest) => Promise<OwnReply>;

const timeouts: Timeouts = { connectMs: 5_000, headersMs: 10_000, firstTokenMs: 10_000, idleMs: 5_000 };

/** The same for the gateway's own identity, whose libraries choose the address by the machine's environment. */
export const askOwnIdentity =
  (ask: Ask): Ask =>
  (question) =>
    ask({ ...question, ownIdentity: true });

/** No token and no list of keys is larger. */
const maxBytes = 256 * 1024;

/** Of the connections that these use: no call to a provider shares them. */
const account = Symbol('credentials');

/**
 * Asks by connections of the tenant it is done for, and under the same rules for addresses as for calls to providers.
 * `deadlineMs`: a question that takes longer is cut off; 0: none, beyond the timeouts of its parts.
 */
export function askThrough(upstream: Upstream, { workspaceId, organisationId }: Tenant, deadlineMs = 0): Ask {
  const tenant = workspaceId ?? organisationId;
  return ({ callerChosen = false, ...question }) =>
    new Promise((resolve, reject) => {
      let status = 0;
      let headers: HeaderList = [];
      const pieces = new Pieces();
      let timer: NodeJS.Timeout | undefined;
      const flight = upstream.send(
        { ...question, callerChosen, tenant, account, timeouts, maxBodyBytes: maxBytes },
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
            clearTimeout(timer);
            resolve({ status, headers, body: pieces.bytes() });
          },
          error(error) {
            clearTimeout(timer);
            reject(error);
          },
        },
      );
      if (deadlineMs === 0) return;
      timer = setTimeout(() => {
        flight.cancel();
        reject(new GatewayError('upstream_idle_timeout', 'The whole answer did not come in time.'));
      }, deadlineMs);
      timer.unref();
    });
}
