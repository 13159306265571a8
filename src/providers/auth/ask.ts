import type { HeaderList } from '../../core/headers.js';
import type { Timeouts, Upstream } from '../../upstream/upstream.js';

export interface Question {
  readonly method: string;
  /** Absolute http(s) URL. */
  readonly url: string;
  readonly headers: HeaderList;
  readonly body: Buffer | null;
  /** Did a caller have a word in the address? Then it passes the rules for hosts that callers choose. */
  readonly callerChosen?: boolean;
}

export interface Told {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: HeaderList;
  readonly body: Buffer;
}

/** One small request of the gateway's own, answered whole. Rejects with a GatewayError where no answer came. */
export type Ask = (question: Question) => Promise<Told>;

const timeouts: Timeouts = { connectMs: 5_000, headersMs: 10_000, firstTokenMs: 10_000, idleMs: 5_000 };

/** No token and no list of keys is larger. */
const maxBytes = 256 * 1024;

/** Asks through the pools that providers are called by, and under the same rules for addresses. */
export function askThrough(upstream: Upstream): Ask {
  return ({ callerChosen = false, ...question }) =>
    new Promise((resolve, reject) => {
      let status = 0;
      let headers: HeaderList = [];
      const chunks: Buffer[] = [];
      upstream.send(
        { ...question, callerChosen, timeouts, maxBodyBytes: maxBytes },
        {
          head(given, list) {
            status = given;
            headers = list;
          },
          data(chunk) {
            chunks.push(chunk);
            return true;
          },
          end: () => resolve({ status, headers, body: Buffer.concat(chunks) }),
          error: reject,
        },
      );
    });
}
