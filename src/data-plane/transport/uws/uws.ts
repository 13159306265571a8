import type { HttpRequest, HttpResponse, TemplatedApp, us_listen_socket } from 'uWebSockets.js';
import { GatewayError } from '../../../common/core/errors.js';
import type { HeaderList } from '../../../common/http/headers.js';
import { reportFull } from '../connection-limit.js';
import { checkHead } from '../framing.js';
import { statusLine } from '../head-text.js';
import { lastChunk, lastChunkValue } from '../last-chunk.js';
import { refusalOf } from '../refusal.js';
import type { Refusal, Serving, Transport, TransportOptions } from '../transport.js';
import { UwsCall } from './uws-call.js';
import { copiedHeaders } from './uws-headers.js';

/** Members of the package that its types lack. */
interface NativeModule {
  App(): TemplatedApp & {
    listen(
      host: string,
      port: number,
      options: number,
      done: (socket: us_listen_socket | false) => void,
    ): void;
  };
  us_listen_socket_close(socket: us_listen_socket): void;
  us_socket_local_port(socket: us_listen_socket): number;
  _cfg(key: string): void;
}

const exclusivePort = 1;

/**
 * More than uWebSockets holds back while it reads a packet (16 KiB). After a refused head in the same packet there
 * may be another request, which it would serve: the refusal has to be on the wire and the socket closed before that.
 */
const padding = ' '.repeat(16 * 1024);

/** Refuses a request with an invalid head, and with it everything that follows on the connection. */
function refuse(res: HttpResponse, error: GatewayError, { headers, body }: Refusal): void {
  res.writeStatus(statusLine(error.status));
  for (let i = 0; i < headers.length; i += 2) res.writeHeader(headers[i]!, headers[i + 1]!);
  res.writeHeader('Connection', 'close');
  res.write(body + padding);
  res.writeHeader(lastChunk, lastChunkValue);
  res.close();
}

class UwsTransport implements Transport, Serving {
  inFlight = 0;
  draining = false;
  readonly #app: ReturnType<NativeModule['App']>;
  #socket: us_listen_socket | null = null;

  constructor(
    readonly uws: NativeModule,
    readonly options: TransportOptions,
  ) {
    this.#app = uws.App();
    if (options.maxConnections !== undefined) this.#bound(options.maxConnections);
    this.#app.any('/*', this.#request);
  }

  async listen(host: string, port: number, shared: boolean, isFirst = false): Promise<number> {
    let wanted = port;
    if (shared && (port === 0 || isFirst)) {
      // The native part cannot share a port chosen by the system: let the system choose, then bind that port.
      const chosen = await this.#bind(host, port, false);
      wanted = this.uws.us_socket_local_port(chosen);
      this.uws.us_listen_socket_close(chosen);
    }
    this.#socket = await this.#bind(host, wanted, shared);
    return this.uws.us_socket_local_port(this.#socket);
  }

  #bind(host: string, port: number, shared: boolean): Promise<us_listen_socket> {
    return new Promise((resolve, reject) => {
      this.#app.listen(host, port, shared ? 0 : exclusivePort, (socket) => {
        if (socket !== false) {
          resolve(socket);
          return;
        }
        const error: NodeJS.ErrnoException = new Error(
          `Cannot listen on ${host}:${port}: another process has the port, or the address is not this machine's.`,
        );
        error.code = 'EADDRINUSE';
        reject(error);
      });
    });
  }

  /**
   * The native part has no such limit. Without free descriptors it retries accepting in a loop that uses a whole
   * processor, so connections are closed before that.
   */
  #bound(maxConnections: number): void {
    const full = reportFull(maxConnections, this.options.onProblem);
    let open = 0;
    const count = (res: HttpResponse, change: number): void => {
      open += change;
      if (change < 0 || open <= maxConnections) return;
      full();
      res.close();
    };
    this.#app.filter(count as Parameters<TemplatedApp['filter']>[0]);
  }

  announceDrain(): void {
    this.draining = true;
  }

  drain(): void {
    this.draining = true;
    if (this.#socket !== null) this.uws.us_listen_socket_close(this.#socket);
    this.#socket = null;
  }

  close(): void {
    this.drain();
    this.#app.close();
  }

  readonly #request = (res: HttpResponse, req: HttpRequest): void => {
    let call: UwsCall | null = null;
    let path = '/';
    let headers: HeaderList = [];
    res.onAborted(() => call?.gone());
    try {
      headers = copiedHeaders(req);
      const method = req.getCaseSensitiveMethod();
      path = req.getUrl();
      // Without "?" the native part answers undefined, unlike its types.
      const query = req.getQuery() ?? '';
      const length = checkHead(method, path, query, headers);
      call = new UwsCall(this, res, method, path, query, headers, length);
    } catch (thrown) {
      const error = GatewayError.from(thrown);
      this.options.onProblem(error, 'refused request');
      refuse(res, error, refusalOf(this.options, error, path, headers));
      return;
    }
    this.inFlight++;
    try {
      this.options.handler(call);
    } catch (thrown) {
      call.failed(thrown, 'handler');
    }
    call.settle();
  };
}

/**
 * HTTP/1.1 with uWebSockets.js. Its limit of header bytes is read from the environment once, when it is first loaded:
 * a second transport in the same process shares the first one's.
 */
export async function createUwsTransport(options: TransportOptions): Promise<Transport> {
  process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = String(options.maxHeaderBytes);
  const uws = (await import('uWebSockets.js')) as unknown as NativeModule;
  // Or else every answer names the server software.
  uws._cfg('silent');
  return new UwsTransport(uws, options);
}
