// lane: shared gateway
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { type SharedGateway, shareGateway } from '../support/shared-gateway.js';

/** An upstream of OpenAI's shape that takes its time, and knows how many it had at once. */
interface Slow {
  readonly url: string;
  readonly server: Server;
  /** Credentials of what it served, in order. */
  readonly served: string[];
  most: number;
}

async function startSlow(ms: number): Promise<Slow> {
  const served: string[] = [];
  let inFlight = 0;
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      served.push(String(request.headers['x-tenant'] ?? ''));
      slow.most = Math.max(slow.most, ++inFlight);
      setTimeout(() => {
        inFlight--;
        response.setHeader('content-type', 'application/json');
        response.end(
          JSON.stringify({
            id: 'chatcmpl-1',
            object: 'chat.completion',
            model: 'gpt-4o',
            choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
            usage: { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 },
          }),
        );
      }, ms);
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  const slow: Slow = { url: `http://127.0.0.1:${port}/v1`, server, served, most: 0 };
  return slow;
}

describe('strategies in a running gateway', () => {
  let gateway: SharedGateway;
  let quick: Slow;
  let slow: Slow;
  let slower: Slow;
  let otherKey: string;

  before(async function () {
    this.timeout(30_000);
    [gateway, quick, slow, slower] = await Promise.all([
      shareGateway(),
      startSlow(5),
      startSlow(60),
      startSlow(500),
    ]);
    const workspace = await administer('/v1/admin/workspaces', { name: 'Other' });
    const made = await administer('/v1/api-keys/workspace/service', {
      name: 'other',
      workspace_id: workspace['id'],
      scopes: ['completions.write'],
    });
    otherKey = String(made['key']);
  });
  after(async () => {
    await gateway?.stop();
    quick?.server.close();
    slow?.server.close();
    slower?.server.close();
  });

  async function administer(path: string, body: object): Promise<Record<string, unknown>> {
    const response = await fetch(gateway.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-gateway-api-key': gateway.adminKey },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(text);
    return JSON.parse(text) as Record<string, unknown>;
  }

  async function ask(config: object, more: { key?: string; headers?: Record<string, string> } = {}) {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-gateway-api-key': more.key ?? gateway.workspaceKey,
        'x-gateway-config': JSON.stringify(config),
        ...more.headers,
      },
      body: '{"model":"gpt-4o","messages":[{"role":"user","content":"Hi"}]}',
    });
    const text = await response.text();
    return {
      status: response.status,
      text,
      retryAfter: response.headers.get('retry-after'),
      target: response.headers.get('x-gateway-last-used-option-index'),
    };
  }

  const at = (upstream: Slow, more: object = {}) => ({
    provider: 'openai',
    api_key: 'sk-shared',
    custom_host: upstream.url,
    ...more,
  });

  it('least_latency asks the faster of two targets, once it has measured them', async () => {
    const config = { strategy: { mode: 'least_latency' }, targets: [at(slower), at(quick)] };
    const targets: (string | null)[] = [];
    for (let i = 0; i < 12; i++) targets.push((await ask(config)).target);
    expect(targets.slice(4)).to.deep.equal(Array(8).fill('config.targets[1]'));
    expect(targets.slice(0, 4)).to.include('config.targets[0]');
  });

  it('sticky sessions stay at one target; priority asks the second tier where the first fails', async () => {
    const sticky = { enabled: true, hash_fields: ['metadata.user'] };
    const config = { strategy: { mode: 'loadbalance', sticky }, targets: [at(quick), at(quick), at(quick)] };
    const seen = new Set<string>();
    for (const user of Array.from({ length: 12 }, (_, i) => `user ${i}`)) {
      const headers = { 'x-gateway-metadata': JSON.stringify({ user }) };
      const targets = await Promise.all([1, 2, 3].map(async () => (await ask(config, { headers })).target));
      expect(new Set(targets).size).to.equal(1);
      seen.add(String(targets[0]));
    }
    expect(seen.size).to.be.above(1);
    const dead = { provider: 'openai', api_key: 'k', custom_host: 'http://127.0.0.1:9/v1' };
    const tiers = {
      strategy: { mode: 'priority' },
      targets: [at(quick, { priority: 2 }), { ...dead, priority: 1 }],
    };
    expect((await ask(tiers)).target).to.equal('config.targets[0]');
  });

  it('concurrency holds an upstream to its limit, refuses past the queue with Retry-After, and a fallback moves on', async () => {
    slow.most = 0;
    const config = at(slow, { concurrency: { max: 2, queue: 3, max_wait: 5000 } });
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask(config)));
    expect(slow.most).to.equal(2);
    expect(answers.filter(({ status }) => status === 200).length).to.equal(5);
    const refused = answers.filter(({ status }) => status === 503);
    expect(refused.length).to.equal(3);
    for (const { text, retryAfter } of refused) {
      expect(text).to.include('upstream_busy');
      expect(Number(retryAfter)).to.be.within(1, 60);
    }
    const around = { strategy: { mode: 'fallback' }, targets: [config, at(quick)] };
    const moved = await Promise.all(Array.from({ length: 8 }, () => ask(around)));
    expect(moved.map(({ status }) => status)).to.deep.equal(Array(8).fill(200));
    expect(moved.filter(({ target }) => target === 'config.targets[1]').length).to.equal(3);
  });

  it('two workspaces at 10:1 load share a full upstream alike', async () => {
    const config = at(slow, {
      concurrency: { max: 4, queue: 1000, max_wait: 60_000 },
      forward_headers: ['x-tenant'],
    });
    slow.served.length = 0;
    const send = (tenant: string, key: string, count: number) =>
      Array.from({ length: count }, () => ask(config, { key, headers: { 'x-tenant': tenant } }));
    const all = [...send('large', gateway.workspaceKey, 200), ...send('small', otherKey, 20)];
    await Promise.all(all.slice(200));
    // All of the small one's were served while the large one had as many; what came before it is its own luck.
    const untilDone = slow.served.slice(0, slow.served.lastIndexOf('small') + 1);
    const contested = untilDone.slice(untilDone.indexOf('small'));
    const share = contested.filter((tenant) => tenant === 'small').length / contested.length;
    expect(share).to.be.closeTo(0.5, 0.05);
    await Promise.all(all);
  });
});
