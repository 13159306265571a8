import {
  Client,
  credentials,
  Metadata,
  type MethodDefinition,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import type {
  AdminServices,
  ConfigMessage,
  CreateApiKeyRequest,
  CreateConfigResponse,
  CreatedApiKey,
  CreatedProvider,
  CreateProviderRequest,
  ListApiKeysRequest,
  ListInWorkspaceRequest,
  ListLogsRequest,
  UpdateConfigResponse,
  Value,
} from '../../proto/messages.js';
import { adminServices, type ServiceName } from '../../proto/services.js';

export type * from '../../proto/messages.js';
export { fromTimestamp, toTimestamp } from '../../proto/timestamp.js';

/** An administration call that was refused, or that nobody answered. */
export class AdminCallError extends Error {
  override readonly name = 'AdminCallError';

  constructor(
    message: string,
    /** Name of the gRPC status: `NOT_FOUND`. */
    readonly status: string,
    /** Code of the administration plane (`AB08`); null: nobody answered. */
    readonly code: string | null,
  ) {
    super(message);
  }

  /** Was there no gateway at the address? */
  get isUnreachable(): boolean {
    return this.code === null && (this.status === 'UNAVAILABLE' || this.status === 'DEADLINE_EXCEEDED');
  }
}

export interface AdminConnection {
  /** host:port */
  readonly address: string;
  /** A gateway key: an admin key, or one that holds the scopes. */
  readonly key: string;
  /** Milliseconds a call may take. */
  readonly timeoutMs?: number;
}

/** A config as it is given: its JSON text, or the object itself. */
export interface ConfigInput {
  readonly name?: string;
  readonly slug?: string;
  readonly config?: string | object;
  readonly is_default?: number;
  readonly status?: 'active' | 'archived';
  readonly workspace_id?: string;
}

/** `base_url` is what the wire, with the specification, calls `custom_host`. */
export type ProviderInput = Partial<CreateProviderRequest> & { readonly base_url?: string };

type AnyMethod = { [Name in ServiceName]: keyof AdminServices[Name] };
type Types<Name extends ServiceName, M extends keyof AdminServices[Name]> = AdminServices[Name][M] extends [
  infer Request,
  infer Response,
]
  ? { request: Partial<Request>; response: Response }
  : never;

const asValue = (config: string | object): Value => ({
  stringValue: typeof config === 'string' ? config : JSON.stringify(config),
});

/** The administration plane from outside: what the commands and the tests use. */
export class AdminClient {
  readonly #client: Client;
  readonly #key: string;
  readonly #timeoutMs: number;

  constructor(connection: AdminConnection) {
    this.#client = new Client(connection.address, credentials.createInsecure(), {
      'grpc.max_receive_message_length': 64 * 1024 * 1024,
    });
    this.#key = connection.key;
    this.#timeoutMs = connection.timeoutMs ?? 10_000;
  }

  #call<Name extends ServiceName, M extends AnyMethod[Name] & keyof AdminServices[Name]>(
    service: Name,
    method: M & string,
    request: Types<Name, M>['request'],
  ): Promise<Types<Name, M>['response']> {
    const definition = adminServices()[service][method] as MethodDefinition<unknown, unknown>;
    const metadata = new Metadata();
    metadata.set('x-gateway-api-key', this.#key);
    return new Promise((answered, failed) => {
      this.#client.makeUnaryRequest(
        definition.path,
        definition.requestSerialize,
        definition.responseDeserialize,
        request,
        metadata,
        { deadline: Date.now() + this.#timeoutMs },
        (error: ServiceError | null, response?: unknown) => {
          if (error === null) answered(response as Types<Name, M>['response']);
          else failed(toCallError(error));
        },
      );
    });
  }

  readonly keys = {
    create: (input: Partial<CreateApiKeyRequest>): Promise<CreatedApiKey> =>
      this.#call('ApiKeys', 'CreateApiKey', input),
    list: (input: Partial<ListApiKeysRequest> = {}) => this.#call('ApiKeys', 'ListApiKeys', input),
    delete: (id: string) => this.#call('ApiKeys', 'DeleteApiKey', { id }),
  };

  readonly providers = {
    create: ({ base_url, ...input }: ProviderInput): Promise<CreatedProvider> =>
      this.#call(
        'Providers',
        'CreateProvider',
        base_url === undefined ? input : { ...input, custom_host: base_url },
      ),
    list: (input: ListInWorkspaceRequest = {}) => this.#call('Providers', 'ListProviders', input),
    delete: (slug: string, workspace_id?: string) =>
      this.#call('Providers', 'DeleteProvider', { slug, workspace_id }),
  };

  readonly configs = {
    create: ({ config, status: _status, ...input }: ConfigInput): Promise<CreateConfigResponse> =>
      this.#call('Configs', 'CreateConfig', {
        ...input,
        config: config === undefined ? undefined : asValue(config),
      }),
    list: (input: ListInWorkspaceRequest = {}) => this.#call('Configs', 'ListConfigs', input),
    get: (slug: string, workspace_id?: string): Promise<ConfigMessage> =>
      this.#call('Configs', 'GetConfig', { slug, workspace_id }),
    /** Absent fields stay as they are. */
    update: (
      slug: string,
      { name, config, status, workspace_id }: ConfigInput,
    ): Promise<UpdateConfigResponse> =>
      this.#call('Configs', 'UpdateConfig', {
        slug,
        name,
        status,
        workspace_id,
        config: config === undefined ? undefined : asValue(config),
      }),
    delete: (slug: string, workspace_id?: string) =>
      this.#call('Configs', 'DeleteConfig', { slug, workspace_id }),
  };

  readonly logs = {
    list: (input: ListLogsRequest = {}) => this.#call('Logs', 'ListLogs', input),
    get: (id: string) => this.#call('Logs', 'GetLog', { id }),
  };

  close(): void {
    this.#client.close();
  }
}

function toCallError(error: ServiceError): AdminCallError {
  const [code] = error.metadata?.get('x-gateway-error-code') ?? [];
  return new AdminCallError(
    error.details,
    status[error.code] ?? 'UNKNOWN',
    code === undefined ? null : String(code),
  );
}

/** Opens a client of the administration plane. It connects at its first call; `close` it when done. */
export const connectAdmin = (connection: AdminConnection): AdminClient => new AdminClient(connection);
