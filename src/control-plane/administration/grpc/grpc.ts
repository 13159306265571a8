import { isIP } from 'node:net';
import {
  type Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type sendUnaryData,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { BadText, BadTime, decode, type Message, TooMany } from '../../../../proto/codec.js';
import { TooDeep } from '../../../../proto/json.js';
import { type AdminMethod, adminPackage, adminTree } from '../../../../proto/tree.js';
import type { Logger } from '../../../common/plugin-host/plugin.js';
import { uuidv7 } from '../../../common/text/id.js';
import type { Calls } from '../access/call.js';
import { oneKey } from '../access/caller.js';
import type { Inbound } from '../access/inbound.js';
import { AdminError } from '../admin-error.js';
import { checkedMask, maskOfPresent } from '../audit/mask.js';
import { mostValuesOf } from '../shape/values.js';
import { GrpcListener, longestMessage } from './grpc-listener.js';
import { refusalOf } from './grpc-refusal.js';
import { addHealth } from './health.js';
import { messageWire } from './message-bytes.js';

const minute = 60_000;
const limits = {
  'grpc.max_receive_message_length': longestMessage,
  'grpc.max_concurrent_streams': 100,
  'grpc.max_connection_age_ms': 30 * minute,
  'grpc.max_connection_age_grace_ms': minute,
  'grpc.max_connection_idle_ms': 5 * minute,
  'grpc.keepalive_time_ms': minute,
  'grpc.keepalive_timeout_ms': minute / 3,
  'grpc-node.max_session_memory': 64,
  // Statistics that nothing here reads.
  'grpc.enable_channelz': 0,
};
/** Bytes of a call's metadata, names and values. */
const mostMetadata = 16 * 1024;
/** For a call that brings no deadline, or one further off. Milliseconds. */
const longestCall = 10_000;
/** Methods whose calls may be longer than others: thousands of records in one. Milliseconds. */
const longerCalls: Readonly<Record<string, number>> = {
  'Documents.ApplyDocuments': 120_000,
  'Documents.ExportDocuments': 60_000,
  'Requests.ReplayRequests': 120_000,
};
/** Milliseconds that a call of the method may take. */
export const longestOf = ({ name }: AdminMethod): number => longerCalls[name] ?? longestCall;
/** For a connection's first request, and for each request to arrive whole. Milliseconds. */
const requestMs = 10_000;

export interface GrpcOptions {
  readonly calls: Calls;
  /** Headers that a key may come in, beside Authorization; lower case. */
  readonly keyHeaders: readonly string[];
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Certificate chain and key, PEM; null: no TLS. */
  readonly tls: { readonly cert: Buffer; readonly key: Buffer } | null;
  /** May clients ask which methods there are? */
  readonly reflection: boolean;
  /** Connections at once. */
  readonly maxConnections: number;
  /** A client that takes nothing of a stream for this long is cut. Milliseconds. */
  readonly writeTimeoutMs: number;
  readonly log: Logger;
}

export interface GrpcServer {
  readonly port: number;
  /** Lets running calls end, for so long. */
  close(graceMs: number): Promise<void>;
}

type GrpcCall = ServerUnaryCall<Buffer, Buffer> | ServerWritableStream<Buffer, Buffer>;

/** `ipv4:127.0.0.1:4711`, `ipv6:[::1]:4711` or without the scheme. */
function addressOf(peer: string): string {
  const host = peer
    .replace(/^ipv[46]:/, '')
    .replace(/:\d+$/, '')
    .replace(/^\[|\]$/g, '');
  return isIP(host) === 0 ? '' : host;
}

const textsOf = (metadata: Metadata, name: string): string[] =>
  metadata.get(name).map((value) => value.toString());

function checkMetadata(metadata: Metadata): void {
  let bytes = 0;
  for (const [name, values] of Object.entries(metadata.toJSON())) {
    for (const value of values) bytes += name.length + value.length;
  }
  if (bytes > mostMetadata) throw AdminError.http(431, `The metadata is longer than ${mostMetadata} bytes.`);
}

/** The request in memory. An update without a mask means the fields that are there. */
export function readRequest(method: AdminMethod, bytes: Buffer): Message {
  const { request: shape } = method;
  const most = mostValuesOf(method);
  let message: Message;
  try {
    message = decode(shape, bytes, most);
  } catch (error) {
    if (error instanceof BadTime)
      throw new AdminError('AB01', 'A time must lie between the years 1 and 9999.');
    if (error instanceof BadText) throw new AdminError('AB01', 'Text in the request is not valid UTF-8.');
    if (error instanceof TooMany)
      throw new AdminError('AB01', `The request has more than ${most} names and values.`);
    if (error instanceof TooDeep) throw new AdminError('AB01', 'The request is nested too deeply.');
    throw new AdminError('AB01', `The request is not a ${shape.name}.`);
  }
  if (shape.field('update_mask')?.apart !== true) return message;
  const mask = message['update_mask'] as readonly string[] | undefined;
  const named = mask === undefined || mask.length === 0 ? maskOfPresent(shape, message) : mask;
  return { ...message, update_mask: checkedMask(shape, named) };
}

function inbound(
  { keyHeaders }: GrpcOptions,
  method: AdminMethod,
  call: GrpcCall,
  gone: AbortSignal,
): Inbound {
  const { metadata } = call;
  const given = call.getDeadline();
  const asked = given instanceof Date ? given.getTime() : given;
  return {
    method,
    requestId: uuidv7(),
    key() {
      checkMetadata(metadata);
      const own = keyHeaders.flatMap((name) => textsOf(metadata, name));
      return oneKey(own, textsOf(metadata, 'authorization'));
    },
    read: () => readRequest(method, call.request),
    address: addressOf(call.getPeer()),
    userAgent: textsOf(metadata, 'user-agent')[0] ?? null,
    rest: null,
    deadline: Math.min(asked, Date.now() + longestOf(method)),
    gone,
  };
}

function answerUnary(
  options: GrpcOptions,
  method: AdminMethod,
  call: ServerUnaryCall<Buffer, Buffer>,
  done: sendUnaryData<Buffer>,
): void {
  const gone = new AbortController();
  const leave = (): void => gone.abort();
  call.on('cancelled', leave);
  const incoming = inbound(options, method, call, gone.signal);
  // grpc-js calls every call cancelled when its stream closes, answered or not.
  const answer: sendUnaryData<Buffer> = (error, bytes) => {
    call.off('cancelled', leave);
    done(error, bytes);
  };
  options.calls
    .unary(incoming)
    .then((response) => encoded(options, method, response))
    .then(
      (bytes) => answer(null, bytes),
      (thrown) => answer(refusalOf(AdminError.from(thrown), incoming.requestId)),
    );
}

/** Resolves when the client has taken what was written, or has gone. Throws `deadline` where neither happens in time. */
function drained(call: ServerWritableStream<Buffer, Buffer>, timeoutMs: number): Promise<void> {
  return new Promise((resume, fail) => {
    const end = (): void => {
      clearTimeout(timer);
      call.off('drain', go);
      call.off('cancelled', go);
    };
    const go = (): void => {
      end();
      resume();
    };
    const timer = setTimeout(() => {
      end();
      fail(
        new AdminError(
          'deadline',
          `Nothing of this stream was read for ${timeoutMs} ms: open it again, and read what comes.`,
        ),
      );
    }, timeoutMs);
    call.on('drain', go);
    call.on('cancelled', go);
  });
}

async function answerStream(
  options: GrpcOptions,
  method: AdminMethod,
  call: ServerWritableStream<Buffer, Buffer>,
): Promise<void> {
  const gone = new AbortController();
  const incoming = inbound(options, method, call, gone.signal);
  const responses = options.calls.stream(incoming);
  call.on('cancelled', () => {
    gone.abort();
    void responses.return(undefined);
  });
  try {
    for await (const response of responses) {
      if (!call.write(await encoded(options, method, response)) && !call.cancelled)
        await drained(call, options.writeTimeoutMs);
    }
    call.end();
  } catch (thrown) {
    call.emit('error', refusalOf(AdminError.from(thrown), incoming.requestId));
  }
}

async function encoded({ log }: GrpcOptions, method: AdminMethod, response: Message): Promise<Buffer> {
  try {
    return await messageWire(method.response, response);
  } catch (error) {
    log.error({ err: error, method: method.path }, 'an answer is not what its proto file says');
    throw error;
  }
}

type Handler = UntypedServiceImplementation[string];

/** Messages cross grpc-js as bytes: errors in them are reported by the same rules as over REST. */
const asBytes = (bytes: Buffer): Buffer => bytes;

function addServices(server: Server, options: GrpcOptions): void {
  const bound = new Map<string, { definition: Record<string, object>; handlers: Record<string, Handler> }>();
  for (const method of adminTree().methods.values()) {
    const service = bound.get(method.service) ?? { definition: {}, handlers: {} };
    bound.set(method.service, service);
    service.definition[method.method] = {
      path: method.path,
      requestStream: false,
      responseStream: method.streams,
      requestSerialize: asBytes,
      requestDeserialize: asBytes,
      responseSerialize: asBytes,
      responseDeserialize: asBytes,
    };
    service.handlers[method.method] = method.streams
      ? (call: ServerWritableStream<Buffer, Buffer>) => {
          answerStream(options, method, call).catch((error: unknown) => {
            options.log.error({ err: error, method: method.path }, 'a stream could not be answered');
          });
        }
      : (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) =>
          answerUnary(options, method, call, done);
  }
  for (const { definition, handlers } of bound.values())
    server.addService(definition as ServiceDefinition, handlers);
  const names = [...bound.keys()].map((name) => `${adminPackage}.${name}`);
  addHealth(server, ['', ...names]);
}

const hostOf = (host: string): string => (host.includes(':') && !host.startsWith('[') ? `[${host}]` : host);
const isLoopback = (host: string): boolean => /^(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/.test(host);

/** Starts the administration plane's gRPC server. */
export async function startGrpc(options: GrpcOptions): Promise<GrpcServer> {
  const { tls, host, port: wanted, maxConnections, log } = options;
  const listener = new GrpcListener({ host, port: wanted, maxConnections, requestMs, log });
  const server = new Server({ ...limits, interceptors: [listener.interceptor] });
  addServices(server, options);
  if (options.reflection) (await import('./reflection.js')).addReflection(server);
  const credentials =
    tls === null
      ? ServerCredentials.createInsecure()
      : ServerCredentials.createSsl(null, [{ cert_chain: tls.cert, private_key: tls.key }]);
  const address = `${hostOf(host)}:${wanted}`;
  const port = await listener.listen(server, credentials).catch((error: Error) => {
    throw new Error(`The admin port ${address} cannot be opened: ${error.message}`);
  });
  if (tls === null && !isLoopback(host)) {
    log.warn(
      { address },
      'admin gRPC is reachable from other machines without TLS: set grpc_tls_cert and grpc_tls_key',
    );
  }
  return {
    port,
    close: (graceMs) =>
      new Promise((closed) => {
        listener.close();
        options.calls.endStreams();
        const hard = setTimeout(() => {
          server.forceShutdown();
          closed();
        }, graceMs);
        server.tryShutdown(() => {
          clearTimeout(hard);
          closed();
        });
      }),
  };
}
