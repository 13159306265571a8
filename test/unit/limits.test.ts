import { expect } from 'chai';
import type { RatePolicy, RateRule } from '../../src/common/core/rate-rules.js';
import { soon } from '../support/bare-worker.js';
import { headerOf, LimitedWorkers } from '../support/limited-workers.js';
import { expectWithinMs } from '../support/time-limits.js';

const rule = (more: Partial<RateRule> = {}): RateRule => ({
  counter: `org/${more.of ?? 'api_key'}/1/${more.measure ?? 'requests'}/${more.unit ?? 'rpm'}`,
  of: 'api_key',
  name: 'mine',
  measure: 'requests',
  unit: 'rpm',
  value: 2,
  shadow: false,
  ...more,
});

const policy = (more: Partial<RatePolicy> = {}): RatePolicy => ({
  id: 'policy',
  organisationId: 'org',
  name: null,
  conditions: [{ key: 'workspace_id', value: '*' }],
  groupBy: ['api_key'],
  measure: 'requests',
  unit: 'rpm',
  value: 2,
  shadow: false,
  ...more,
});

const body = { model: 'gpt-4o-mini', max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }] };

describe('rate limits', () => {
  let all: LimitedWorkers;

  beforeEach(async () => {
    all = await LimitedWorkers.start(3);
  });
  afterEach(() => all.close());

  /** A key that all workers know. */
  const key = (limits: RateRule[], more: object = {}): string => {
    const text = all.workers[0]!.key({ ...(limits.length > 0 && { limits }), ...more });
    for (const worker of all.workers)
      worker.keys.set(worker.hashOf(text), all.workers[0]!.keys.get(worker.hashOf(text))!);
    return text;
  };
  const policies = (...rates: RatePolicy[]): void => {
    for (const worker of all.workers) worker.policies.set('ws', { rates });
  };

  it('let the allowed number of requests through over all workers, and send none beyond', async () => {
    const text = key([rule()]);
    const statuses: number[] = [];
    for (const worker of [0, 1, 0]) statuses.push((await all.ask(text, { worker })).status);
    expect(statuses).to.deep.equal([200, 200, 429]);
    expect(all.sent).to.equal(2);
  });

  it('refuse with the limit, its value, what is left, and when there is room again', async () => {
    const text = key([rule({ value: 1 })]);
    await all.ask(text);
    const refused = await all.ask(text);
    const { error } = JSON.parse(refused.text);
    expect(error).to.deep.include({ code: '05', type: 'api_key_rate_limit_error' });
    expect(error.message).to.match(
      /^The API key "mine" may use 1 request per minute; none are left: try again in \d+ s\.$/,
    );
    expect(error.limit).to.include({ on: 'api_key', type: 'requests', unit: 'rpm', value: 1, remaining: 0 });
    expect(Number(headerOf(refused, 'retry-after'))).to.be.within(1, 61);
    expect(headerOf(refused, 'x-ratelimit-limit-requests')).to.equal('1');
    expect(headerOf(refused, 'x-ratelimit-remaining-requests')).to.equal('0');
    expect(headerOf(refused, 'x-ratelimit-reset-requests')).to.match(/^(1m)?\d+(\.\d+)?s$/);
    expect(headerOf(refused, 'ratelimit-policy')).to.equal('"requests";q=1;w=60');
    expect(headerOf(refused, 'ratelimit')).to.match(/^"requests";r=0;t=\d+$/);
    const { settled } = all.workers[0]!;
    expect(settled.at(-1)).to.deep.include({ status: 429, error: '05' });
    expect(settled.at(-1)?.stages).to.deep.equal({ limits: { refused_by: 'api_key mine requests rpm' } });
  });

  it("have Anthropic's headers where Anthropic's clients read them", async () => {
    const text = key([rule({ value: 0 })]);
    const refused = await all.ask(text, { path: '/v1/messages', body, config: '{"provider":"@anthropic"}' });
    expect(refused.status).to.equal(429);
    expect(JSON.parse(refused.text)).to.include({ type: 'error' });
    expect(headerOf(refused, 'anthropic-ratelimit-requests-limit')).to.equal('0');
    expect(headerOf(refused, 'x-should-retry')).to.equal('false');
  });

  it("name the workspace where the workspace's limit refuses", async () => {
    const text = key([rule({ value: 5 }), rule({ of: 'workspace', name: 'default', value: 0 })]);
    const { error } = JSON.parse((await all.ask(text)).text);
    expect(error).to.deep.include({ code: '05', type: 'workspace_rate_limit_error' });
    expect(error.message).to.include('The workspace "default"');
  });

  it('take nothing from the other limits of a request that one refuses', async () => {
    const refused = key([rule({ value: 1 }), rule({ of: 'workspace', name: 'w', value: 0 })]);
    for (let i = 0; i < 3; i++) expect((await all.ask(refused)).status).to.equal(429);
    const other = key([rule({ value: 1 })]);
    expect((await all.ask(other)).status).to.equal(200);
  });

  it('settle tokens to what the provider reported', async () => {
    const tokens = rule({ measure: 'tokens', value: 190 });
    const text = key([tokens]);
    // About 80 tokens are held back for each of these, and 30 are used.
    for (let i = 0; i < 4; i++) expect((await all.ask(text, { body })).status, String(i)).to.equal(200);
    const refused = await all.ask(text, { body });
    expect(refused.status).to.equal(429);
    const { limit, message } = JSON.parse(refused.text).error;
    expect(limit).to.include({ type: 'tokens', value: 190, remaining: 70 });
    expect(message).to.match(/70 are left, too few for this request/);
  });

  it('refuse a request that may use more than the limit without a time to try again', async () => {
    const text = key([rule({ measure: 'tokens', value: 40 })]);
    const refused = await all.ask(text, { body });
    expect(JSON.parse(refused.text).error.message).to.include('lower max_tokens');
    expect(headerOf(refused, 'retry-after')).to.equal(undefined);
    expect(headerOf(refused, 'x-should-retry')).to.equal('false');
  });

  it('refuse everything at 0, and do not advise a shorter request', async () => {
    for (const measure of ['requests', 'tokens'] as const) {
      const refused = await all.ask(key([rule({ measure, value: 0 })]), { body });
      expect(refused.status).to.equal(429);
      expect(JSON.parse(refused.text).error.message).to.equal(
        `The API key "mine" may use 0 ${measure} per minute: raise the limit.`,
      );
    }
  });

  it('limit requests under way, whichever worker has them', async () => {
    const text = key([rule({ measure: 'concurrency', unit: null, value: 1 })]);
    const answered: (() => void)[] = [];
    all.answers = () => false;
    for (const worker of all.workers) {
      const { onAsked } = worker;
      worker.onAsked = (asked) => {
        onAsked(asked);
        answered.push(() => asked.handler.end());
      };
    }
    const [first, asked] = await all.workers[0]!.asking(text, { stream: false });
    const refused = await all.ask(text, { worker: 1 });
    expect(refused.status).to.equal(429);
    expect(JSON.parse(refused.text).error.message).to.include('1 request under way');
    asked.handler.head(200, ['content-type', 'application/json']);
    asked.handler.data(Buffer.from('{"choices":[]}'));
    asked.handler.end();
    await soon('the first is answered', () => first.ended);
    all.answers = () => true;
    // What the first worker may keep for its own next request, it gives back when another asks.
    expect((await all.ask(text, { worker: 1 })).status).to.equal(200);
  });

  it('let requests that follow each other through, whichever worker they come to', async () => {
    for (const value of [1, 2]) {
      const text = key([rule({ measure: 'concurrency', unit: null, value })]);
      for (let i = 0; i < 200; i++) {
        const asked = Array.from({ length: value }, (_, at) => all.ask(text, { worker: ((i + at) % 3) % 2 }));
        for (const { status } of await Promise.all(asked))
          expect(status, `round ${i} of ${value}`).to.equal(200);
      }
    }
  });

  it('of requests under way are free again before tokens are counted', async () => {
    const text = key([rule({ measure: 'concurrency', unit: null, value: 1 })]);
    let counting = 0;
    const counted: (() => void)[] = [];
    for (const worker of all.workers) {
      worker.countTokens = () => {
        counting++;
        return new Promise((resolve) => counted.push(() => resolve(null)));
      };
    }
    all.usage = undefined as never;
    for (const worker of [0, 1, 1, 0]) expect((await all.ask(text, { worker })).status).to.equal(200);
    expect(counting).to.equal(4);
    for (const end of counted) end();
    await soon(
      'they are settled',
      () => all.workers.reduce((sum, { settled }) => sum + settled.length, 0) >= 4,
    );
  });

  it('of a provider make the next target be asked, and settle to what each try used', async () => {
    const limited = { provider: 'openai', limits: [rule({ of: 'virtual_key', name: 'a', value: 1 })] };
    for (const worker of all.workers) worker.addProvider('a', limited);
    const config = JSON.stringify({
      strategy: { mode: 'fallback' },
      targets: [{ provider: '@a' }, { provider: '@p' }],
    });
    const text = key([]);
    expect((await all.ask(text, { config })).status).to.equal(200);
    expect((await all.ask(text, { config })).status).to.equal(200);
    const [first, second] = all.workers[0]!.settled;
    expect(first?.attempts.map(({ error }) => error)).to.deep.equal([null]);
    expect(second?.attempts.map(({ error }) => error)).to.deep.equal(['virtual_key_rate_limited', null]);
    const alone = await all.ask(text, { config: '{"provider":"@a"}' });
    expect(alone.status).to.equal(429);
    expect(JSON.parse(alone.text).error.type).to.equal('virtual_key_rate_limit_error');
  });

  it('of a policy count each value of its groups apart', async () => {
    policies(policy({ groupBy: ['metadata.team'], value: 1 }));
    const text = key([]);
    const as = (team: string) => ({ headers: ['x-gateway-metadata', JSON.stringify({ team })] });
    expect((await all.ask(text, as('a'))).status).to.equal(200);
    expect((await all.ask(text, as('b'))).status).to.equal(200);
    const refused = await all.ask(text, as('a'));
    expect(refused.status).to.equal(429);
    expect(JSON.parse(refused.text).error).to.include({
      code: 'rate_limits_policy_exceeded',
      type: 'rate_limits_policy_exhaust_error',
    });
    // No team: the policy is not about it.
    expect((await all.ask(text)).status).to.equal(200);
  });

  it('of a policy count values apart that look like those of two groups', async () => {
    policies(policy({ groupBy: ['metadata.team', 'metadata.user'], value: 1 }));
    const text = key([]);
    const as = (team: string, user: string) => ({
      headers: ['x-gateway-metadata', JSON.stringify({ team, user })],
    });
    const pairs: readonly [string, string][] = [
      ['a', 'b-metadata.user:c'],
      ['a-metadata.user:b', 'c'],
      ['a%2Dmetadata.user:b', 'c'],
      ['a-b', 'c'],
    ];
    for (const pair of pairs) expect((await all.ask(text, as(...pair))).status, pair[0]).to.equal(200);
    for (const pair of pairs) expect((await all.ask(text, as(...pair))).status, pair[0]).to.equal(429);
  });

  const cases: readonly [string, RatePolicy['conditions'], boolean][] = [
    ['a value', [{ key: 'endpoint_type', value: 'chatComplete' }], true],
    ['another value', [{ key: 'endpoint_type', value: 'embed' }], false],
    ['a list with the value', [{ key: 'endpoint_type', value: ['embed', 'chatComplete'] }], true],
    ['a value that is excluded', [{ key: 'endpoint_type', value: '*', excludes: 'chatComplete' }], false],
    ['an exclusion of another value', [{ key: 'endpoint_type', excludes: ['embed'] }], true],
    ['a key that the request does not have', [{ key: 'metadata.team', excludes: 'a' }], false],
    [
      'two conditions of which one fails',
      [
        { key: 'workspace_id', value: 'ws' },
        { key: 'config', value: 'x' },
      ],
      false,
    ],
    ['the model of the target', [{ key: 'model', value: '@p/gpt-4o-mini' }], true],
    ['every model of the target', [{ key: 'model', value: '@p/*' }], true],
    ['every model of another', [{ key: 'model', value: '@q/*' }], false],
    ['the provider', [{ key: 'provider', value: 'p' }], true],
    ['the provider as calls name it', [{ key: 'provider', value: '@p' }], true],
    ['another provider as calls name it', [{ key: 'provider', value: '@q' }], false],
    ['the provider, excluded as calls name it', [{ key: 'provider', excludes: ['@p'] }], false],
    ['the virtual key', [{ key: 'virtual_key', value: ['x', 'p'] }], true],
    ['the virtual key as calls name it', [{ key: 'virtual_key', value: ['x', '@p'] }], true],
  ];
  for (const [name, conditions, isAbout] of cases) {
    it(`of a policy hold for ${name}: ${isAbout ? 'yes' : 'no'}`, async () => {
      policies(policy({ conditions, value: 1 }));
      const text = key([]);
      await all.ask(text);
      expect((await all.ask(text)).status).to.equal(isAbout ? 429 : 200);
    });
  }

  it('act on a key that had none, as soon as it, its provider or a policy has one', async () => {
    const [worker] = all.workers;
    const sendTwice = async (text: string): Promise<number[]> => [
      (await all.ask(text)).status,
      (await all.ask(text)).status,
    ];
    const text = key([]);
    const other = key([], { keyId: 'other' });
    for (const _ of [1, 2, 3]) expect(await sendTwice(text)).to.deep.equal([200, 200]);

    policies(policy({ value: 1 }));
    worker!.report({ kind: 'policies', workspace: 'ws', name: '*' });
    expect(await sendTwice(text)).to.deep.equal([200, 429]);
    policies();
    worker!.report({ kind: 'policies', workspace: 'ws', name: '*' });
    expect(await sendTwice(text)).to.deep.equal([200, 200]);

    worker!.addProvider('p', { limits: [rule({ of: 'virtual_key', value: 1 })] });
    worker!.report({ kind: 'provider', workspace: 'ws', name: 'p' });
    expect(await sendTwice(text)).to.deep.equal([200, 429]);
    worker!.addProvider('p', {});
    worker!.report({ kind: 'provider', workspace: 'ws', name: 'p' });
    expect(await sendTwice(text)).to.deep.equal([200, 200]);

    const hash = worker!.hashOf(text);
    worker!.keys.set(hash, { ...worker!.keys.get(hash)!, limits: [rule({ value: 1 })] });
    worker!.forget(text);
    expect(await sendTwice(text)).to.deep.equal([200, 429]);
    expect(await sendTwice(other)).to.deep.equal([200, 200]);
  });

  it('refuse nothing in shadow mode, and record what they would have refused', async () => {
    const text = key([rule({ value: 0, shadow: true })]);
    expect((await all.ask(text)).status).to.equal(200);
    expect(all.workers[0]!.settled[0]?.stages).to.deep.equal({
      limits: { shadow: 'api_key mine requests rpm' },
    });
  });

  it('keep nothing for a client that leaves while its policies are looked up', async () => {
    const text = key([rule({ measure: 'concurrency', unit: null, value: 1 })]);
    const worker = all.workers[0]!;
    await all.ask(text);
    // A new workspace: the policies have to be looked up, and the client is gone before they are.
    const leaving = key([rule({ measure: 'concurrency', unit: null, value: 1 })], { workspaceId: 'new' });
    const client = worker.ask(leaving, { stream: false });
    await new Promise((turn) => setImmediate(turn));
    client.disconnect();
    await soon('it is settled', () => worker.settled.at(-1)?.status === 499);
    await new Promise((later) => setTimeout(later, 20));
    expect((await all.ask(text)).status).to.equal(200);
    expect((await all.ask(text)).status).to.equal(200);
  });

  it('never let more than allowed through, with many at a time by several workers', async () => {
    const text = key([rule({ value: 137 }), rule({ of: 'workspace', name: 'w', value: 500 })]);
    const clients = await Promise.all(
      Array.from({ length: 400 }, (_, i) => all.ask(text, { worker: i % 2 })),
    );
    const through = clients.filter(({ status }) => status === 200).length;
    expect({ through, sent: all.sent }).to.deep.equal({ through: 137, sent: 137 });
  });

  const many = (text: string, count: number, worker = 0) =>
    Promise.all(Array.from({ length: count }, () => all.ask(text, { worker })));

  it('refuse all who have waited for one answer by that answer', async () => {
    const text = key([rule({ value: 3 })]);
    const statuses = (await many(text, 300)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200).length).to.equal(3);
    expect(statuses.filter((status) => status === 429).length).to.equal(297);
    expect(all.questions).to.be.below(12);
  });

  it('refuse all who have waited for an answer that did not come, at once', async () => {
    const text = key([rule()]);
    all.isAnswering = false;
    const statuses = (await many(text, 50)).map(({ status }) => status);
    expect({ kinds: [...new Set(statuses)], questions: all.questions }).to.deep.equal({
      kinds: [503],
      questions: 1,
    });
    all.isAnswering = true;
    expect((await all.ask(text)).status).to.equal(200);
  });

  it('ask a worker that gives nothing back once, and not for each request that is refused', async () => {
    const text = key([rule({ value: 100, unit: 'rpd' })]);
    // The other worker is granted permits ahead, and then stops.
    for (let i = 0; i < 5; i++) await all.ask(text, { worker: 1 });
    all.stopped.add(1);
    await many(text, 100);
    await many(text, 100);
    const began = performance.now();
    for (let i = 0; i < 20; i++) expect((await all.ask(text)).status).to.equal(429);
    expectWithinMs(performance.now() - began, 500);
  });

  it('give back what a worker was granted that had ended by then', async () => {
    const text = key([rule({ measure: 'concurrency', unit: null, value: 1 })]);
    // This one keeps its permit for a moment, and is asked for it when the other needs one.
    await all.ask(text);
    all.stopped.add(0);
    const asking = all.workers[1]!.ask(text, { stream: false });
    await new Promise((later) => setTimeout(later, 10));
    all.stopped.add(1);
    all.gone(1);
    all.gone(0);
    await new Promise((later) => setTimeout(later, 100));
    asking.disconnect();
    expect((await all.ask(text, { worker: 2 })).status).to.equal(200);
  });
});
