import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { hashGatewayKey, makeGatewayKey } from '../../src/common/access/gateway-key.js';
import { noUsage, type Usage } from '../../src/common/core/usage.js';
import type { HeaderList } from '../../src/common/http/headers.js';
import type { Forget, FromWorker, WorkerInit } from '../../src/common/ipc/messages.js';
import type {
  GuardrailRecord,
  KeyRecord,
  PartnerRecord,
  PoliciesRecord,
  ProviderRecord,
  TokenRecord,
} from '../../src/common/ipc/records.js';
import type { Settlement } from '../../src/common/ledger/record.js';
import type { InsertedPlugins } from '../../src/common/plugin-host/files/inserted.js';
import type { Metrics } from '../../src/common/plugin-host/metrics.js';
import { LookupChannel } from '../../src/data-plane/directory/channel.js';
import type { WorkerDirectory } from '../../src/data-plane/directory/directory.js';
import { SharedChannel } from '../../src/data-plane/directory/shared-channel.js';
import { createHandler } from '../../src/data-plane/pipeline/handle.js';
import type { Pipeline } from '../../src/data-plane/pipeline/parts.js';
import type { LiveChain } from '../../src/data-plane/pipeline/plugins/live/live-chain.js';
import type { Call, ReplySink } from '../../src/data-plane/transport/transport.js';
import type {
  Upstream,
  UpstreamFlight,
  UpstreamHandler,
  UpstreamRequest,
} from '../../src/data-plane/upstream/upstream.js';
import { partsInProcess } from '../../src/process/worker/worker-parts.js';
import { scaled, TimeLimitError } from './time-limits.js';

const pepper = Buffer.alloc(32, 1);

export const keyRecord = (more: Partial<KeyRecord> = {}): KeyRecord => ({
  organisationId: 'org',
  workspaceId: 'ws',
  keyId: 'key',
  keyName: 'test',
  keyType: 'workspace-service',
  userId: null,
  scopes: ['completions.write'],
  expiresAt: null,
  blockInline: false,
  defaults: { configId: null, allowConfigOverride: true, metadata: {} },
  ...more,
});

/** One call to the provider: what the test answers with, and whether the gateway gave it up. */
export interface Asked {
  readonly request: UpstreamRequest;
  readonly handler: UpstreamHandler;
  cancelled: boolean;
}

/** A client that a test reads. */
export interface Client {
  status: number;
  headers: HeaderList;
  text: string;
  /** Has the answer ended cleanly? */
  ended: boolean;
  disconnect(): void;
}

/** How a client asks, where not as most do. */
export interface Ask {
  stream?: boolean;
  config?: string;
  from?: string;
  method?: string;
  path?: string;
  query?: string;
  headers?: HeaderList;
  /** Text is sent as it is. */
  body?: object | string;
}

export interface WorkerOptions {
  /** Where requests to providers go; to the test where absent. */
  readonly upstream?: Upstream;
  /** Are bodies kept in the log? false where absent. */
  readonly logBodies?: boolean;
  /** `cancel` where absent. */
  readonly whenClientLeaves?: WorkerInit['whenClientLeaves'];
  /** Its custom plugins; none where absent. */
  readonly plugins?: InsertedPlugins;
  /** Lines of its process log. */
  readonly lines?: object[];
}

const badToken: TokenRecord = { refused: '03', message: 'Invalid token.' };

/** A data worker without sockets or a control process: its keys, its provider and its clients are the test's. */
export class BareWorker {
  readonly keys = new Map<string, KeyRecord>();
  readonly asked: Asked[] = [];
  /** Called for each call to the provider. */
  onAsked: (asked: Asked) => void = () => {};
  /** Counts the tokens of an answer without usage. */
  countTokens: () => Promise<Usage | null> = async () => noUsage();
  readonly #providers = new Map<string, ProviderRecord>();
  /** Policies by workspace. */
  readonly policies = new Map<string, PoliciesRecord>();
  /** Guardrails and credentials of partners, by kind and name: `guardrail pg-a`, `partner mistral`. */
  readonly records = new Map<string, GuardrailRecord | PartnerRecord>();
  /** What the control process makes of JSON web tokens, by their text. */
  readonly tokens = new Map<string, TokenRecord>();
  readonly settled: Settlement[] = [];
  /** Called with what this worker asks or tells the control process. */
  onShared: (message: FromWorker, shared: SharedChannel) => void = noOtherPrices;
  /** Is the store away? */
  away = false;
  /** Lookups of keys wait for this. */
  slow: Promise<void> = Promise.resolve();
  /** Lookups of keys so far. */
  lookups = 0;
  pipeline!: Pipeline;
  live!: LiveChain;
  metrics!: Metrics;
  directory!: WorkerDirectory;
  readonly dir = mkdtempSync(join(tmpdir(), 'headgate-test-'));

