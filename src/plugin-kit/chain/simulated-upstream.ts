import { AsyncResource } from 'node:async_hooks';
import { request as httpRequest, type Server } from 'node:http';
import { isSource, type Source } from '../../common/bytes/body.js';
import { type ErrorCode, GatewayError } from '../../common/core/errors.js';
import type {
  Upstream,
  UpstreamFlight,
  UpstreamHandler,
  UpstreamRequest,
} from '../../data-plane/upstream/upstream.js';
import { unboundSimulated } from '../../simulated/index.js';
import type { ProviderAnswer, ProviderCall } from '../kit-types.js';
import { headersOf, listOf, parsed } from './header-record.js';
import { MemorySocket } from './memory-socket.js';

export interface SimulatedUpstreamOptions {
  onCall(call: ProviderCall): void;
  /** undefined: the simulated provider answers. */
  answer(call: ProviderCall): ProviderAnswer | undefined;
}

/** Requests to providers, answered by the simulated one over connections within this process. */
export function simulatedUpstream(options: SimulatedUpstreamOptions): Upstream {
  const server = unboundSimulated();
  return {
    send: (request, handler) => new MemoryFlight(server, options, request, handler),
    async close() {
      server.closeAllConnections();
    },
  };
}

/** One request to a provider. */
class MemoryFlight implements UpstreamFlight {
  sent = false;
  #over = false;
  #stop: () => void = () => {};
  #resume: () => void = () => {};
  readonly #handler: UpstreamHandler;
  // A provider's answer belongs to the request that waits for it.
  readonly #scope = new AsyncResource('ProviderAnswer');

  constructor(
    readonly server: Server,
    readonly options: SimulatedUpstreamOptions,
    readonly request: UpstreamRequest,
    handler: UpstreamHandler,
  ) {
    this.#handler = handler;
    const { body } = request;
    if (body === null || !isSource(body)) this.#send(body ?? Buffer.alloc(0));
    else this.#collect(body);
  }

  resume(): void {
    this.#resume();
  }

  cancel(): void {
    this.#over = true;
    this.#stop();
  }

  #collect(body: Source): void {
    const pieces: Buffer[] = [];
    this.#stop = () => body.cancel();
    body.start({
      data: (chunk) => pieces.push(chunk) > 0,
      end: () => this.#send(Buffer.concat(pieces)),
      error: (error) => this.#fail(error),
    });
  }

  #send(body: Buffer): void {
    if (this.#over) return;
    this.sent = true;
    const call = callOf(this.request, body);
    this.options.onCall(call);
    const answer = this.options.answer(call);
    if (answer === undefined) this.#ask(body);
    else setImmediate(() => this.#give(answer));
  }

  /** Asks the simulated provider. */
  #ask(body: Buffer): void {
    const [own, theirs] = MemorySocket.pair();
    const { method, headers } = this.request;
    const { pathname, search, host } = new URL(this.request.url);
    const sending = httpRequest({
      method,
      path: pathname + search,
      headers: ['host', host, ...headers, 'content-length', String(body.length)],
      createConnection: () => own,
    });
    this.#stop = () => sending.destroy();
    sending.on('response', (response) => {
      this.#head(response.statusCode ?? 0, flat(response.rawHeaders));
      this.#resume = () => response.resume();
      response.on('data', (chunk: Buffer) => {
        if (!this.#data(chunk)) response.pause();
      });
      response.on('end', () => this.#end());
      response.on('error', () => this.#fail(broken('upstream_truncated', 'ended before its answer did')));
    });
    sending.on('error', () => this.#fail(broken('upstream_reset', 'closed the connection')));
    this.server.emit('connection', theirs);
    sending.end(body);
  }

  #give({ status = 200, headers = {}, body }: ProviderAnswer): void {
    const pieces = Array.isArray(body) ? (body as readonly string[]) : [body];
    this.#head(status, listOf({ 'content-type': 'application/json', ...headers }));
    for (const piece of pieces)
      this.#data(Buffer.from(typeof piece === 'string' ? piece : JSON.stringify(piece)));
    this.#end();
  }

  #head(status: number, headers: string[]): void {
    if (!this.#over) this.#scope.runInAsyncScope(() => this.#handler.head(status, headers));
  }

  #data(chunk: Buffer): boolean {
    return this.#over || this.#scope.runInAsyncScope(() => this.#handler.data(chunk));
  }

  #end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#scope.runInAsyncScope(() => this.#handler.end());
  }

  #fail(error: GatewayError): void {
    if (this.#over) return;
    this.#over = true;
    this.#scope.runInAsyncScope(() => this.#handler.error(error));
  }
}

const broken = (code: ErrorCode, what: string): GatewayError =>
  new GatewayError(code, `The simulated provider ${what}.`);

const ofConnection = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'date']);

/** As an upstream gives headers: lower case, without those of the connection. */
function flat(raw: readonly string[]): string[] {
  const headers: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i]!.toLowerCase();
    if (!ofConnection.has(name)) headers.push(name, raw[i + 1]!);
  }
  return headers;
}

function callOf({ method, url, headers }: UpstreamRequest, bytes: Buffer): ProviderCall {
  const body = bytes.toString();
  return { method, url, headers: headersOf(headers), body, json: parsed(body) };
}
