import type { Message } from '../../proto/codec.js';
import type {
  Config,
  ConfigEvent,
  CreateApiKeyRequest,
  CreateConfigResponse,
  CreatedApiKey,
  CreatedProvider,
  CreateProviderRequest,
  ListApiKeysRequest,
  ListConfigsRequest,
  ListLogsRequest,
  ListProvidersRequest,
  UpdateConfigResponse,
} from '../../proto/messages.js';
import type { AdminMethod } from '../../proto/tree.js';
import { type AdminApi, type AdminConnection, apiOf, type Input, MethodCaller } from './api.js';
import { follow } from './watch.js';

export type * from '../../proto/messages.js';
export type { AdminApi, AdminConnection, Input } from './api.js';
export { AdminCallError } from './call-error.js';

/** A config as it is given: its JSON text, or the object itself. */
export interface ConfigInput {
  readonly name?: string;
  readonly slug?: string;
  readonly config?: string | object;
  readonly is_default?: number;
  readonly status?: 'active' | 'archived';
  readonly workspace_id?: string;
  readonly etag?: string;
}

/** `base_url` is what the wire, with the specification, calls `custom_host`. */
export type ProviderInput = Input<CreateProviderRequest> & { readonly base_url?: string };

/** The administration plane from outside: every method under `api`, and the commonest by shorter names. */
export class AdminClient {
  readonly api: AdminApi;
  readonly #caller: MethodCaller;

  constructor(connection: AdminConnection) {
    this.#caller = new MethodCaller(connection);
    this.api = apiOf(this.#caller);
  }

  readonly keys = {
    create: (input: Input<CreateApiKeyRequest>): Promise<CreatedApiKey> =>
      this.api.apiKeys.createApiKey(input),
    list: (input: Input<ListApiKeysRequest> = {}) => this.api.apiKeys.listApiKeys(input),
    delete: (id: string) => this.api.apiKeys.deleteApiKey({ id }),
  };

  readonly providers = {
    create: ({ base_url, ...input }: ProviderInput): Promise<CreatedProvider> =>
      this.api.providers.createProvider(base_url === undefined ? input : { ...input, custom_host: base_url }),
    list: (input: Input<ListProvidersRequest> = {}) => this.api.providers.listProviders(input),
    delete: (slug: string, workspace_id?: string) =>
      this.api.providers.deleteProvider({ slug, workspace_id }),
  };

  readonly configs = {
    create: ({ status: _status, ...input }: ConfigInput): Promise<CreateConfigResponse> =>
      this.api.configs.createConfig(input),
    list: (input: Input<ListConfigsRequest> = {}) => this.api.configs.listConfigs(input),
    get: (slug: string, workspace_id?: string): Promise<Config> =>
      this.api.configs.getConfig({ slug, workspace_id }),
    /** Absent fields stay as they are. */
    update: (slug: string, { slug: _slug, ...input }: ConfigInput): Promise<UpdateConfigResponse> =>
      this.api.configs.updateConfig({ slug, ...input }),
    delete: (slug: string, workspace_id?: string) => this.api.configs.deleteConfig({ slug, workspace_id }),
  };

  readonly logs = {
    list: (input: Input<ListLogsRequest> = {}) => this.api.logs.listLogs(input),
    get: (id: string) => this.api.logs.getLog({ id }),
  };

  /**
   * Every change from `token` on, without a gap: a stream that ends or breaks is opened again where it was, until
   * `signal` is aborted. Throws where the key is refused. After a `start` or `reset` read everything that you keep.
   */
  follow(from: { readonly token?: string; readonly signal?: AbortSignal } = {}): AsyncGenerator<ConfigEvent> {
    return follow(this.api, from);
  }

  /** Calls any method by its descriptor, for callers that choose the method at run time. */
  call(method: AdminMethod, request: Message): Promise<Message> {
    return this.#caller.unary(method, request);
  }

  stream(method: AdminMethod, request: Message): AsyncIterable<Message> {
    return this.#caller.stream(method, request);
  }

  close(): void {
    this.#caller.close();
  }
}

/** Opens a client of the administration plane. It connects at its first call; `close` it when done. */
export const connectAdmin = (connection: AdminConnection): AdminClient => new AdminClient(connection);
