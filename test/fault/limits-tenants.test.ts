import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { Pool } from 'undici';
import { pause, type RunningGateway, startGateway } from '../support/gateway.js';
import { isLong } from '../support/long-forms.js';
import { scaled } from '../support/time-limits.js';

const tenants = 2000;
/** What the memory of a data worker may grow by, for all of them. */
const mostMb = 30;
/** Tenants that send at a steady rate, and what each sends; the limit of the one that floods is as much. */
const steady = 20;
const perSecond = 20;
/** What it sends, in limits. */
const floodTimes = 10;
const stretchMs = 4000;
const body = JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] });

const p99 = (times: readonly number[]): number =>
  [...times].sort((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0;
const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;

/** Calls it for each number below `count`, so many at a time; the results in their order. */
async function forAll<T>(count: number, atOnce: number, work: (i: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const one = async (): Promise<void> => {
    for (let i = next++; i < count; i = next++) results[i] = await work(i);
  };
  await Promise.all(Array.from({ length: atOnce }, one));
  return results;
}

/** A provider that answers at once. */
const provider = createServer((request, response) => {
  request.resume();
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({
        ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'gpt-4o-mini' },
        choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 8, completion_tokens: 1, total_tokens: 9 },
      }),
    );
  });
});

const residentMb = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

/** One data worker whose tenants (workspaces) all have limits; figures for docs/tests.md. */
describe('2,000 tenants with limits each', function () {
  this.timeout(scaled(300_000));
  let gateway: RunningGateway;
  let pool: Pool;
  let keys: string[];

  const create = async (path: string, fields: object): Promise<{ id: string; key: string }> => {
    const { statusCode, body: answer } = await pool.request({
      path,
      method: 'POST',
      headers: { 'x-gateway-api-key': gateway.adminKey, 'content-type': 'application/json' },
      body: JSON.stringify(fields),
    });
    const text = await answer.text();
    expect(statusCode, text).to.equal(200);
    return JSON.parse(text) as { id: string; key: string };
  };
  const tenant = async (i: number, limit: number): Promise<string> => {
    const { id } = await create('/v1/admin/workspaces', {
      name: `tenant ${i}`,
      rate_limits: [{ type: 'requests', unit: 'rpm', value: 1_000_000 }],
      usage_limits: [{ type: 'requests', credit_limit: 1_000_000 }],
    });
    const { key } = await create('/v1/api-keys/workspace/service', {
      ...{ name: 'limited', workspace_id: id, scopes: ['completions.write'] },
      rate_limits: [
        { type: 'requests', unit: 'rps', value: limit },
        { type: 'tokens', unit: 'rpm', value: 1_000_000_000 },
        { type: 'concurrency', value: 1000 },
      ],
      usage_limits: { type: 'cost', credit_limit: 1_000_000, periodic_reset: 'monthly' },
    });
    return key;
  };
  /** Milliseconds until the answer. */
  const chat = async (key: string, statuses: ReadonlySet<number>): Promise<number> => {
    const sentAt = performance.now();
    const { statusCode, body: answer } = await pool.request({
      path: '/v1/chat/completions',
      method: 'POST',
      headers: {
        'x-gateway-api-key': key,
        'x-gateway-provider': 'openai',
        'x-gateway-custom-host': `http://127.0.0.1:${(provider.address() as AddressInfo).port}/v1`,
        authorization: 'Bearer sk-tenant',
        'content-type': 'application/json',
      },
      body,
    });
    const text = await answer.text();
    if (!statuses.has(statusCode)) throw new Error(`${statusCode}: ${text}`);
    return performance.now() - sentAt;
  };
  const passed = new Set([200]);
  const refused = new Set([200, 429]);

  /** Sends so many a second, however fast they are answered. */
  async function send(rate: number, forMs: number, one: (i: number) => Promise<number>): Promise<number[]> {
    const all: Promise<number>[] = [];
    const began = performance.now();
    for (let elapsed = 0; elapsed < forMs; elapsed = performance.now() - began) {
      while (all.length < (elapsed * rate) / 1000) all.push(one(all.length));
      await pause(2);
    }
    return Promise.all(all);
  }

  before(async function () {
    if (!isLong) return this.skip();
    gateway = await startGateway({ env: { HEADGATE_LOG_LEVEL: 'warn' } });
    await new Promise<void>((open) => provider.listen(0, '127.0.0.1', open));
    pool = new Pool(gateway.url, { connections: 128 });
    keys = await forAll(tenants, 16, (i) => tenant(i, i === 0 ? perSecond : 1_000_000));
  });
  after(async () => {
    await pool?.close();
    await gateway?.stop();
    provider.close();
  });

  it(`take at most ${mostMb} MB of a data worker's memory`, async () => {
    const worker = Number(
      readFileSync(`/proc/${gateway.process.pid}/task/${gateway.process.pid}/children`, 'utf8')
        .trim()
        .split(' ')[0],
    );
    // As much load as theirs, of one of them.
    await forAll(4 * tenants, 16, () => chat(keys[1]!, passed));
    const before = residentMb(worker);
    await forAll(4 * tenants, 16, (i) => chat(keys[i % tenants]!, refused));
    const after = residentMb(worker);
    console.log(
      `      a data worker with ${tenants} tenants in use: ${before.toFixed(0)} MB with one of them, ${after.toFixed(0)} MB with all`,
    );
    expect(after - before).to.be.at.most(mostMb);
  });

  it('are not delayed by one that floods', async () => {
    const others = (): Promise<number[]> =>
      send(steady * perSecond, stretchMs, (i) => chat(keys[1 + (i % steady)]!, passed));
    const one = (times: number): Promise<number[]> =>
      send(times * perSecond, stretchMs, () => chat(keys[0]!, refused));
    await others();
    const pairs: [usual: number, beside: number][] = [];
    for (let pair = 0; pair < 5; pair++) {
      const [usual] = await Promise.all([others(), one(1)]);
      const [beside] = await Promise.all([others(), one(floodTimes)]);
      pairs.push([p99(usual), p99(beside)]);
    }
    const ratio = median(pairs.map(([usual, beside]) => beside / usual));
    console.log(
      `      p99 of ${steady} tenants beside one that sends what it may, and ${floodTimes} times as much: ${pairs.map(([usual, beside]) => `${usual.toFixed(1)} and ${beside.toFixed(1)} ms`).join(', ')}; median ratio ${ratio.toFixed(2)}`,
    );
    expect(ratio).to.be.at.most(1.5);
  });
});
