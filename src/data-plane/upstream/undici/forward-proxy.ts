import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';
import { GatewayError } from '../../../common/core/errors.js';

/** A forward proxy that opens tunnels by CONNECT. */
export interface ForwardProxy {
  readonly secure: boolean;
  readonly hostname: string;
  readonly port: number;
  /** Value of Proxy-Authorization; null: none. */
  readonly authorization: string | null;
}

/** `http[s]://[user:password@]host[:port]` */
export function proxyOf(text: string): ForwardProxy {
  const url = new URL(text);
  const secure = url.protocol === 'https:';
  const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return {
    secure,
    hostname: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (secure ? 443 : 80) : Number(url.port),
    authorization: url.username === '' ? null : `Basic ${Buffer.from(credentials).toString('base64')}`,
  };
}

const maxReplyBytes = 16 * 1024;

const failed = (reason: string, cause?: unknown): GatewayError =>
  new GatewayError('upstream_connect_failed', `The proxy (upstream_proxy) ${reason}.`, { cause });

interface Destination {
  readonly hostname: string;
  readonly port: string;
  readonly protocol: string;
}

type Opened = (...result: [error: Error, socket: null] | [error: null, socket: Socket]) => void;

/**
 * Opens a tunnel to a host, whose name the proxy resolves. Returns the socket at once, so that the attempt can be
 * cancelled; calls back once.
 */
export function tunnel(
  proxy: ForwardProxy,
  to: Destination,
  trusted: SecureContext | undefined,
  opened: Opened,
): Socket {
  const { secure, hostname, port } = proxy;
  const socket = secure
    ? connectTls({
        host: hostname,
        port,
        servername: isIP(hostname) === 0 ? hostname : '',
        ALPNProtocols: ['http/1.1'],
        ...(trusted === undefined ? {} : { secureContext: trusted }),
      })
    : connectTcp({ host: hostname, port, noDelay: true });
  let reply = '';
  let isConnected = false;
  const finish: Opened = (...result) => {
    socket.off('error', onError).off('close', onClose).off('data', onData);
    if (result[0] !== null) socket.on('error', () => {}).destroy();
    opened(...result);
  };
  const onError = (error: Error): void =>
    finish(
      error instanceof GatewayError
        ? error
        : failed(isConnected ? 'broke the connection' : 'cannot be reached', error),
      null,
    );
  const onClose = (): void => finish(failed('closed the connection'), null);
  const onData = (bytes: Buffer): void => {
    reply += bytes.toString('latin1');
    const end = reply.indexOf('\r\n\r\n');
    if (end === -1 && reply.length <= maxReplyBytes) return;
    const status = /^HTTP\/1\.[01] (\d{3})[ \r]/.exec(reply)?.[1];
    if (end === -1 || status === undefined)
      return finish(failed('did not answer CONNECT with HTTP/1.1'), null);
    if (!status.startsWith('2')) return finish(failed(`refused the connection with status ${status}`), null);
    // No server of HTTP or TLS sends bytes before the request.
    if (reply.length > end + 4) return finish(failed('sent bytes after its answer to CONNECT'), null);
    socket.pause();
    finish(null, socket);
  };
  socket
    .on('error', onError)
    .on('close', onClose)
    .on('data', onData)
    .once(secure ? 'secureConnect' : 'connect', () => {
      isConnected = true;
      const port = to.port === '' ? (to.protocol === 'https:' ? '443' : '80') : to.port;
      const bare = to.hostname.replace(/^\[|\]$/g, '');
      const host = `${isIP(bare) === 6 ? `[${bare}]` : bare}:${port}`;
      const { authorization } = proxy;
      const own = authorization === null ? '' : `proxy-authorization: ${authorization}\r\n`;
      socket.write(`CONNECT ${host} HTTP/1.1\r\nhost: ${host}\r\n${own}\r\n`);
    });
  return socket;
}
