import type { Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import type { buildConnector } from 'undici';
import { asLookup, type Resolve } from '../address/resolver.js';
import { connectTimeout, fromConnect } from '../failure.js';
import { type ForwardProxy, tunnel } from './forward-proxy.js';
import { unpauseBeforeClosing } from './parser-repairs.js';
import { buildConnector as undiciConnector } from './parts.js';

export interface ConnectorOptions {
  readonly resolve: Resolve;
  /** Made once by `trust`; absent: the default root certificates. */
  readonly trusted: SecureContext | undefined;
  /** null: connections go to the host itself. */
  readonly proxy: ForwardProxy | null;
}

/** The connect timeout of a pool: that of its latest request. Milliseconds; 0: none. */
export interface ConnectWait {
  connectMs: number;
}

/** Between happy-eyeballs attempts. Node's 250 ms is too short for distant addresses. */
const nextAddressMs = 1_000;

/**
 * undici's connector with the gateway's resolver, an exact connect timeout (undici's own has a resolution of a second),
 * and errors that show whether TCP or TLS failed.
 */
export function createConnector(options: ConnectorOptions, wait: ConnectWait): buildConnector.connector {
  const { resolve, trusted, proxy } = options;
  const connect = undiciConnector({
    timeout: 0,
    allowH2: false,
    lookup: asLookup(resolve),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: nextAddressMs,
    ...(trusted === undefined ? {} : { secureContext: trusted }),
  }) as Connect;
  return (to, callback) => {
    const host = to.host ?? to.hostname;
    const secure = to.protocol === 'https:';
    let connected = false;
    let failedWith: Error | null = null;
    let socket: Socket;
    let timer: NodeJS.Timeout | undefined;
    const done: buildConnector.Callback = (error, ready) => {
      clearTimeout(timer);
      if (error !== null) return callback(failedWith ?? fromConnect(error, host, secure && connected), null);
      unpauseBeforeClosing(ready!);
      callback(null, ready!);
    };
    const begin = (through?: Socket): void => {
      socket = connect(through === undefined ? to : { ...to, httpSocket: through }, done);
      if (through !== undefined) connected = true;
      else if (secure) socket.once('connect', () => (connected = true));
    };
    if (proxy === null) begin();
    else {
      socket = tunnel(proxy, to, trusted, (error, opened) => {
        if (error !== null) done(error, null);
        else if (secure) begin(opened);
        else done(null, opened);
      });
    }
    if (wait.connectMs === 0) return;
    timer = setTimeout(() => {
      failedWith = connectTimeout(host, wait.connectMs, connected ? 'tls' : 'tcp');
      socket.destroy(failedWith);
    }, wait.connectMs);
  };
}

/** Typed as void, but it returns the socket: there is no other way to end an attempt. */
type Connect = (to: buildConnector.Options, callback: buildConnector.Callback) => Socket;
