import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import startLimits from '../plugins/limits/control.js';
import { hashGatewayKey, makeGatewayKey } from '../src/common/access/gateway-key.js';
import type { BudgetRule } from '../src/common/core/budget-rules.js';
import type { RatePolicy, RateRule } from '../src/common/core/rate-rules.js';
import type { HeaderList } from '../src/common/http/headers.js';
import type { FromWorker, WorkerInit } from '../src/common/ipc/messages.js';
import { SqliteConnection } from '../src/control-plane/database/sqlite.js';
import { Spent } from '../src/control-plane/ledger/budgets/spent.js';
import { openLedger } from '../src/control-plane/ledger/sql.js';
import { SharedStateServer } from '../src/control-plane/shared-state/server.js';
import { LookupChannel } from '../src/data-plane/directory/channel.js';
import { SharedChannel } from '../src/data-plane/directory/shared-channel.js';
import { createHandler } from '../src/data-plane/pipeline/handle.js';
import type { Call, ReplySink } from '../src/data-plane/transport/transport.js';
import type { Upstream } from '../src/data-plane/upstream/upstream.js';
import { partsInProcess } from '../src/process/worker/worker-parts.js';

/** One request, to be sent many times. */
export interface BenchRequest {
  readonly path: string;
  /** Without `?`. */
  readonly query: string;
  readonly body: Buffer;
  /** Text of a config. */
  readonly config: string;
}

/** The real chain, directory and journal, with function calls where the sockets are. */
export interface InProcessGateway {
  /** Sends so many of a request, 32 at a time; CPU microseconds of each. Throws for an answer other than 200. */
  run(request: BenchRequest, count: number): Promise<{ user: number; system: number }>;
  close(): void;
}

/** What a bench's provider answers to a call. */
export interface BenchAnswer {
  readonly contentType: string;
  /** As they come from the socket, one at a time. */
  readonly pieces: readonly Buffer[];
}

/** Rate limits of the caller's key, and policies of its workspace. */
export interface Limited {
  readonly limits: readonly RateRule[];
  readonly budgets: readonly BudgetRule[];
  readonly policies: readonly RatePolicy[];
}

const pepper = Buffer.alloc(32, 1);

/** A JSON web token of a usual length. Its signature is not checked: a data worker does not do that. */
const token = ['{"alg":"RS256","kid":"bench","typ":"JWT"}', `{"sub":"${'x'.repeat(300)}"}`, 'x'.repeat(256)]
  .map((part) => Buffer.from(part).toString('base64url'))
  .join('.');

/**
 * `rows`: the provider row behind each slug; `answer` is asked for every call by its URL. `caller`: what the calls are
 * identified by. `logBodies`: bodies are written to the journal, as they are by default.
 */
