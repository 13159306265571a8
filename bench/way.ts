import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hashGatewayKey, makeGatewayKey } from '../src/core/gateway-key.js';
import type { HeaderList } from '../src/core/headers.js';
import type { FromWorker, WorkerInit } from '../src/core/messages.js';
import { LookupChannel } from '../src/directory/channel.js';
import { createHandler } from '../src/pipeline/handle.js';
import { assemble } from '../src/process/assemble.js';
import type { Call, ReplySink } from '../src/transport/transport.js';
import type { Upstream } from '../src/upstream/upstream.js';

/**
 * What the gateway's own code costs on the way of a request, with no socket on either side: the real chain, directory
 * and journal, a client and a provider that are function calls. `node dist/bench/way.js [requests]`. For profiling.
 */
const requests = Number(process.argv[2] ?? 200_000);
const dir = mkdtempSync(join(tmpdir(), 'headgate-way-'));
const key = makeGatewayKey('workspace-service');
const pepper = Buffer.alloc(32, 1);
const init: WorkerInit = {
  worker: 0,
  pepper: pepper.toString('hex'),
  host: '127.0.0.1',
  port: 0,
  shared: false,
  transport: 'uws',
  headerPrefixes: ['x-gateway-'],
  egressAllow: [],
  journalDir: dir,
  logBodies: false,
  logLevel: 'warn',
  bodyLimitBytes: 10 * 1024 * 1024,
  upstreamConnections: 256,
  timeouts: { connectMs: 5000, headersMs: 60_000, firstTokenMs: 60_000, idleMs: 60_000 },
  writeTimeoutMs: 30_000,
  plugins: { directory: null, insert: [] },
};

const channel: LookupChannel = new LookupChannel((message: FromWorker) => {
  if (message.t !== 'lookup') return;
  const known =
    message.kind === 'key' && message.name === hashGatewayKey(pepper, key)
      ? {
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
        }
      : message.kind === 'provider'
        ? {
            id: 'p',
            slug: 'bench',
            workspaceId: 'ws',
            provider: 'openai',
            credential: 'sk',
            baseUrl: null,
            hostTrusted: true,
            headers: [],
            fields: {},
            secrets: {},
            expiresAt: null,
            exhausted: null,
            models: null,
          }
        : null;
  setImmediate(() => channel.answered(message.id, known));
});

const answer = Buffer.from(
  JSON.stringify({
    id: 'chatcmpl-bench000000000000000000',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'gpt-4o-mini',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'Lorem ipsum dolor sit amet, consectetur elit. '.repeat(6) },
        finish_reason: 'stop',
      },
    ],
    usage: { prompt_tokens: 200, completion_tokens: 60, total_tokens: 260 },
  }),
);
const upstream: Upstream = {
  send(_request, handler) {
    setImmediate(() => {
      handler.head(200, ['content-type', 'application/json', 'date', 'Sat, 21 Nov 2026 10:00:00 GMT']);
      handler.data(answer);
      handler.end();
    });
    return { resume() {}, cancel() {} };
  },
  async close() {},
};

const body = Buffer.from(
  JSON.stringify({
    model: 'gpt-4o-mini',
    messages: [
      { role: 'system', content: 'You are a helpful assistant. '.repeat(8) },
      { role: 'user', content: 'Tell me about the river and the gate that holds it. '.repeat(12) },
    ],
    temperature: 0.7,
    max_tokens: 256,
  }),
);
const config = JSON.stringify({
  strategy: { mode: 'fallback' },
  targets: [{ provider: '@bench' }, { provider: '@bench' }],
});

class InProcessCall implements Call {
  readonly method = 'POST';
  readonly path = '/v1/chat/completions';
  readonly query = '';
  readonly remoteAddress = '127.0.0.1';
  readonly aborted = false;
  onAbort: (() => void) | null = null;
  readonly headers: HeaderList;

  constructor(readonly answered: (status: number) => void) {
    // New strings each time, as a transport has them.
    this.headers = Buffer.from(
      `host\n127.0.0.1\ncontent-type\napplication/json\naccept\napplication/json\nuser-agent\nOpenAI/JS 6.49.0\naccept-encoding\ngzip, deflate\nx-stainless-lang\njs\nx-stainless-runtime\nnode\nx-stainless-retry-count\n0\nx-gateway-api-key\n${key}\nx-gateway-config\n${config}\ncontent-length\n${body.length}`,
    )
      .toString('latin1')
      .split('\n');
  }

  collect(_limit: number, done: (error: null, bytes: Buffer) => void): void {
    done(null, Buffer.from(body));
  }

  stream(): never {
    throw new Error('not used');
  }

  answer(status: number): void {
    this.answered(status);
  }

  begin(): ReplySink {
    throw new Error('not used');
  }
}

const quiet = { info() {}, warn: console.warn, error: console.error };
const { pipeline } = await assemble(init, channel, quiet, () => {}, upstream);
const handle = createHandler(pipeline);

function run(count: number): Promise<void> {
  return new Promise((resolve) => {
    let left = count;
    let started = 0;
    const next = (): void => {
      started++;
      handle(
        new InProcessCall((status) => {
          if (status !== 200) throw new Error(`answered ${status}`);
          left--;
          if (left === 0) resolve();
          else if (started < count) setImmediate(next);
        }),
      );
    };
    for (let i = 0; i < 32; i++) next();
  });
}

await run(20_000);
const before = process.cpuUsage();
await run(requests);
const { user, system } = process.cpuUsage(before);
console.log(
  `${((user + system) / requests).toFixed(2)} µs a request (${(user / requests).toFixed(2)} user, ${(system / requests).toFixed(2)} system)`,
);
pipeline.journal.close();
rmSync(dir, { recursive: true, force: true });
process.exit(0);
