import { type IncomingMessage, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { isIPv6, type LookupFunction } from 'node:net';
import type { CheckedAddresses } from '../../../data-plane/upstream/address/egress.js';

export interface CheckedRequest {
  readonly url: string;
  /** `GET` unless given. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Of the answer's body: a longer one is a failure. */
  readonly maxBytes: number;
  /** Milliseconds from the resolution of the name to the last byte. */
  readonly deadlineMs: number;
}

export interface CheckedAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** Why there is no answer, without the URL: `ECONNREFUSED`, `the answer took too long`. */
export class RequestFailed extends Error {
  override readonly name = 'RequestFailed';
}

/**
 * One request of the control process to an address that an administrator of a tenant has set: to the addresses that
 * egress rules have checked, over a connection of its own. Redirections are not followed. Throws RequestFailed, or
 * `invalid_custom_host` where the rules refuse the address.
 */
export async function checkedRequest(
  egress: CheckedAddresses,
  { url: text, method = 'GET', headers = {}, body, maxBytes, deadlineMs }: CheckedRequest,
): Promise<CheckedAnswer> {
  const url = egress.checkUrl(text);
  const signal = AbortSignal.timeout(deadlineMs);
  const late = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new RequestFailed('the answer took too long')));
  });
  const answer = egress.addresses(url).then((addresses) => {
    const lookup: LookupFunction = (_host, options, done) => {
      const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
      const [first] = found;
      if (options.all === true) done(null, found);
      else done(null, first?.address ?? '', first?.family);
    };
    return exchanged({ url, method, headers, body, maxBytes, lookup, signal });
  });
  answer.catch(() => {});
  return Promise.race([answer, late]);
}

interface Sent extends Pick<CheckedRequest, 'body' | 'maxBytes'> {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly lookup: LookupFunction;
  readonly signal: AbortSignal;
}

function exchanged({ url, body, maxBytes, ...options }: Sent): Promise<CheckedAnswer> {
  const request = url.protocol === 'https:' ? tlsRequest : plainRequest;
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException): void =>
      reject(error instanceof RequestFailed ? error : new RequestFailed(error.code ?? 'no connection'));
    // A pool would connect again to addresses that are no longer checked.
    const sent = request(url, { ...options, agent: false }, (answer) => {
      const pieces: Buffer[] = [];
      let bytes = 0;
      answer.on('data', (piece: Buffer) => {
        bytes += piece.length;
        if (bytes > maxBytes)
          answer.destroy(new RequestFailed(`the answer is longer than ${maxBytes} bytes`));
        else pieces.push(piece);
      });
      answer.on('error', fail);
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(pieces) }),
      );
    });
    sent.on('error', fail);
    sent.end(body);
  });
}
