import { expect } from 'chai';
import type { BudgetRule } from '../../src/common/core/budget-rules.js';
import type { RateRule } from '../../src/common/core/rate-rules.js';
import type { Ask } from '../support/bare-worker.js';
import { soon } from '../support/bare-worker.js';
import { LimitedWorkers } from '../support/limited-workers.js';

const rule = (more: Partial<RateRule> = {}): RateRule => ({
  counter: `org/api_key/1/${more.measure ?? 'tokens'}/rpm`,
  of: 'api_key',
  name: 'mine',
  measure: 'tokens',
  unit: 'rpm',
  value: 10_000,
  shadow: false,
  ...more,
});

const messages = [{ role: 'user', content: 'Hello' }];
const body = { model: 'gpt-4o-mini', max_tokens: 50, messages };

describe('what a request has taken of its rate limits', () => {
  let all: LimitedWorkers;

  beforeEach(async () => {
    all = await LimitedWorkers.start(1);
  });
  afterEach(() => all.close());

  const key = (...limits: RateRule[]): string => all.workers[0]!.key({ limits });
  /** What is left of a limit of tokens, as the refusal of a larger request says. */
  const leftOf = async (text: string): Promise<number> => {
    const refused = await all.ask(text, { body: { ...body, max_tokens: 900_000 } });
    expect(refused.status).to.equal(429);
    return JSON.parse(refused.text).error.limit.remaining;
  };
  const fallback = JSON.stringify({
    strategy: { mode: 'fallback' },
    targets: [{ provider: '@p' }, { provider: '@p' }],
  });

  it('becomes what its answer used, where the connection of a try before it broke', async () => {
    const text = key(rule());
    all.answers = () => (all.sent === 1 ? 'reset' : true);
    expect((await all.ask(text, { body, config: fallback })).status).to.equal(200);
    expect(await leftOf(text)).to.equal(10_000 - 30);
  });

  it('is counted in full, where that answer used more than was held back', async () => {
    const text = key(rule());
    all.usage = { prompt_tokens: 1000, completion_tokens: 6000, total_tokens: 7000 };
    all.answers = () => (all.sent === 1 ? 'reset' : true);
    const how = { body: { model: 'gpt-4o-mini', messages }, config: fallback };
    expect((await all.ask(text, how)).status).to.equal(200);
    expect(await leftOf(text)).to.equal(3000);
  });

  it('is given back where no try reached a provider', async () => {
    const text = key(rule());
    all.answers = () => 'reset';
    expect((await all.ask(text, { body })).status).to.equal(502);
    expect(await leftOf(text)).to.equal(10_000);
  });

  it('is given back once where its client leaves while another limit is asked for', async () => {
    const text = key(rule({ measure: 'requests', value: 100 }));
    const [worker] = all.workers;
    const conditions = [{ key: 'metadata.team', value: '*' }];
    const policy = { id: 'policy', organisationId: 'org', name: null, conditions, groupBy: ['api_key'] };
    const rate = { measure: 'requests', unit: 'rpm', value: 1000, shadow: false } as const;
    worker!.policies.set('ws', { rates: [{ ...policy, ...rate }] });
    // The worker is granted some ahead.
    for (let i = 0; i < 4; i++) expect((await all.ask(text, { body })).status).to.equal(200);
    const before = all.questions;
    all.isAnswering = false;
    const headers = ['x-gateway-metadata', '{"team":"a"}'];
    const client = worker!.ask(text, { stream: false, body, headers });
    await soon('the other limit is asked for', () => all.questions > before);
    client.disconnect();
    await new Promise((later) => setTimeout(later, 150));
    all.isAnswering = true;
    const clients = await Promise.all(Array.from({ length: 120 }, () => all.ask(text, { body })));
    expect(clients.filter(({ status }) => status === 200)).to.have.length(96);
  });

  const unmetered: [string, Ask][] = [
    ['a count of tokens', { path: '/v1/messages/count_tokens', body: { model: 'gpt-4o-mini', messages } }],
    ['a list of files', { method: 'GET', path: '/v1/files', body: '' }],
  ];
  for (const [name, how] of unmetered)
    it(`is nothing of tokens for ${name}, which is refused where none are left`, async () => {
      const text = key(rule({ value: 30 }));
      for (let i = 0; i < 5; i++) expect((await all.ask(text, how)).status).to.equal(200);
      expect(await leftOf(text)).to.equal(30);
      expect((await all.ask(text, { body: { ...body, max_tokens: 1 } })).status).to.equal(200);
      expect((await all.ask(text, how)).status).to.equal(429);
    });
});

