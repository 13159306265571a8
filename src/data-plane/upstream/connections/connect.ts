import { connect as connectTcp, isIP, type Socket, type TcpNetConnectOpts } from 'node:net';
import {
  type ConnectionOptions,
  connect as connectTls,
  createSecureContext,
  rootCertificates,
  type SecureContext,
} from 'node:tls';
import { asLookup, type Resolve } from '../address/resolver.js';

/** The server to connect to. */
export interface Destination {
  readonly secure: boolean;
  /** A name or an address, IPv6 without brackets. */
  readonly hostname: string;
  readonly port: number;
  /** As in `Host` and in messages. */
  readonly host: string;
}

export interface ConnectOptions {
  readonly resolve: Resolve;
  /** Made once by `trust`; absent: the default root certificates. */
  readonly trusted: SecureContext | undefined;
}

/**
 * The default root certificates and `ca` (PEM). Takes milliseconds, so call it once per process, not per connection.
 */
export function trust(ca: string | undefined): SecureContext | undefined {
  return ca === undefined ? undefined : createSecureContext({ ca: [...rootCertificates, ca] });
}

export function targetOf(url: URL): Destination {
  const secure = url.protocol === 'https:';
  const { hostname } = url;
  return {
    secure,
    hostname: hostname.startsWith('[') ? hostname.slice(1, -1) : hostname,
    port: url.port === '' ? (secure ? 443 : 80) : Number(url.port),
    host: url.host,
  };
}

/** Between happy-eyeballs attempts. Node's 250 ms is too short for distant addresses. */
const nextAddressMs = 1_000;
const probeAfterMs = 60_000;
/** A TLS session longer than this is not kept: servers choose what is in it, and each pool keeps one. */
const maxSessionBytes = 8 * 1024;
/** Bytes of an upload that a socket buffers before it reports that it is full. */
const highWaterMark = 64 * 1024;
/**
 * The same over TLS, where it also limits the bytes read and kept for a paused reader: in one-byte records, 140 bytes
 * each.
 */
const tlsHighWaterMark = 2 * 1024;

/** Receives bytes: the first `length` of `bytes`, which it may use until it returns. false: no more for now. */
export type Read = (bytes: Buffer, length: number) => boolean;

/** Opens a connection. Paused reading continues with the socket's `resume`. */
export type Dial = (read: Read) => Socket;

/**
 * The read buffer of all plain connections: it is processed before the next connection is read.
 * A buffer for each read would cost more than the read.
 */
const received = Buffer.allocUnsafeSlow(64 * 1024);

export function dialer(target: Destination, options: ConnectOptions): Dial {
  const { secure, hostname, port } = target;
  const common = {
    host: hostname,
    port,
    lookup: asLookup(options.resolve),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: nextAddressMs,
  };
  const begin = (socket: Socket): Socket =>
    leaveEndToReader(socket).setNoDelay(true).setKeepAlive(true, probeAfterMs);
  if (!secure) {
    return (read) => {
      const onread = { buffer: received, callback: (length: number) => read(received, length) };
      return begin(connectTcp({ ...common, highWaterMark, onread } as TcpNetConnectOpts));
    };
  }
  let session: Buffer | undefined;
  return (read) => {
    const socket = connectTls({
      ...common,
      servername: isIP(hostname) === 0 ? hostname : '',
      ALPNProtocols: ['http/1.1'],
      highWaterMark: tlsHighWaterMark,
      ...(options.trusted === undefined ? {} : { secureContext: options.trusted }),
      ...(session === undefined ? {} : { session }),
    } as ConnectionOptions);
    // Not `onread`: TLS passes on the rest of a record even after reading was paused.
    socket.on('data', (chunk) => {
      if (!read(chunk, chunk.length)) socket.pause();
    });
    socket.on('session', (latest) => {
      if (latest.length <= maxSessionBytes) session = latest;
    });
    return begin(socket);
  };
}

const isCutOff = (error: NodeJS.ErrnoException | null | undefined): boolean =>
  error?.syscall === 'write' && (error.code === 'EPIPE' || error.code === 'ECONNRESET');

/**
 * An upstream may answer before it has read the whole request, and close (a 413). Its answer can be read, but Node
 * destroys a socket as soon as writing to it fails. Such a failure adds nothing to what the reading side reports after
 * the answer: so nothing more is written, and the reading side reports the end.
 */
function leaveEndToReader(socket: Socket): Socket {
  const unlessCutOff =
    (done: (error?: Error | null) => void) =>
    (error?: Error | null): void => {
      if (!isCutOff(error)) done(error);
    };
  const { _write, _writev } = socket;
  socket._write = (chunk, encoding, done) => _write.call(socket, chunk, encoding, unlessCutOff(done));
  socket._writev = (chunks, done) => _writev?.call(socket, chunks, unlessCutOff(done));
  return socket;
}