  async start({
    upstream,
    logBodies = false,
    whenClientLeaves = init.whenClientLeaves,
    plugins = init.plugins,
    lines,
  }: WorkerOptions = {}): Promise<this> {
    const channel: LookupChannel = new LookupChannel((message) => {
      if (message.t !== 'lookup') return;
      if (message.kind === 'key') this.lookups++;
      const found = message.kind === 'key' ? (this.keys.get(message.name) ?? null) : null;
      if (message.kind === 'key' && this.away) setImmediate(() => channel.failed(message.id));
      else if (message.kind === 'key') void this.slow.then(() => channel.answered(message.id, found));
      else if (message.kind === 'token') {
        this.lookups++;
        setImmediate(() => channel.answered(message.id, this.tokens.get(message.name) ?? badToken));
      } else if (message.kind === 'policies')
        setImmediate(() => channel.answered(message.id, this.policies.get(message.workspace!) ?? null));
      else if (message.kind === 'guardrail' || message.kind === 'partner')
        setImmediate(() =>
          channel.answered(message.id, this.records.get(`${message.kind} ${message.name}`) ?? null),
        );
      else
        setImmediate(() =>
          channel.answered(message.id, this.#providers.get(message.name) ?? providerOf(message.name)),
        );
    });
    const shared: SharedChannel = new SharedChannel((message) => this.onShared(message, shared));
    const keep = (fields: object, message: string): void => void lines?.push({ ...fields, message });
    const quiet =
      lines === undefined
        ? { info() {}, warn: console.warn, error: console.error }
        : { info: keep, warn: keep, error: keep };
    const base = {
      init: { ...init, journalDir: this.dir, logBodies, whenClientLeaves, plugins },
      log: quiet,
      channel,
      shared,
      send: () => {},
    };
    const parts = partsInProcess(upstream ?? { send: (...given) => this.#send(...given), async close() {} });
    const { pipeline, directory, live, metrics } = await parts.running(base, quiet).start();
    const { journal } = pipeline;
    const settle = journal.settle.bind(journal);
    journal.settle = (settlement) => {
      this.settled.push(settlement);
      settle(settlement);
    };
    // Counting starts threads, and none of these tests asks how many tokens there were.
    Object.assign(pipeline.counter, { count: () => this.countTokens(), exceeds: async () => null });
    this.pipeline = pipeline;
    this.live = live;
    this.metrics = metrics;
    this.directory = directory;
    return this;
  }

  #send(request: UpstreamRequest, handler: UpstreamHandler): UpstreamFlight {
    const asked: Asked = { request, handler, cancelled: false };
    this.asked.push(asked);
    this.onAsked(asked);
    return {
      sent: true,
      resume() {},
      cancel() {
        asked.cancelled = true;
      },
    };
  }

  /** A new key. */
  key(more: Partial<KeyRecord> = {}): string {
    const text = makeGatewayKey('workspace-service');
    this.change(text, keyRecord(more));
    return text;
  }

  /** A stored provider; what is not said of it is empty. */
  addProvider(slug: string, record: Partial<ProviderRecord>): void {
    this.#providers.set(slug, { ...provider, slug, ...record });
  }

  hashOf(text: string): string {
    return hashGatewayKey(pepper, text);
  }

  change(text: string, now: KeyRecord | null): void {
    const hash = this.hashOf(text);
    if (now === null) this.keys.delete(hash);
    else this.keys.set(hash, now);
  }

  /** Reports a change to these keys; '*' for all. */
  forget(...texts: string[]): void {
    this.report(
      ...texts.map((text) => ({
        kind: 'key' as const,
        workspace: null,
        name: text === '*' ? '*' : this.hashOf(text),
      })),
    );
  }

  /** As the control process reports changes. */
  report(...what: Forget[]): void {
    this.directory.forget(what);
    this.pipeline.open.forgotten(what);
  }

  ask(key: string, how: Ask = {}): Client {
    const { stream = true, config = '{"provider":"@p"}', from = '127.0.0.1', method = 'POST' } = how;
    let call: Call;
    const client: Client = {
      status: 0,
      headers: [],
      text: '',
      ended: false,
      disconnect: () => call.onAbort?.(),
    };
    const sink: ReplySink = {
      data(chunk) {
        client.text += chunk.toString();
        return true;
      },
      end() {
        client.ended = true;
      },
      error() {},
    };
    const headers = [
      'x-gateway-api-key',
      key,
      'x-gateway-config',
      config,
      'content-type',
      'application/json',
    ];
    headers.push('x-gateway-cache-namespace', 'shared', ...(how.headers ?? []));
    const body = how.body ?? { model: 'gpt-4o-mini', stream, messages: [{ role: 'user', content: 'Hello' }] };
    call = {
      method,
      path: how.path ?? '/v1/chat/completions',
      query: how.query ?? '',
      headers,
      remoteAddress: from,
      aborted: false,
      onAbort: null,
      collect: (_limit: number, done: (error: null, bytes: Buffer) => void) =>
        done(null, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))),
      answer(status: number, headers: HeaderList, text: Buffer | string | null) {
        if (client.status !== 0) throw new Error('answered twice');
        client.status = status;
        client.headers = headers;
        client.text = String(text);
        client.ended = true;
      },
      begin(status: number, headers: HeaderList) {
        client.status = status;
        client.headers = headers;
        return sink;
      },
    } as unknown as Call;
    createHandler(this.pipeline)(call);
    return client;
  }

