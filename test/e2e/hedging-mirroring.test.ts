import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import type { LogMetrics } from '../../proto/messages.js';
import { noUsage } from '../../src/common/core/usage.js';
import { intentFields } from '../../src/common/ledger/intent-fields.js';
import { pricing } from '../../src/common/prices/pricing.js';
import { dollarsOf } from '../../src/common/vocabulary/money.js';
import { eventually, pause, type RunningGateway, startGateway } from '../support/gateway.js';
import { expectWithinMs } from '../support/time-limits.js';

/** An upstream of which the test says how late it is, and which knows who left before it answered. */
class Upstream {
  /** Milliseconds to the head; null: never. */
  headMs: number | null = 0;
  /** Milliseconds from a stream's head to its first event. */
  firstMs = 0;
  status = 200;
  readonly bodies: string[] = [];
  readonly keys: (string | undefined)[] = [];
  /** Milliseconds from a request's arrival until its connection was closed on it. */
  readonly left: number[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      const came = performance.now();
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString();
        this.bodies.push(body);
        this.keys.push(request.headers.authorization);
        void this.#answer(response, body);
      });
      response.on('close', () => {
        if (!response.writableFinished) this.left.push(performance.now() - came);
      });
    });
  }

  static async open(): Promise<Upstream> {
    const upstream = new Upstream();
    await new Promise<void>((done) => {
      upstream.#server.listen(0, '127.0.0.1', done);
    });
    return upstream;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  reset(): void {
    Object.assign(this, { headMs: 0, firstMs: 0, status: 200 });
    for (const list of [this.bodies, this.keys, this.left]) list.length = 0;
  }

  async #answer(response: ServerResponse, body: string): Promise<void> {
    if (this.headMs === null) return;
    await pause(this.headMs);
    const usage = { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 };
    const whole = { id: 'c', created: 1, model: 'gpt-4o-mini', usage };
    if (this.status !== 200 || !body.includes('"stream":true')) {
      response.writeHead(this.status, { 'content-type': 'application/json' });
      const message = { role: 'assistant', content: 'Hello' };
      const choices = [{ index: 0, message, finish_reason: 'stop' }];
      response.end(JSON.stringify({ ...whole, object: 'chat.completion', choices }));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    await pause(this.firstMs);
    const choices = [{ index: 0, delta: { role: 'assistant', content: 'Hello' }, finish_reason: null }];
    response.write(`data: ${JSON.stringify({ ...whole, usage: null, choices })}\n\n`);
    response.write(`data: ${JSON.stringify({ ...whole, choices: [] })}\n\n`);
    response.end('data: [DONE]\n\n');
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

interface Asked {
  readonly trace: string;
  readonly stream?: boolean;
  readonly signal?: AbortSignal;
}

/** What 100 tokens in and 50 out of gpt-4o-mini cost, in dollars. */
const answerCost = 0.000045;

describe('several upstreams for one request', () => {
  let gateway: RunningGateway;
  let slow: Upstream;
  let quick: Upstream;

  before(async function () {
    this.timeout(20_000);
    [gateway, slow, quick] = await Promise.all([
      startGateway({ env: { HEADGATE_LOG_BODIES: 'true' } }),
      Upstream.open(),
      Upstream.open(),
    ]);
    const { providers } = gateway.admin();
    await providers.create({ slug: 'slow', provider: 'openai', key: 'sk-slow', base_url: slow.baseUrl });
    await providers.create({ slug: 'quick', provider: 'openai', key: 'sk-quick', base_url: quick.baseUrl });
  });

  beforeEach(() => {
    slow.reset();
    quick.reset();
  });

  after(async () => {
    await gateway?.stop();
    slow?.close();
    quick?.close();
  });

  const ask = (config: object, { trace, stream = false, signal }: Asked): Promise<Response> =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      signal: signal ?? null,
      headers: {
        'content-type': 'application/json',
        'x-gateway-api-key': gateway.workspaceKey,
        'x-gateway-config': JSON.stringify(config),
        'x-gateway-trace-id': trace,
      },
      body: JSON.stringify({
        model: 'gpt-4o-mini',
        messages: [{ role: 'user', content: 'Hello out there' }],
        stream,
      }),
    });

  /** So many ledger rows of a trace, oldest first. */
  const rows = (trace: string, count = 1): Promise<LogMetrics[]> =>
    eventually(`${count} rows of ${trace}`, async () => {
      const { data } = await gateway.admin().logs.list({ trace_id: trace });
      return data.length === count ? [...data].reverse() : null;
    });

  describe('hedging', () => {
    const config = {
      strategy: { mode: 'fallback', hedge: { min_delay: 100, max_extra: 1 } },
      targets: [{ provider: '@slow' }, { provider: '@quick' }],
    };

    for (const stream of [true, false]) {
      it(`answers from the second target, closes the first's connection at once and bills both${stream ? ', streamed' : ''}`, async () => {
        slow.headMs = 3000;
        const trace = `hedge-${stream}`;
        const began = performance.now();
        const answer = await ask(config, { trace, stream });
        expect(await answer.text()).to.include('Hello');
        expectWithinMs(performance.now() - began, 1500, { atLeast: 100 });
        expect(answer.headers.get('x-gateway-last-used-option-index')).to.equal('config.targets[1]');
        await eventually('the first is left', async () => slow.left.length === 1);
        expectWithinMs(slow.left[0]!, 1500);
        expect(quick.bodies).to.deep.equal(slow.bodies);

        const [row] = await rows(trace);
        const [lost, won] = row?.attempts ?? [];
        expect([lost?.target, lost?.error, lost?.status]).to.deep.equal([
          'config.targets[0]',
          'hedge_lost',
          0,
        ]);
        expect(lost).to.include({ usage_source: 'counted', res_units: 0 });
        const input = lost?.req_units ?? 0;
        expect(input).to.be.within(3, 30);
        const sent = pricing.cost('openai', 'gpt-4o-mini', { ...noUsage(), input }) ?? 0;
        expect(lost?.cost).to.equal(dollarsOf(sent));
        expect(won?.error).to.equal(undefined);
        expect(won).to.include({ target: 'config.targets[1]', status: 200, cost: answerCost });
        expect(won).to.include({ req_units: 100, res_units: 50, usage_source: 'provider' });
        expect(row).to.include({
          req_units: 100,
          res_units: 50,
          usage_source: 'provider',
          target: 'config.targets[1]',
        });
        expect(row?.cost).to.equal(dollarsOf(45_000_000 + sent));
        // Both were waited for at the same time.
        expect(row?.upstream_response_time).to.be.at.most(row?.response_time ?? 0);
      });
    }

    it('asks no other target where the first is in time, and bills it alone', async () => {
      const answer = await ask(config, { trace: 'in-time', stream: true });
      await answer.text();
      const [row] = await rows('in-time');
      expect(row?.attempts.map(({ target, error }) => [target, error])).to.deep.equal([
        ['config.targets[0]', undefined],
      ]);
      expect([row?.cost, row?.attempts[0]?.cost]).to.deep.equal([answerCost, answerCost]);
      expect(quick.bodies).to.deep.equal([]);
    });

    it('hedges a stream whose head came and whose first event does not', async () => {
      slow.firstMs = 3000;
      const answer = await ask(config, { trace: 'no-event', stream: true });
      await answer.text();
      const [row] = await rows('no-event');
      expect(row?.attempts.map(({ status, error }) => [status, error])).to.deep.equal([
        [200, 'hedge_lost'],
        [200, undefined],
      ]);
    });

    it('leaves both when the client leaves, and counts what both may have answered', async () => {
      slow.headMs = null;
      quick.headMs = null;
      const client = new AbortController();
      const answer = ask(config, { trace: 'gone', stream: true, signal: client.signal });
      answer.catch(() => {});
      await eventually('both are asked', async () => slow.bodies.length + quick.bodies.length === 2);
      client.abort();
      await eventually('both are left', async () => slow.left.length + quick.left.length === 2);
      const [row] = await rows('gone');
      expect(row?.response_status_code).to.equal(499);
      expect(row?.attempts.map(({ error }) => error)).to.deep.equal(['client_gone', 'client_gone']);
      const [one, other] = row?.attempts ?? [];
      expect(one).to.include({ usage_source: 'counted' });
      expect(one?.cost).to.be.above(0);
      expect(row?.cost).to.equal(2 * (one?.cost ?? 0));
      expect(other?.cost).to.equal(one?.cost);
    });

    it('has reserved for both while both are asked', async () => {
      slow.headMs = 1000;
      quick.headMs = 1000;
      const answer = ask(config, { trace: 'reserved' });
      await eventually('both are asked', async () => slow.bodies.length + quick.bodies.length === 2);
      const dir = join(gateway.dataDir, 'journal');
      const intents = readdirSync(dir)
        .filter((name) => name.endsWith('.log'))
        .flatMap((name) => readFileSync(join(dir, name), 'utf8').split('\n'))
        .filter((line) => line.startsWith('I[') && line.includes('"reserved"'))
        .map((line) => (JSON.parse(line.slice(1)) as unknown[])[intentFields.indexOf('reserved')] as number);
      expect(intents).to.have.length(2);
      expect(intents[1]).to.equal(2 * intents[0]!);
      await (await answer).text();
    });
  });

  describe('an answer that is given up for another', () => {
    it('is paid for, whether a retry or a fallback gave it up', async () => {
      const retry = { retry: { attempts: 1, on_status_codes: [200] }, provider: '@quick' };
      const fallback = {
        strategy: { mode: 'fallback', on_status_codes: [200] },
        targets: [{ provider: '@slow' }, { provider: '@quick' }],
      };
      for (const [trace, config] of Object.entries({ retry, fallback })) {
        await (await ask(config, { trace })).text();
        const [row] = await rows(trace);
        expect(row?.attempts.map(({ cost }) => cost)).to.deep.equal([answerCost, answerCost]);
        expect([row?.cost, row?.req_units]).to.deep.equal([2 * answerCost, 100]);
      }
    });

    it('is paid for by what came of it, where it was a stream', async () => {
      const config = {
        strategy: { mode: 'fallback', on_status_codes: [200] },
        targets: [{ provider: '@slow' }, { provider: '@quick' }],
      };
      await (await ask(config, { trace: 'stream-left', stream: true })).text();
      const [row] = await rows('stream-left');
      const [left, taken] = row?.attempts ?? [];
      expect(left?.usage_source).to.equal('counted');
      expect(left?.req_units).to.be.greaterThan(0);
      expect(taken?.cost).to.equal(answerCost);
      expect(row?.cost).to.be.closeTo((left?.cost ?? 0) + answerCost, 1e-12);
    });

    it('costs nothing where it was a refusal', async () => {
      slow.status = 503;
      const config = {
        strategy: { mode: 'fallback' },
        targets: [{ provider: '@slow' }, { provider: '@quick' }],
      };
      await (await ask(config, { trace: 'refused' })).text();
      const [row] = await rows('refused');
      expect(row?.attempts.map(({ cost }) => cost ?? null)).to.deep.equal([null, answerCost]);
      expect(row?.cost).to.equal(answerCost);
    });
  });

  describe('mirroring', () => {
    const mirrored = (share: number) => ({
      provider: '@quick',
      mirror: { share, target: { provider: '@slow' } },
    });

    for (const stream of [true, false]) {
      it(`sends the same once more, with the other's own key, as a row of its own${stream ? ', streamed' : ''}`, async () => {
        const trace = `mirror-${stream}`;
        const answer = await ask(mirrored(1), { trace, stream });
        const id = answer.headers.get('x-gateway-request-id');
        await answer.text();
        const both = await rows(trace, 2);
        const copy = both.find(({ metadata }) => metadata['_mirror_of'] !== undefined);
        const primary = both.find((row) => row !== copy);
        expect(primary?.id).to.equal(id);
        expect(copy?.metadata).to.deep.equal({ _mirror_of: id });
        expect(copy).to.include({ cost: answerCost, response_status_code: 200, span_name: 'mirror' });
        expect(primary).to.include({ cost: answerCost, target: 'config' });
        expect(primary?.attempts).to.have.length(1);
        expect(slow.bodies).to.deep.equal(quick.bodies);
        expect([slow.keys, quick.keys]).to.deep.equal([['Bearer sk-slow'], ['Bearer sk-quick']]);
      });
    }

    it('copies the configured share, and nothing for a share of 0', async () => {
      for (let i = 0; i < 20; i++) await (await ask(mirrored(0), { trace: 'none' })).text();
      await rows('none', 20);
      expect(slow.bodies).to.deep.equal([]);
    });

    it('lets no failure of the copy reach the client', async () => {
      slow.status = 500;
      const answer = await ask(mirrored(1), { trace: 'failing' });
      expect(answer.status).to.equal(200);
      await answer.text();
      const both = await rows('failing', 2);
      expect(both.map((row) => row.response_status_code).sort()).to.deep.equal([200, 500]);
    });

    it('never waits for the copies: what their queue does not hold is dropped and counted', async function () {
      this.timeout(20_000);
      const metric = async (name: string): Promise<number> =>
        Number(
          new RegExp(`^${name}\\{worker="0"\\} (\\d+)$`, 'm').exec(
            await (await fetch(`${gateway.opsUrl}/metrics`)).text(),
          )?.[1],
        );
      await eventually('a count', async () => !Number.isNaN(await metric('gateway_mirror_dropped_total')));
      expect(await metric('gateway_mirror_dropped_total')).to.equal(0);
      slow.headMs = null;
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, i) => ask(mirrored(1), { trace: `many-${i}` })),
      );
      for (const answer of answers) {
        expect(answer.status).to.equal(200);
        await answer.text();
      }
      // Sixteen are asked for, sixty-four wait.
      await eventually('twenty dropped', async () => (await metric('gateway_mirror_dropped_total')) === 20);
      await eventually('sixteen arrived', async () => slow.bodies.length >= 16);
      expect(slow.bodies).to.have.length(16);
    });
  });
});