describe('what is held back for a request', () => {
  let all: LimitedWorkers;

  beforeEach(async () => {
    all = await LimitedWorkers.start(1);
  });
  afterEach(() => all.close());

  const several: [string, Ask][] = [
    ['`n` of its target', { body, config: '{"provider":"@p","override_params":{"n":8}}' }],
    ['`n` that its target adds', { body, config: '{"provider":"@p","default_params":{"n":8}}' }],
    [
      '`best_of`',
      { path: '/v1/completions', body: { model: 'gpt-4o-mini', prompt: 'Hi', max_tokens: 50, best_of: 8 } },
    ],
    [
      '`candidateCount`',
      {
        path: '/v1beta/models/gpt-4o-mini:generateContent',
        body: {
          contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
          generationConfig: { maxOutputTokens: 50, candidateCount: 8 },
        },
      },
    ],
  ];
  for (const [name, how] of several)
    it(`covers every answer of ${name}`, async () => {
      const provider = { of: 'virtual_key', name: 'p', value: 300 } as const;
      all.workers[0]!.addProvider('p', { provider: 'openai', limits: [rule(provider)] });
      const refused = await all.ask(all.workers[0]!.key({}), { config: '{"provider":"@p"}', ...how });
      expect([refused.status, all.sent], refused.text).to.deep.equal([429, 0]);
    });

  it('covers the pictures of a short body', async () => {
    const picture = { type: 'image_url', image_url: { url: 'https://example.org/a.png' } };
    const content = [{ type: 'text', text: 'What is it?' }, picture, picture];
    const asked = { ...body, messages: [{ role: 'user', content }] };
    const text = all.workers[0]!.key({ limits: [rule({ value: 1500 })] });
    expect((await all.ask(text, { body: asked })).status).to.equal(429);
    expect((await all.ask(text, { body })).status).to.equal(200);
  });

  it('is at the price of the tier that it asks for', async () => {
    const limit: BudgetRule = {
      ...{ budget: 'org/api_key/1/cost', of: 'api_key', name: 'mine', measure: 'cost', threshold: null },
      ...{ shadow: false, since: 0, nextResetAt: null, periodicReset: null, periodicResetDays: null },
      // A million tokens of output cost 60 cents, and a dollar with priority.
      limit: 800_000_000,
    };
    const text = all.workers[0]!.key({ budgets: [limit] });
    const asked = { ...body, max_tokens: 1_000_000 };
    const statuses: number[] = [];
    for (const service_tier of ['priority', 'flex', 'auto'])
      statuses.push((await all.ask(text, { body: { ...asked, service_tier } })).status);
    expect(statuses).to.deep.equal([412, 200, 200]);
  });

  it('is recorded as its usage where its time runs out, which a caller may set: the provider may go on', async () => {
    const counted = { input: 8, output: 0, cached: 0, cacheWrite: 0, reasoning: 0, source: 'counted' };
    Object.assign(all.workers[0]!.pipeline.counter, { count: async () => counted });
    all.answers = () => false;
    const config = '{"provider":"@p","request_timeout":20}';
    const { status } = await all.ask(all.workers[0]!.key({}), { body, config });
    const [settled] = all.workers[0]!.settled;
    expect([status, settled?.usage]).to.deep.equal([408, { ...counted, output: 50 }]);
  });

  it('is recorded as its usage where a whole answer breaks off: the provider has written it', async () => {
    const counted = { input: 8, output: 0, cached: 0, cacheWrite: 0, reasoning: 0, source: 'counted' };
    Object.assign(all.workers[0]!.pipeline.counter, { count: async () => counted });
    all.answers = () => 'cut';
    const { status } = await all.ask(all.workers[0]!.key({}), { body });
    const [settled] = all.workers[0]!.settled;
    expect([status, settled?.usage]).to.deep.equal([502, { ...counted, output: 50 }]);
    // 8 and 50 tokens at 15 and 60 cents a million.
    expect(settled?.cost).to.equal(31_200_000);
  });
});
