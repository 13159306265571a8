// lane: slow
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { eventually, pause, type RunningGateway, startGateway } from '../support/gateway.js';
import { seeded } from '../support/seeded.js';

/** How long the load goes on; `ROUTING_SECONDS=60` for a whole minute. */
const seconds = Number(process.env['ROUTING_SECONDS'] ?? 1.5);
const clients = 32;

/** A provider that does whatever providers do to a gateway, each time something else. */
class FaultyProvider {
  /** Connections that were opened to it and are not closed. */
  open = 0;
  readonly #server: Server;

  constructor(
    readonly random: () => number,
    readonly wellShare: number,
  ) {
    this.#server = createServer((request, response) => {
      this.open++;
      response.on('close', () => this.open--);
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('error', () => {});
      request.on('end', () => void this.#answer(response, Buffer.concat(chunks).toString()));
    });
  }

  async listen(): Promise<this> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
    return this;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #answer(response: ServerResponse, body: string): Promise<void> {
    await pause(this.random() * 40);
    if (this.random() < this.wellShare) return this.#well(response, body);
    const faults: (() => unknown)[] = [
      () => response.writeHead(429, { 'retry-after-ms': '30' }).end('{"error":{"message":"slow down"}}'),
      () => response.writeHead(503).end('{"error":{"message":"later"}}'),
      () => response.writeHead(500).end('<html>'),
      () => response.writeHead(400).end('{"error":{"message":"no"}}'),
      () => response.writeHead(200, { 'content-type': 'application/json' }).end('{"choices": ['),
      () => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(),
      () => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
      () => response.destroy(),
      () => response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders(),
      () => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(event('Hal'), () => setTimeout(() => response.destroy(), 20));
      },
      () => {},
    ];
    faults[Math.floor(this.random() * faults.length)]!();
  }

  async #well(response: ServerResponse, body: string): Promise<void> {
    const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
    const whole = { id: 'c', created: 1, model: 'gpt-4o-mini', usage };
    if (!body.includes('"stream":true')) {
      const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }];
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ ...whole, object: 'chat.completion', choices }));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let i = 0; i < 4; i++) {
      response.write(event('Hello '));
      await pause(this.random() * 20);
    }
    response.write(`data: ${JSON.stringify({ ...whole, choices: [] })}\n\n`);
    response.end('data: [DONE]\n\n');
  }
}

const event = (content: string): string =>
  `data: ${JSON.stringify({ id: 'c', created: 1, model: 'gpt-4o-mini', choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`;

/** Every feature of the router at once. */
const config = (mode: string): object => ({
  strategy: {
    mode: 'fallback',
    hedge: { min_delay: 20, max_extra: 0.5 },
    cb_config: { failure_threshold: 5, cooldown_interval: 1000 },
  },
  deadline: 3000,
  request_timeout: 800,
  retry: { attempts: 2, use_retry_after_header: true },
  concurrency: { min: 1, max: 12, queue: 8, max_wait: 300 },
  cache: { mode: 'simple' },
  mirror: { share: 0.1, target: { provider: '@mirror' } },
  targets: [
    {
      strategy: {
        mode,
        ...(mode === 'loadbalance' ? { sticky: { enabled: true, hash_fields: ['metadata.user'] } } : {}),
        hedge: { min_delay: 20, max_extra: 0.5 },
      },
      targets: [
        { provider: '@ill' },
        { provider: '@dead' },
        { provider: '@mixed', metadata: { tier: 'mixed' } },
      ],
    },
    {
      strategy: {
        mode: 'conditional',
        // biome-ignore lint/suspicious/noThenProperty: a key of the config.
        conditions: [{ query: { 'metadata.user': { $regex: '^u[0-4]$' } }, then: 'a' }],
        default: 'b',
      },
      targets: [
        { name: 'a', provider: '@mixed' },
        { name: 'b', provider: '@well' },
      ],
    },
    { provider: '@well' },
  ],
});

/** What must have happened, by the names of metrics, or else nothing was shown: the load goes on until then. */
const parts = [
  'mirror_requests_total',
  'admission_refused_total',
  'circuit_breaker_changes_total',
  'cache_hits_total',
];
const longestMs = 30_000;

const modes = ['loadbalance', 'least_latency', 'least_busy', 'least_cost', 'fallback'];

