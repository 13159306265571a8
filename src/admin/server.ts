import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type sendUnaryData,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { adminServices, type ServiceName, serviceNames } from '../../proto/services.js';
import { isScope } from '../core/scopes.js';
import { AdminError, adminErrors } from './admin-error.js';
import { apiKeysService } from './api-keys.js';
import { authenticate, type Caller } from './caller.js';
import { configsService } from './configs.js';
import { logsService } from './logs.js';
import { providersService } from './providers.js';
import type { AdminParts, Service } from './service.js';

export type { AdminParts } from './service.js';

const minute = 60_000;
const limits = {
  'grpc.max_receive_message_length': 4 * 1024 * 1024,
  'grpc.max_concurrent_streams': 100,
  'grpc.max_connection_age_ms': 30 * minute,
  'grpc.max_connection_age_grace_ms': minute,
  'grpc.max_connection_idle_ms': 5 * minute,
  'grpc.keepalive_time_ms': minute,
  'grpc.keepalive_timeout_ms': minute / 3,
  'grpc-node.max_session_memory': 64,
};

type Method = (caller: Caller, request: unknown) => Promise<unknown>;

interface Access {
  readonly any_of?: string;
  readonly changes?: boolean;
}

/** Scopes a method asks for, from its option in the proto file. Throws for a method that anyone could call. */
function scopesOfMethod(path: string, options: unknown): readonly string[] {
  const access = (options as { '(access)'?: Access } | undefined)?.['(access)'];
  const scopes = access?.any_of?.split(' ').filter((scope) => scope !== '') ?? [];
  const strange = scopes.find((scope) => !isScope(scope));
  if (scopes.length === 0 || strange !== undefined) {
    throw new Error(
      `${path} ${strange === undefined ? 'says no scope' : `asks for ${strange}, which is no scope`}.`,
    );
  }
  return scopes;
}

function refuse(error: AdminError, done: sendUnaryData<unknown>): void {
  const metadata = new Metadata();
  metadata.set('x-gateway-error-code', error.code);
  done({ code: adminErrors[error.code], details: error.message, metadata });
}

/** Binds the methods of one service. Nothing runs before the caller is known and holds a scope of the method's. */
function implement(parts: AdminParts, name: ServiceName, service: object): UntypedServiceImplementation {
  const bound: UntypedServiceImplementation = {};
  for (const [method, definition] of Object.entries(adminServices()[name])) {
    const { path } = definition;
    const scopes = scopesOfMethod(path, (definition as { options?: unknown }).options);
    const run = (service as Record<string, Method | undefined>)[method];
    if (run === undefined) throw new Error(`${path} is not implemented.`);
    const answer = async (call: ServerUnaryCall<unknown, unknown>): Promise<unknown> => {
      const caller = await authenticate(parts.store, call.metadata, Date.now());
      if (!scopes.some((scope) => caller.has(scope))) {
        throw new AdminError('AB03', `This key lacks the scope ${scopes.join(' or ')}.`);
      }
      return run(caller, call.request);
    };
    bound[method] = (call: ServerUnaryCall<unknown, unknown>, done: sendUnaryData<unknown>): void => {
      answer(call).then(
        (response) => done(null, response),
        (thrown: unknown) => {
          const error = AdminError.from(thrown);
          if (error.code === 'AB04' || error.code === 'unavailable') {
            parts.log.error({ err: error.cause ?? error, method: path }, 'admin call failed');
          }
          refuse(error, done);
        },
      );
    };
  }
  return bound;
}

/** A write is on disk before the workers are told: where they do not confirm, the answer says both. */
function confirmed(parts: AdminParts): AdminParts {
  return {
    ...parts,
    validateConfig: (text) => parts.validateConfig(text),
    isProvider: (name) => parts.isProvider(name),
    async changed(what) {
      try {
        await parts.changed(what);
      } catch (error) {
        throw new AdminError(
          'unavailable',
          'The change is stored, but not every data worker has confirmed it. Look at the list before you repeat it.',
          error,
        );
      }
    },
  };
}

export interface AdminServerOptions extends AdminParts {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
}

export interface AdminServer {
  readonly port: number;
  /** Lets running calls end, for so long. */
  close(graceMs: number): Promise<void>;
}

const hostOf = (host: string): string => (host.includes(':') && !host.startsWith('[') ? `[${host}]` : host);
const isLoopback = (host: string): boolean => /^(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/.test(host);

/** Starts the administration plane's gRPC server. */
export async function startAdminServer(options: AdminServerOptions): Promise<AdminServer> {
  const parts = confirmed(options);
  const services: { readonly [Name in ServiceName]: Service<Name> } = {
    ApiKeys: apiKeysService(parts),
    Providers: providersService(parts),
    Configs: configsService(parts),
    Logs: logsService(parts),
  };
  const server = new Server(limits);
  for (const name of serviceNames)
    server.addService(adminServices()[name], implement(parts, name, services[name]));
  const address = `${hostOf(options.host)}:${options.port}`;
  const port = await new Promise<number>((bound, failed) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, taken) => {
      if (error === null) bound(taken);
      else failed(new Error(`The admin port ${address} cannot be opened: ${error.message}`));
    });
  });
  if (!isLoopback(options.host)) {
    options.log.warn(
      { address },
      'admin gRPC is reachable from other machines without TLS: put a TLS proxy before it',
    );
  }
  return {
    port,
    close: (graceMs) =>
      new Promise((closed) => {
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
