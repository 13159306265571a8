import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { headgateHere } from '../support/cli-bench.js';
import { headgate } from '../support/command.js';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';

/** A key as the API answers with it: when it is created, and when it is read. */
interface LimitedKey {
  readonly id: string;
  readonly key: string;
  readonly usage_limits: { readonly current_usage: number };
}

describe('Prices of one’s own', () => {
  let gateway: RunningGateway;
  before(async function () {
    this.timeout(20_000);
    const prices = {
      openai: {
        'gpt-4o-mini': { input: 1000, output: 0 },
        'ours-1': { input: 0, output: 500 },
        moderated: { input: 0, output: 0, request: 0.25 },
      },
      cohere: { ranks: { input: 0, output: 0, request: 0.002 } },
    };
    // As `headgate prices update` stores them; the settings go before them.
    const dataDir = mkdtempSync(join(tmpdir(), 'headgate-test-'));
    writeFileSync(
      join(dataDir, 'prices.json'),
      JSON.stringify([
        { provider: 'openai', model: 'gpt-4o-mini', input: 7, output: 7 },
        { provider: 'openai', model: 'filed-1', input: 3, output: 1, since: '2100-01-01' },
        { provider: 'openai', model: 'filed-1', input: 25, output: 1 },
      ]),
    );
    gateway = await startGateway({
      dataDir,
      env: { HEADGATE_WORKERS: '2', HEADGATE_SIMULATED: 'true', HEADGATE_PRICES: JSON.stringify(prices) },
    });
  });
  after(() => gateway?.stop());

  for (const [model, costOf] of [
    ['gpt-4o-mini', (input: number) => input * 1000],
    ['ours-1', (_input: number, output: number) => output * 500],
    ['filed-1', (input: number, output: number) => input * 25 + output],
  ] as const)
    it(`are what a call of ${model} costs in the ledger`, async () => {
      const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${gateway.workspaceKey}`,
          'x-gateway-provider': '@simulated',
          'content-type': 'application/json',
        },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] }),
      });
      const json = (await answer.json()) as { usage: { prompt_tokens: number; completion_tokens: number } };
      expect(answer.status, JSON.stringify(json)).to.equal(200);
      const { prompt_tokens: input, completion_tokens: output } = json.usage;
      const row = await eventually('the row', async () => {
        const { data } = await gateway.admin().api.logs.listLogs({ limit: 20 });
        return data.find((one) => one.id === answer.headers.get('x-gateway-request-id'));
      });
      expect(row.cost)
        .to.equal(costOf(input, output) / 1e6)
        .and.to.be.above(0);
      const id = row.id;
      const explained = await gateway.admin().api.logs.explainCost({ id });
      expect(explained.matches).to.equal(true);
      expect(explained.note ?? null).to.equal(null);
      const [attempt] = explained.attempts;
      expect(attempt?.price_source).to.equal('settings');
      expect(Number(explained.cost)).to.equal(row.cost);
      const rest = await fetch(`${gateway.url}/v1/logs/${id}/cost`, {
        headers: { 'x-gateway-api-key': gateway.workspaceKey },
      });
      const asJson = (await rest.json()) as {
        cost: string;
        attempts: { lines: { rate: string; quantity: number }[] }[];
      };
      expect(asJson.cost).to.equal(explained.cost);
      expect(asJson.attempts[0]?.lines.map(({ rate, quantity }) => [rate, quantity])).to.deep.equal([
        ['input', input],
        ['output', output],
      ]);
      const { code, stdout, stderr } = await headgateHere(['cost', 'explain', id], gateway.env);
      expect(stderr).to.equal('');
      expect(code).to.equal(0);
      expect(stdout).to.include(`$${explained.cost}`).and.include('price of the settings');
    });

  it('for each request hold for rankings and moderations, whose answers have no tokens, and budgets have them', async () => {
    const provider = createServer((request, response) => {
      const answer =
        request.url === '/v1/moderations'
          ? { id: 'm', model: 'moderated', results: [] }
          : { id: 'r', results: [], meta: { billed_units: { search_units: 3 } } };
      request.resume().on('end', () => {
        response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
      });
    });
    await new Promise<void>((done) => provider.listen(0, '127.0.0.1', done));
    const host = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
    const admin = async (path: string, body?: object): Promise<LimitedKey> => {
      const answer = await fetch(`${gateway.url}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { 'x-gateway-api-key': gateway.adminKey, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const json = (await answer.json()) as LimitedKey;
      expect(answer.status, JSON.stringify(json)).to.equal(200);
      return json;
    };
    const key = await admin('/v1/api-keys/workspace/service', {
      workspace_id: gateway.workspaceId,
      name: 'searches',
      scopes: ['completions.write'],
      usage_limits: { type: 'cost', credit_limit: 5 },
    });
    const call = async (path: string, name: string, base: string, body: object) => {
      const answer = await fetch(`${gateway.url}${path}`, {
        method: 'POST',
        headers: {
          'x-gateway-api-key': key.key,
          'x-gateway-provider': name,
          'x-gateway-custom-host': base,
          authorization: 'Bearer x',
          'content-type': 'application/json',
        },
        body: JSON.stringify(body),
      });
      expect(answer.status, await answer.text()).to.equal(200);
      const row = await eventually('the row', async () => {
        const { data } = await gateway.admin().api.logs.listLogs({ limit: 20 });
        return data.find((one) => one.id === answer.headers.get('x-gateway-request-id'));
      });
      const { cost, matches, attempts } = await gateway.admin().api.logs.explainCost({ id: row.id });
      expect(matches).to.equal(true);
      return [row.cost, cost, attempts[0]?.lines.map((line) => [line.rate, line.quantity])];
    };
    try {
      const rank = { query: 'a', documents: ['b'] };
      expect(await call('/v1/rerank', 'cohere', host, { model: 'ranks', ...rank })).to.deep.equal([
        0.006,
        '0.006',
        [['request', 3]],
      ]);
      expect(
        await call('/v1/moderations', 'openai', `${host}/v1`, { model: 'moderated', input: 'a' }),
      ).to.deep.equal([0.25, '0.25', [['request', 1]]]);
      const used = await eventually('the usage', async () => {
        const { usage_limits } = await admin(`/v1/api-keys/${key.id}?include_usage=true`);
        return usage_limits.current_usage > 0.006 && usage_limits.current_usage;
      });
      expect(used).to.equal(0.256);
    } finally {
      provider.close();
    }
  });

  it('count from prices.json in every worker soon after it changes, and a file that cannot be used changes nothing', async () => {
    const cost = async (): Promise<number | null | undefined> => {
      const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${gateway.workspaceKey}`,
          'x-gateway-provider': '@simulated',
          'content-type': 'application/json',
          // Each worker is asked: a connection stays with one of them.
          connection: 'close',
        },
        body: JSON.stringify({ model: 'live-1', max_tokens: 1, messages: [{ role: 'user', content: 'Hi' }] }),
      });
      expect(answer.status).to.equal(200);
      await answer.arrayBuffer();
      const row = await eventually('the row', async () => {
        const { data } = await gateway.admin().api.logs.listLogs({ limit: 20 });
        return data.find((one) => one.id === answer.headers.get('x-gateway-request-id'));
      });
      return row.cost;
    };
    const costs = async (): Promise<unknown[]> => [await cost(), await cost(), await cost(), await cost()];
    expect(await costs()).to.deep.equal(Array.from({ length: 4 }));
    const update = (rows: unknown[]) =>
      headgate(gateway.env, ['prices', 'update', '-f', '-'], JSON.stringify(rows));
    const live = { provider: 'openai', model: 'live-1', input: 0, output: 0, request: 0.25 };
    const others = Array.from({ length: 600 }, (_, i) => ({ ...live, model: `other-${i}` }));
    expect((await update([live, ...others])).stdout).to.include('within seconds');
    await eventually('the price', async () => (await costs()).every((one) => one === 0.25) || undefined);

    writeFileSync(join(gateway.dataDir, 'prices.json'), JSON.stringify([{ ...live, input: -1 }]));
    await eventually(
      'the error',
      async () => /prices\.json cannot be used/.test(gateway.output()) || undefined,
    );
    expect(gateway.output()).to.match(/prices\.json: row \[0\]\.input must be >= 0/);
    expect(await costs()).to.deep.equal([0.25, 0.25, 0.25, 0.25]);

    writeFileSync(join(gateway.dataDir, 'prices.json'), JSON.stringify([{ ...live, request: 0.5 }]));
    await eventually('the price', async () => (await costs()).every((one) => one === 0.5) || undefined);
  }).timeout(30_000);
});