describe('every feature of the router at once, faulty providers and clients that leave at any moment', function () {
  this.timeout(90_000 + seconds * 3000);
  const random = seeded(11);
  const providers = {
    ill: new FaultyProvider(random, 0.2),
    mixed: new FaultyProvider(random, 0.6),
    well: new FaultyProvider(random, 1),
    mirror: new FaultyProvider(random, 0.5),
  };
  let gateway: RunningGateway;

  before(async () => {
    gateway = await startGateway({
      env: {
        HEADGATE_WORKERS: '2',
        HEADGATE_LOG_LEVEL: 'warn',
        HEADGATE_IDLE_TIMEOUT_MS: '500',
        HEADGATE_FIRST_TOKEN_TIMEOUT_MS: '500',
      },
    });
    const admin = gateway.admin();
    for (const [slug, provider] of Object.entries(providers)) {
      await provider.listen();
      await admin.providers.create({ slug, provider: 'openai', key: 'sk-sim', base_url: provider.baseUrl });
    }
    await admin.providers.create({
      slug: 'dead',
      provider: 'openai',
      key: 'sk-sim',
      base_url: 'http://127.0.0.1:9/v1',
    });
  });
  after(async () => {
    await gateway?.stop();
    for (const provider of Object.values(providers)) provider.close();
  });

  const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)]!;

  const endpoints: readonly [
    method: string,
    path: string,
    body: (stream: boolean, text: string) => object,
  ][] = [
    [
      'POST',
      '/v1/chat/completions',
      (stream, text) => ({ model: 'gpt-4o-mini', stream, messages: [{ role: 'user', content: text }] }),
    ],
    [
      'POST',
      '/v1/chat/completions',
      (stream, text) => ({ model: 'gpt-4o-mini', stream, messages: [{ role: 'user', content: text }] }),
    ],
    ['POST', '/v1/responses', (stream, text) => ({ model: 'gpt-4o-mini', stream, input: text })],
    [
      'POST',
      '/v1/messages',
      (stream, text) => ({
        model: 'gpt-4o-mini',
        max_tokens: 9,
        stream,
        messages: [{ role: 'user', content: text }],
      }),
    ],
    [
      'POST',
      '/v1/messages/count_tokens',
      (_stream, text) => ({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: text }] }),
    ],
    ['POST', '/v1/audio/speech', (_stream, text) => ({ model: 'tts-1', input: text })],
    ['GET', '/v1/models', () => ({})],
    ['HEAD', '/v1/files', () => ({})],
  ];

  /** Traces of calls whose answers came whole; those that were left may not even have arrived. */
  const answered = new Set<string>();
  let gatewayFaults = 0;
  let hangs = 0;
  let sent = 0;

  async function call(): Promise<void> {
    const [method, path, body] = pick(endpoints);
    const leaving = new AbortController();
    const leave = random() < 0.4 ? setTimeout(() => leaving.abort(), random() * 150) : undefined;
    // Whatever happens upstream, deadlines pass and streams break off: nobody waits for as long as this.
    const hung = setTimeout(() => leaving.abort(new Error('hung')), 15_000);
    const trace = `soak-${sent++}`;
    try {
      const response = await fetch(`${gateway.url}${path}`, {
        method,
        signal: leaving.signal,
        headers: {
          'content-type': 'application/json',
          'x-gateway-api-key': gateway.workspaceKey,
          'x-gateway-config': JSON.stringify(config(pick(modes))),
          'x-gateway-metadata': JSON.stringify({ user: `u${Math.floor(random() * 10)}` }),
          'x-gateway-cache-namespace': 'soak',
          'x-gateway-trace-id': trace,
        },
        ...(method === 'POST'
          ? { body: JSON.stringify(body(random() < 0.5, pick(['a', 'b', `${random()}`]))) }
          : {}),
      });
      await response.text();
      answered.add(trace);
      if (response.status === 500 && response.headers.get('x-gateway-error-origin') === 'gateway')
        gatewayFaults++;
    } catch {
      // It left, or its stream broke off.
      if (
        leaving.signal.aborted &&
        leaving.signal.reason instanceof Error &&
        leaving.signal.reason.message === 'hung'
      )
        hangs++;
    } finally {
      clearTimeout(leave);
      clearTimeout(hung);
    }
  }

  const metric = async (pattern: RegExp): Promise<number> => {
    const text = await (await fetch(`${gateway.opsUrl}/metrics`)).text();
    return text
      .split('\n')
      .filter((line) => pattern.test(line))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
  };

  it('no worker ends, nothing stays occupied, and each request is in the ledger once', async () => {
    const began = Date.now();
    let isOver = false;
    const load = Promise.all(
      Array.from({ length: clients }, async () => {
        while (!isOver) await call();
      }),
    );
    await pause(seconds * 1000);
    for (const name of parts) {
      const happened = () => metric(new RegExp(`^gateway_${name}`));
      while ((await happened()) === 0 && Date.now() - began < longestMs) await pause(200);
    }
    isOver = true;
    await load;
    for (const name of parts) expect(await metric(new RegExp(`^gateway_${name}`)), name).to.be.above(0);
    await eventually(
      'every upstream has room',
      async () => (await metric(/^gateway_(admission_in_flight|admission_queued|inflight_requests)/)) === 0,
    );
    await eventually('no call is under way', async () =>
      Object.values(providers).every(({ open }) => open === 0),
    );
    expect({ hangs, gatewayFaults }).to.deep.equal({ hangs: 0, gatewayFaults: 0 });
    expect(gateway.process.exitCode).to.equal(null);
    expect(gateway.output(), 'refusals are counted, not told one by one').not.to.include('upstream_busy');
    expect(gateway.output()).not.to.match(/uncaught|unhandled|worker died|listener threw|could not be/i);
    const rows = await eventually('every answer is in the ledger', async () => {
      const found = await ledger();
      return [...answered].every((trace) => found.has(trace)) ? found : null;
    });
    for (const [trace, count] of rows) expect(count, trace).to.equal(1);
  });

  /** Rows of each trace, without those of mirrored copies. */
  async function ledger(): Promise<Map<string, number>> {
    const rows = new Map<string, number>();
    for (let after = '0'; ; ) {
      const { data, cursor } = await gateway.admin().logs.list({ after, limit: 1000 });
      for (const { trace_id, metadata, state } of data) {
        expect(state).to.equal('settled');
        if (metadata?.['_mirror_of'] === undefined) rows.set(trace_id, (rows.get(trace_id) ?? 0) + 1);
      }
      if (data.length === 0) return rows;
      after = cursor;
    }
  }
});
