import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import { decode, encode, type Message } from '../../proto/codec.js';
import type { AdminServices } from '../../proto/messages.js';
import { type AdminMethod, adminTree } from '../../proto/tree.js';
import { severalWorkspaces } from '../common/access/key-refusals.js';
import { AdminCallError } from './call-error.js';

export interface AdminConnection {
  /** host:port */
  readonly address: string;
  /** A gateway key: an admin key, or one that holds the scopes. */
  readonly key: string;
  /** Milliseconds a call may take; streams go on for as long as they are read. */
  readonly timeoutMs?: number;
  /** TLS: `true` for certificates that this machine trusts, or the authority's own, PEM. */
  readonly tls?: true | { readonly ca: Buffer };
  /** A call that has to name one of several workspaces, and names none, is sent again for the default workspace. */
  readonly defaultWorkspace?: boolean;
}

/** The slug of the workspace that every organisation has from the start. */
const defaultSlug = 'default';

/** A message to be sent: what is left out has its default, or is absent. */
export type Input<T> = T extends readonly (infer Item)[]
  ? readonly Input<Item>[]
  : T extends Uint8Array
    ? T
    : T extends object
      ? { readonly [Name in keyof T]?: Input<T[Name]> }
      : T;

type Method<Pair> = Pair extends [infer Request, infer Response]
  ? Response extends AsyncIterable<unknown>
    ? /** `signal`: ends it. */ (request?: Input<Request>, signal?: AbortSignal) => Response
    : (request?: Input<Request>) => Promise<Response>
  : never;

type Methods<Service> = {
  readonly [Name in keyof Service as Uncapitalize<Name & string>]: Method<Service[Name]>;
};

/** Every method of the administration plane: `api.configs.listConfigs({ workspace_id: 'ws-main' })`. */
export type AdminApi = {
  readonly [Name in keyof AdminServices as Uncapitalize<Name & string>]: Methods<AdminServices[Name]>;
};

const bytes = (value: Buffer): Buffer => value;
const lowered = (name: string): string => name.charAt(0).toLowerCase() + name.slice(1);

/** Calls methods by their descriptors. */
export class MethodCaller {
  readonly #client: Client;
  readonly #metadata = new Metadata();
  readonly #timeoutMs: number;
  readonly #defaultWorkspace: boolean;

  constructor({ address, key, timeoutMs = 10_000, tls, defaultWorkspace = false }: AdminConnection) {
    const channel =
      tls === undefined ? credentials.createInsecure() : credentials.createSsl(tls === true ? null : tls.ca);
    this.#client = new Client(address, channel, {
      'grpc.max_receive_message_length': 64 * 1024 * 1024,
    });
    this.#metadata.set('x-gateway-api-key', key);
    this.#timeoutMs = timeoutMs;
    this.#defaultWorkspace = defaultWorkspace;
  }

  async unary(method: AdminMethod, request: Message): Promise<Message> {
    try {
      return await this.#unary(method, request);
    } catch (error) {
      const isUnplaced = error instanceof AdminCallError && error.message === severalWorkspaces;
      if (!isUnplaced || !this.#defaultWorkspace || method.request.field('workspace_id') === undefined)
        throw error;
      return this.#unary(method, { ...request, workspace_id: defaultSlug });
    }
  }

  #unary(method: AdminMethod, request: Message): Promise<Message> {
    return new Promise((answered, failed) => {
      this.#client.makeUnaryRequest(
        method.path,
        bytes,
        bytes,
        encode(method.request, request),
        this.#metadata,
        { deadline: Date.now() + this.#timeoutMs },
        (error: ServiceError | null, response?: Buffer) => {
          if (error !== null) failed(AdminCallError.from(error));
          else answered(decode(method.response, response ?? Buffer.alloc(0)));
        },
      );
    });
  }

  async *stream(method: AdminMethod, request: Message, signal?: AbortSignal): AsyncGenerator<Message> {
    const call = this.#client.makeServerStreamRequest(
      method.path,
      bytes,
      bytes,
      encode(method.request, request),
      this.#metadata,
    );
    const leave = (): void => call.cancel();
    signal?.addEventListener('abort', leave);
    if (signal?.aborted === true) leave();
    try {
      for await (const response of call) yield decode(method.response, response as Buffer);
    } catch (error) {
      if (signal?.aborted !== true) throw AdminCallError.from(error as ServiceError);
    } finally {
      signal?.removeEventListener('abort', leave);
      call.cancel();
    }
  }

  close(): void {
    this.#client.close();
  }
}

/** The methods of the proto files, as functions of a caller. */
export function apiOf(caller: MethodCaller): AdminApi {
  const api: Record<string, Record<string, unknown>> = {};
  for (const method of adminTree().methods.values()) {
    const service = lowered(method.service);
    api[service] ??= {};
    api[service][lowered(method.method)] = (request: Message = {}, signal?: AbortSignal) =>
      method.streams ? caller.stream(method, request, signal) : caller.unary(method, request);
  }
  return api as unknown as AdminApi;
}
