import cache from '../../plugins/cache/index.js';
import { Secret } from '../../src/common/access/secret.js';
import type { Awaitable, StoredProvider } from '../../src/common/core/directory.js';
import type { Endpoint } from '../../src/common/core/endpoint.js';
import { type ClientRequest, Exchange, type JsonObject, type Reply } from '../../src/common/core/exchange.js';
import type { Shared } from '../../src/common/ipc/shared.js';
import { Metrics } from '../../src/common/plugin-host/metrics.js';
import type { FullHost, Hooks } from '../../src/common/plugin-host/plugin.js';
import { directCredential, guardrailVersion } from '../../src/common/plugin-host/slots.js';
import { sentOnHeaders } from '../../src/data-plane/providers/client-headers.js';
import { compileConfig } from '../../src/data-plane/routing/compile.js';

/** All that one call may differ in from another. */
export interface CallFacts {
  readonly organisation: string;
  readonly workspace: string;
  readonly key: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly namespace: string;
  /** The client's own provider key; '' for none. */
  readonly credential: string;
  /** Of the stored provider that the config names. */
  readonly storedCredential: string;
  readonly configVersion: string;
  readonly guardrails: string;
  readonly header: string;
  readonly path: string;
  readonly query: string;
  readonly body: JsonObject;
  /** JSON. */
  readonly config?: string;
}

export const usualFacts: CallFacts = {
  organisation: 'org',
  workspace: 'ws',
  key: 'key',
  metadata: {},
  namespace: '',
  credential: '',
  storedCredential: 'sk-stored',
  configVersion: '1',
  guardrails: '',
  header: '',
  path: '/v1/chat/completions',
  query: '',
  body: { model: 'm', messages: [{ role: 'user', content: 'Hello' }] },
};

const chat: Endpoint = { name: 'chat', format: 'openai-chat', body: 'json' };
let made = 0;

/** The cache stage, set up as it is in a data worker, with calls that have been recognised and routed. */
export class CacheStage {
  readonly #providers = new Map<string, StoredProvider>();
  #isSlow = false;
  readonly metrics = new Metrics();
  hooks!: Hooks;
  /** Text of the calls' config. */
  config = '{"provider":"@up","cache":{"mode":"simple"}}';

  /** `more`: of the host, where a test needs more of it. */
  static async open(options: object = {}, more: Partial<FullHost> = {}): Promise<CacheStage> {
    const stage = new CacheStage();
    const host = {
      directory: { provider: (workspace: string) => stage.#provider(workspace) },
      headerPrefixes: ['x-gateway-'],
      sentOnHeaders,
      metrics: stage.metrics,
      cost: () => 100,
      bodyRecurs() {},
      ...more,
    };
    stage.hooks = await cache.setup({ shared: false, ...options }, host as unknown as FullHost);
    return stage;
  }

  /** With a store that has this text for whatever it is asked for. */
  static openWith(stored: string): Promise<CacheStage> {
    const shared: Shared = {
      ask: (async () => ({ entry: stored, led: false })) as unknown as Shared['ask'],
      send() {},
      on() {},
    };
    return CacheStage.open({ shared: true }, { shared });
  }

  call(facts: CallFacts = usualFacts): Exchange {
    this.#providers.set(facts.workspace, storedProvider(facts));
    const bytes = Buffer.from(JSON.stringify(facts.body));
    const headers = ['content-type', 'application/json'];
    if (facts.header !== '') headers.push('openai-organization', facts.header);
    if (facts.namespace !== '') headers.push('x-gateway-cache-namespace', facts.namespace);
    const request: ClientRequest = {
      method: 'POST',
      path: facts.path,
      query: facts.query,
      headers,
      remoteAddress: '127.0.0.1',
      bytes,
      stream: null,
      json: facts.body,
    };
    const x = new Exchange(`call-${made++}`, chat, request);
    x.principal = {
      organisationId: facts.organisation,
      workspaceId: facts.workspace,
      keyId: facts.key,
    } as Exchange['principal'];
    x.trace = { traceId: 'trace', spanId: null, parentSpanId: null, spanName: null };
    x.config = compileConfig(facts.config ?? this.config, {
      slug: 'pc-1',
      version: facts.configVersion,
      isProvider: () => true,
    });
    x.metadata = facts.metadata;
    x.modelAsked = 'm';
    x.streaming = facts.body['stream'] === true;
    if (facts.credential !== '') x.set(directCredential, new Secret(facts.credential));
    if (facts.guardrails !== '') x.set(guardrailVersion, facts.guardrails);
    return x;
  }

  /** From now on the directory has to be waited for. */
  slowly(): void {
    this.#isSlow = true;
  }

  #provider(workspace: string): Awaitable<StoredProvider | null> {
    const found = this.#providers.get(workspace) ?? null;
    return this.#isSlow ? Promise.resolve(found) : found;
  }

  /** What the cache says to a call: an answer, nothing, or one or the other later. */
  look(x: Exchange): ReturnType<NonNullable<Hooks['request']>> {
    return this.hooks.request!(x);
  }

  /** An upstream answers the call. */
  answer(x: Exchange, body: Reply['body'], events = false): Reply {
    const by = { target: 'config', provider: 'openai', model: 'm', modelUsed: 'm', startedAt: 0, endedAt: 5 };
    x.answeredBy = { ...by, usage: null } as Exchange['answeredBy'];
    const type = events ? 'text/event-stream' : 'application/json';
    const reply: Reply = { status: 200, headers: ['content-type', type], body, events, errorOrigin: null };
    return (this.hooks.reply!(x, reply) as Reply | undefined) ?? reply;
  }

  over(x: Exchange): void {
    this.hooks.log!(x, { status: 200, error: null, totalMs: 1 });
  }
}

function storedProvider(facts: CallFacts): StoredProvider {
  return {
    id: 'p',
    slug: 'up',
    workspaceId: facts.workspace,
    provider: 'openai',
    credential: new Secret(facts.storedCredential),
    baseUrl: null,
    hostTrusted: true,
    headers: [],
    fields: {},
    expiresAt: null,
    integration: null,
    models: null,
  };
}

/** A whole chat completion that says this. */
export const completion = (content: string, more: object = {}): Buffer =>
  Buffer.from(
    JSON.stringify({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
      ...more,
    }),
  );
