import type { Socket } from 'node:net';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import type { buildConnector } from 'undici';
import { GatewayError } from '../core/errors.js';
import { fromConnect } from './failure.js';
import { asLookup, type Resolve } from './resolver.js';
import { buildConnector as connector } from './undici.js';

export interface ConnectOptions {
  readonly resolve: Resolve;
  /** Made once by `trust`; absent: the usual roots. */
  readonly trusted: SecureContext | undefined;
  /** Keep TLS sessions for later connections? */
  readonly resumeTls: boolean;
}

/** How long this origin's connections may take; the latest request's word counts. */
export interface ConnectWait {
  connectMs: number;
}

/** The usual roots and `ca` (PEM). Costs milliseconds, so once per process and never per connection. */
export function trust(ca: string | undefined): SecureContext | undefined {
  return ca === undefined ? undefined : createSecureContext({ ca: [...rootCertificates, ca] });
}

/** Between happy-eyeballs attempts. Node's 250 ms gives up on addresses an ocean away. */
const nextAddressMs = 1_000;

/**
 * undici's connector with our own resolver, a connect timeout that is exact (undici's own has a resolution of one
 * second), and errors that know whether it was TCP or TLS that failed.
 */
export function createConnect(options: ConnectOptions): (wait: ConnectWait) => buildConnector.connector {
  const connect = connector({
    timeout: 0,
    allowH2: false,
    lookup: asLookup(options.resolve),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: nextAddressMs,
    maxCachedSessions: options.resumeTls ? 100 : 0,
    ...(options.trusted === undefined ? {} : { secureContext: options.trusted }),
  });
  return (wait) => (to, callback) => {
    const host = to.host ?? to.hostname;
    let connected = false;
    let timer: NodeJS.Timeout | undefined;
    // Typed as void, but it returns the socket: there is no other way to end an attempt.
    const socket = connect(to, (error, ready) => {
      clearTimeout(timer);
      if (error !== null) {
        const secured = connected && to.protocol === 'https:';
        callback(error instanceof GatewayError ? error : fromConnect(error, host, secured), null);
        return;
      }
      unpauseBeforeClosing(ready);
      callback(null, ready);
    }) as unknown as Socket;
    if (to.protocol === 'https:') {
      socket.once('connect', () => {
        connected = true;
      });
    }
    if (wait.connectMs === 0) return;
    timer = setTimeout(() => {
      const message = `${host} gave no connection within ${wait.connectMs} ms.`;
      socket.destroy(new GatewayError('upstream_connect_timeout', message));
    }, wait.connectMs);
  };
}

/**
 * Works round faults of undici 7.30.2: where a connection ends or breaks while its reply is paused, an assertion
 * fails inside a socket event and takes the process with it, so that any upstream could kill a worker by closing a
 * connection whose client reads slowly. These listeners run before undici's. At an ordinary end all data has been
 * given out, so the reader is simply resumed; a broken connection only needs the pause lifted to be reported.
 * Tests in test/fault hold this.
 */
function unpauseBeforeClosing(socket: Socket): void {
  socket.on('end', resumeParser).on('error', unpauseParser).on('close', unpauseParser);
}

/**
 * undici takes a `100 Continue` that it did not ask for for a fault, while RFC 9110 §15.2 has a client ignore it. To
 * the parser of this connection it is a 102, which is passed over. Called once the connection has its parser.
 */
export function passOverContinue(socket: Socket): void {
  const parser = parserOf(socket);
  if (parser === null) return;
  const { onHeadersComplete } = parser;
  parser.onHeadersComplete = (status, upgrade, keepAlive) =>
    onHeadersComplete.call(parser, status === 100 ? 102 : status, upgrade, keepAlive);
}

interface Parser {
  paused: boolean;
  resume(): void;
  onHeadersComplete(status: number, upgrade: boolean, keepAlive: boolean): number;
}

function resumeParser(this: Socket): void {
  parserOf(this)?.resume();
}

function unpauseParser(this: Socket): void {
  const parser = parserOf(this);
  if (parser !== null) parser.paused = false;
}

function parserOf(socket: Socket): Parser | null {
  const symbol = Object.getOwnPropertySymbols(socket).find((key) => key.description === 'parser');
  if (symbol === undefined) return null;
  return (socket as unknown as Record<symbol, Parser | null>)[symbol] ?? null;
}