export async function openInProcess(
  rows: ReadonlyMap<string, string>,
  answer: (url: string) => BenchAnswer,
  limited: Limited = { limits: [], budgets: [], policies: [] },
  caller: 'key' | 'token' = 'key',
  logBodies = false,
): Promise<InProcessGateway> {
  const dir = mkdtempSync(join(tmpdir(), 'headgate-bench-'));
  const key = caller === 'token' ? token : makeGatewayKey('workspace-service');
  const channel: LookupChannel = new LookupChannel((message: FromWorker) => {
    if (message.t !== 'lookup') return;
    const row = message.kind === 'provider' ? rows.get(message.name) : undefined;
    const known =
      message.kind === 'token' || (message.kind === 'key' && message.name === hashGatewayKey(pepper, key))
        ? {
            ...(caller === 'token' ? tokenPrincipal : principal),
            ...(limited.limits.length > 0 && { limits: [...limited.limits] }),
            ...(limited.budgets.length > 0 && { budgets: [...limited.budgets] }),
          }
        : message.kind === 'policies' && limited.policies.length > 0
          ? { rates: [...limited.policies] }
          : row === undefined
            ? null
            : { ...storedProvider, slug: message.name, provider: row };
    setImmediate(() => channel.answered(message.id, known));
  });
  const quiet = { info() {}, warn: console.warn, error: console.error };
  const server = new SharedStateServer((message) => {
    if (message.t === 'shared-news') shared.received(message.kind, message.news as never);
  }, quiet);
  const counters = await startLimits(
    { withoutRedis: 'local_share' },
    {
      log: quiet,
      shared: server,
      nodes: null,
      dataDir: dir,
      workers: 1,
      spent: new Spent({ ledger: await openLedger({ dataDir: dir }), node: 'bench', isShared: false }),
      schedule() {},
      openDatabase: SqliteConnection.open,
      openVectors: async () => null,
    },
  );
  const shared: SharedChannel = new SharedChannel((message) => {
    const isOfLimits = 'kind' in message && message.kind.startsWith('limits-');
    if (!isOfLimits || (message.t !== 'shared-question' && message.t !== 'shared-news')) return;
    setImmediate(() =>
      server.take(message, 0, (reply) => {
        if (reply.t === 'shared-answer') shared.answered(reply.id, reply.value);
      }),
    );
  });
  const base = {
    init: { ...init, journalDir: dir, logBodies },
    log: quiet,
    channel,
    shared,
    send: () => {},
  };
  const { pipeline } = await partsInProcess(upstreamOf(answer)).running(base, quiet).start();
  const handle = createHandler(pipeline);
  const send = (request: BenchRequest, count: number): Promise<void> =>
    new Promise((resolve) => {
      let left = count;
      let started = 0;
      const next = (): void => {
        started++;
        handle(
          new InProcessCall(request, key, (status, text) => {
            if (status !== 200) throw new Error(`${request.path} was answered ${status}: ${text}`);
            left--;
            if (left === 0) resolve();
            else if (started < count) setImmediate(next);
          }),
        );
      };
      for (let i = 0; i < Math.min(32, count); i++) next();
    });
  return {
    async run(request, count) {
      const before = process.cpuUsage();
      await send(request, count);
      const { user, system } = process.cpuUsage(before);
      return { user: user / count, system: system / count };
    },
    close() {
      void counters.close?.();
      pipeline.journal.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

const principal = {
  organisationId: 'org',
  workspaceId: 'ws',
  keyId: 'key',
  keyName: 'bench',
  keyType: 'workspace-service' as const,
  blockInline: false,
  userId: null,
  scopes: ['completions.write'],
  expiresAt: null,
  defaults: { configId: null, allowConfigOverride: true, metadata: {} },
};

/** The user of a token is in the metadata of its calls. */
const tokenPrincipal = {
  ...principal,
  isToken: true,
  expiresAt: 4_000_000_000_000,
  defaults: { ...principal.defaults, metadata: { _user: 'user@example.com' } },
};

export const storedProvider = {
  id: 'p',
  workspaceId: 'ws',
  credential: 'sk-proj-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJ',
  baseUrl: null,
  hostTrusted: true,
  headers: [],
  fields: { aws_region: 'us-east-1' },
  secrets: {},
  expiresAt: null,
  unresolved: [],
  exhausted: null,
  integration: null,
  models: null,
};

const init: WorkerInit = {
  worker: 0,
  nodeId: '0190a1b2-0000-7000-8000-0000000000a1',
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
  logBodies: false,
  sendsTraces: false,
  log: { level: 'warn', format: 'json' },
  bodyLimitBytes: 10 * 1024 * 1024,
  upstreamConnections: 256,
  upstreamClient: 'own',
  upstreamProxy: null,
  timeouts: { connectMs: 5000, headersMs: 60_000, firstTokenMs: 60_000, idleMs: 60_000 },
  writeTimeoutMs: 30_000,
  whenClientLeaves: 'cancel',
  stages: {
    cache: {
      memoryBytes: 64 * 1024 * 1024,
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

function upstreamOf(answer: (url: string) => BenchAnswer): Upstream {
  return {
    send({ url }, handler) {
      const { contentType, pieces } = answer(url);
      setImmediate(() => {
        handler.head(200, ['content-type', contentType, 'date', 'Sat, 21 Nov 2026 10:00:00 GMT']);
        for (const piece of pieces) handler.data(piece);
        handler.end();
      });
      return { sent: true, resume() {}, cancel() {} };
    },
    async close() {},
  };
}

class InProcessCall implements Call {
  readonly method = 'POST';
  readonly path: string;
  readonly query: string;
  readonly remoteAddress = '127.0.0.1';
  readonly aborted = false;
  onAbort: (() => void) | null = null;
  readonly headers: HeaderList;

  constructor(
    readonly request: BenchRequest,
    key: string,
    readonly answered: (status: number, body: Buffer | string | null) => void,
  ) {
    this.path = request.path;
    this.query = request.query;
    // New strings each time, as a transport has them.
    this.headers = Buffer.from(
      `host\n127.0.0.1\ncontent-type\napplication/json\naccept\napplication/json\nuser-agent\nOpenAI/JS 6.49.0\naccept-encoding\ngzip, deflate\nx-stainless-lang\njs\nx-stainless-runtime\nnode\nx-stainless-retry-count\n0\nx-gateway-api-key\n${key}\nx-gateway-config\n${request.config}\ncontent-length\n${request.body.length}`,
    )
      .toString('latin1')
      .split('\n');
  }

  collect(_limit: number, done: (error: null, bytes: Buffer) => void): void {
    done(null, Buffer.from(this.request.body));
  }

  stream(): never {
    throw new Error('not used');
  }

  answer(status: number, _headers: HeaderList, body: Buffer | string | null): void {
    this.answered(status, body);
  }

  begin(status: number): ReplySink {
    return {
      data: () => true,
      end: () => this.answered(status, null),
      error: (error) => {
        throw error;
      },
    };
  }
}
