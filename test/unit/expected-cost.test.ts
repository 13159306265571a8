import { expect } from 'chai';
import type { Principal } from '../../src/common/access/principal.js';
import { type ClientRequest, Exchange } from '../../src/common/core/exchange.js';
import type { Target } from '../../src/common/core/target.js';
import type { FromWorker } from '../../src/common/ipc/messages.js';
import type { ProviderRecord } from '../../src/common/ipc/records.js';
import { createPricing } from '../../src/common/prices/pricing.js';
import { dollarsOf } from '../../src/common/vocabulary/money.js';
import { LookupChannel } from '../../src/data-plane/directory/channel.js';
import { WorkerDirectory } from '../../src/data-plane/directory/directory.js';
import { ExpectedCosts } from '../../src/data-plane/pipeline/outgoing/expected-cost.js';
import { compileConfig } from '../../src/data-plane/routing/compile.js';

const bytes = Buffer.alloc(4000);
const million = 1_000_000;

describe('what a request is expected to cost', () => {
  /** Provider row behind `@main`, by workspace. */
  const rows: Record<string, string> = {};
  let asked = 0;
  const channel: LookupChannel = new LookupChannel((message: FromWorker) => {
    if (message.t !== 'lookup') return;
    asked += 1;
    const provider = rows[message.workspace ?? ''];
    const record = { slug: message.name, provider, fields: {}, secrets: {}, credential: null, models: null };
    channel.answered(message.id, provider === undefined ? null : (record as unknown as ProviderRecord));
  });
  const directory = new WorkerDirectory({
    channel,
    compile: () => {
      throw new Error('no config is stored here');
    },
  });
  const dollars = (input: number) => ({ input, output: 0 });
  const costs = new ExpectedCosts({
    directory,
    pricing: createPricing({
      prices: { openai: { small: dollars(1), large: dollars(10) }, groq: { small: dollars(3) } },
    }),
  });

  const targetOf = (config: object): Target => {
    const { root } = compileConfig(JSON.stringify(config), {
      slug: 'c',
      version: '1',
      isProvider: () => true,
    });
    if (root.kind !== 'target') throw new Error('no target');
    return root.target;
  };
  const exchange = (model: string, workspaceId = 'ws'): Exchange => {
    const request = { method: 'POST', path: '/v1/chat/completions', bytes, json: {} } as ClientRequest;
    const x = new Exchange('req', { name: 'chat', format: 'openai-chat', body: 'json' }, request);
    x.principal = { workspaceId } as Principal;
    x.modelAsked = model;
    return x;
  };
  /** Dollars for a million input tokens, as they were taken for the request's 1000. */
  const priceOf = (target: Target, x: Exchange): number | null => {
    const cost = costs.of(x, target, null);
    return cost === null ? null : dollarsOf(cost) * 1000;
  };

  it('uses the requested model, for each request again', () => {
    const target = targetOf({ provider: 'openai' });
    const models = ['small', 'large', 'small', 'unknown', 'small'];
    expect(models.map((model) => priceOf(target, exchange(model)))).to.deep.equal([1, 10, 1, null, 1]);
  });

  it('goes by the model that the target forces', () => {
    const target = targetOf({ provider: 'openai', override_params: { model: 'large' } });
    expect([priceOf(target, exchange('small')), priceOf(target, exchange('large'))]).to.deep.equal([10, 10]);
  });

  it('is unknown until the stored provider has been looked up, then known without another question', async () => {
    rows['ws'] = 'openai';
    const target = targetOf({ provider: '@main' });
    expect(priceOf(target, exchange('small'))).to.equal(null);
    await directory.provider('ws', 'main');
    asked = 0;
    expect([1, 2, 3].map(() => priceOf(target, exchange('small')))).to.deep.equal([1, 1, 1]);
    expect(asked).to.equal(0);
  });

  it('follows a change of the stored provider', async () => {
    rows['ws'] = 'openai';
    const target = targetOf({ provider: '@main' });
    directory.forget([{ kind: 'provider', workspace: 'ws', name: 'main' }]);
    await directory.provider('ws', 'main');
    expect(priceOf(target, exchange('small'))).to.equal(1);
    rows['ws'] = 'groq';
    directory.forget([{ kind: 'provider', workspace: 'ws', name: 'main' }]);
    expect(priceOf(target, exchange('small'))).to.equal(null);
    await directory.provider('ws', 'main');
    expect(priceOf(target, exchange('small'))).to.equal(3);
  });

  it("is never another workspace's, though both use the same config", async () => {
    Object.assign(rows, { ws: 'openai', other: 'groq' });
    directory.forget([{ kind: 'provider', workspace: null, name: '*' }]);
    const target = targetOf({ provider: '@main' });
    await Promise.all(['ws', 'other'].map((workspace) => directory.provider(workspace, 'main')));
    const prices = ['ws', 'other', 'ws'].map((workspace) => priceOf(target, exchange('small', workspace)));
    expect(prices).to.deep.equal([1, 3, 1]);
  });

  it('counts an answer no longer than max_tokens allows', () => {
    const pricing = createPricing({ prices: { openai: { m: { input: 0, output: million } } } });
    const own = new ExpectedCosts({ directory, pricing });
    const target = targetOf({ provider: 'openai' });
    const x = exchange('m');
    x.request.json = { max_tokens: 7 };
    expect(dollarsOf(own.of(x, target, 100)!)).to.equal(7);
    x.request.json = {};
    expect(dollarsOf(own.of(x, target, 100)!)).to.equal(100);
  });
});