  /** Asks, and waits until the provider was asked. */
  async asking(key: string, how: Ask = {}): Promise<[Client, Asked]> {
    const count = this.asked.length;
    const client = this.ask(key, how);
    await soon('the provider is asked', () => this.asked.length > count);
    return [client, this.asked[count]!];
  }

  /** A stream that has begun. */
  async streaming(key: string, config?: string): Promise<[Client, Asked]> {
    const [client, asked] = await this.asking(key, config === undefined ? {} : { config });
    asked.handler.head(200, ['content-type', 'text/event-stream']);
    asked.handler.data(event('Hel'));
    await soon('the client reads', () => client.text.includes('Hel'));
    return [client, asked];
  }

  close(): void {
    this.pipeline.open.close();
    this.pipeline.journal.close();
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** A worker asks for prices at its start: there are none beside those that it has. */
function noOtherPrices(message: FromWorker, shared: SharedChannel): void {
  if (message.t === 'shared-question' && message.kind === 'prices')
    setImmediate(() => shared.answered(message.id, null));
}

/** Waits for what takes a few turns of the event loop. */
export async function soon(what: string, holds: () => boolean): Promise<void> {
  const began = Date.now();
  for (let turns = 0; !holds(); turns++) {
    if (Date.now() > began + scaled(10_000)) throw new TimeLimitError(`it did not happen: ${what}`);
    // What takes longer waits for a timer or a thread: to look at each turn would keep a processor busy.
    await (turns < 100 ? nextTurn() : pause(1));
  }
}

export const event = (content: string): Buffer =>
  Buffer.from(
    `data: ${JSON.stringify({ object: 'chat.completion.chunk', choices: [{ delta: { content } }] })}\n\n`,
  );

const provider = {
  id: 'p',
  workspaceId: 'ws',
  provider: 'openai',
  credential: 'sk',
  baseUrl: null,
  hostTrusted: true,
  headers: [],
  fields: {},
  secrets: {},
  expiresAt: null,
  integration: null,
  models: null,
  unresolved: [],
};

/** Slugs are names of rows, but for `p`. */
const providerOf = (slug: string) => ({ ...provider, slug, provider: slug === 'p' ? 'openai' : slug });

const init: WorkerInit = {
  worker: 0,
  workers: 1,
  administration: true,
  deployment: null,
  workspaceWeights: {},
  prices: {},
  pricesRevision: 0,
  pepper: pepper.toString('hex'),
  host: '127.0.0.1',
  port: 0,
  shared: false,
  isFirst: true,
  memoryBytes: null,
  transport: 'uws',
  headerPrefixes: ['x-gateway-'],
  egressAllow: [],
  ownIdentity: [],
  journalDir: '',
  nodeId: '0190a1b2-0000-7000-8000-0000000000a1',
  logBodies: false,
  sendsTraces: false,
  log: { level: 'warn', format: 'json' },
  bodyLimitBytes: 1024 * 1024,
  upstreamConnections: 8,
  upstreamClient: 'own',
  upstreamProxy: null,
  timeouts: { connectMs: 5000, headersMs: 60_000, firstTokenMs: 60_000, idleMs: 60_000 },
  writeTimeoutMs: 30_000,
  whenClientLeaves: 'cancel',
  stages: {
    cache: {
      memoryBytes: 1024 * 1024,
      entryBytes: 1024 * 1024,
      maxAge: 7_776_000,
      waitMs: 50,
      embedding: null,
      checkPercent: 0,
    },
  },
  hookTimeoutMs: 30_000,
  plugins: { directory: null, insert: [] },
};
