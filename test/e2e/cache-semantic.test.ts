// lane: slow
import { expect } from 'chai';
import type { LogMetrics } from '../../proto/messages.js';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';

interface Answer {
  readonly cache: string | null;
  readonly id: string;
  readonly text: string;
}

describe('the semantic cache', function () {
  this.timeout(30_000);
  let gateway: RunningGateway;
  let upstream: SimulatedProvider;
  let turn = 0;

  before(async () => {
    upstream = await startSimulated();
    await start('0');
    await store('up', upstream.url);
    await store('embedder', upstream.url);
    await store('dead', 'http://127.0.0.1:1');
    await warm();
  });
  after(async () => {
    await gateway?.stop();
    await upstream?.close();
  });
  beforeEach(() => {
    turn++;
  });

  const start = async (checkPercent: string, dataDir?: string): Promise<void> => {
    gateway = await startGateway({
      ...(dataDir && { dataDir }),
      env: {
        HEADGATE_WORKERS: '2',
        HEADGATE_LOG_LEVEL: 'warn',
        HEADGATE_CACHE_EMBEDDING: '@embedder/sim-words',
        HEADGATE_CACHE_CHECK_PERCENT: checkPercent,
      },
    });
  };

  /** The index is opened for the first who looks, who may not wait for that. */
  const warm = (): Promise<unknown> =>
    eventually('the index', async () => (await ask(`Warm ${Math.random()}`)).cache === 'SEMANTIC MISS');

  const store = (slug: string, url: string): Promise<unknown> =>
    gateway.admin().api.providers.createProvider({
      slug,
      provider: 'openai',
      key: `sk-${slug}`,
      custom_host: `${url}/v1`,
    });

  /** Each test asks of something else. Each call has a connection of its own, so that any worker may get it. */
  async function ask(content: string, more: object = {}, cache: object = {}): Promise<Answer> {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'x-gateway-api-key': gateway.workspaceKey,
        'x-gateway-config': JSON.stringify({ provider: '@up', cache: { mode: 'semantic', ...cache } }),
        'content-type': 'application/json',
        connection: 'close',
      },
      body: JSON.stringify({
        model: 'gpt-4o-mini',
        messages: [
          { role: 'system', content: `Helpdesk ${turn}` },
          { role: 'user', content },
        ],
        ...more,
      }),
    });
    return {
      cache: response.headers.get('x-gateway-cache-status'),
      id: response.headers.get('x-gateway-request-id') ?? '',
      text: await response.text(),
    };
  }

  /** What was asked is found a moment later, by whichever worker. */
  const found = (content: string, more: object = {}): Promise<Answer> =>
    eventually('a semantic hit', async () => {
      const answer = await ask(content, more);
      return answer.cache === 'SEMANTIC HIT' && answer;
    });

  const rows = async (): Promise<readonly LogMetrics[]> =>
    (await gateway.admin().api.logs.listLogs({ limit: 200 })).data;

  it('answers a question that was asked in other words, in every worker, as a stream too', async () => {
    const first = await ask('How do I reset my password?');
    expect(first.cache).to.equal('SEMANTIC MISS');
    expect((await found('Please tell me how to reset the password')).text).to.equal(first.text);
    const stream = await found('Can you reset a password?', { stream: true });
    expect(stream.text).to.match(/data: \[DONE\]\n\n$/);
    expect((await ask('How do I delete my account?')).cache).to.equal('SEMANTIC MISS');
    expect((await ask('Could I reset my password', { temperature: 0.5 })).cache).to.equal('SEMANTIC MISS');
    expect((await ask('How do I reset my password?')).cache, 'the same to the byte').to.equal('HIT');
  });

  it('has embeddings in the log, each a row of its own with its cost; a hit costs nothing', async () => {
    const first = await ask('How do I print an invoice?');
    const hit = await found('Please tell me how to print the invoice');
    const embedding = await eventually('the row of the embedding', async () =>
      (await rows()).find(({ metadata }) => metadata?.['_cache_embedding_of'] === first.id),
    );
    expect(embedding).to.include({ ai_model: 'sim-words', response_status_code: 200 });
    expect(embedding.trace_id).to.be.a('string');
    expect(embedding.total_units).to.be.above(0);
    const row = await eventually('the row of the hit', async () =>
      (await rows()).find(({ id }) => id === hit.id),
    );
    expect(row).to.include({ cache_status: 'SEMANTIC HIT', cost: 0 });
    expect(row.cost_saved).to.be.above(0);
    expect(row.time_saved).to.be.above(0);
  });

  it('an embedder that is down costs a plain miss', async () => {
    const dead = { embedding: { provider: '@dead', model: 'sim-words' } };
    const miss = await ask('How do I reset my password?', {}, dead);
    expect(miss.cache).to.equal('MISS');
    expect(JSON.parse(miss.text).object).to.equal('chat.completion');
  });

  it('checks a share of its hits against fresh answers, and counts those', async () => {
    await gateway.stop({ keep: true });
    await start('100', gateway.dataDir);
    await warm();
    const first = await ask('How do I reset my password?');
    const hit = await found('Please tell me how to reset the password');
    const check = await eventually('the row of the check', async () =>
      (await rows()).find(({ metadata }) => metadata?.['_cache_check_of'] === hit.id),
    );
    expect(check.ai_model).to.match(/^gpt-4o-mini/);
    expect(check.cost).to.be.above(0);
    await eventually('the check in /metrics', async () => {
      const metrics = await (await fetch(`${gateway.opsUrl}/metrics`)).text();
      const counts = [
        ...metrics.matchAll(/gateway_cache_semantic_checks_total\{.*outcome="(?:agreed|disagreed)"\} (\d+)/g),
      ];
      return counts.some(([, count]) => Number(count) > 0);
    });
    expect(first.cache).to.equal('SEMANTIC MISS');
  });

  it('remembers across a restart', async () => {
    const first = await ask('How do I reset my password?');
    await found('Please tell me how to reset the password');
    await gateway.stop({ keep: true });
    await start('0', gateway.dataDir);
    await warm();
    const again = await ask('Can you reset a password?');
    expect([again.cache, again.text]).to.deep.equal(['SEMANTIC HIT', first.text]);
  });
});
