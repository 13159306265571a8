import { expect } from 'chai';
import { type BudgetPolicy, type BudgetRule, budgetName } from '../../src/common/core/budget-rules.js';
import { noUsage } from '../../src/common/core/usage.js';
import { soon } from '../support/bare-worker.js';
import { eventually } from '../support/gateway.js';
import { headerOf, LimitedWorkers } from '../support/limited-workers.js';

const since = Date.UTC(2026, 0, 1);

const rule = ({ of = 'api_key', measure = 'tokens', ...more }: Partial<BudgetRule> = {}): BudgetRule => ({
  budget: budgetName('org', of, '1', measure),
  of,
  name: 'mine',
  measure,
  limit: 100,
  threshold: null,
  shadow: false,
  since,
  nextResetAt: null,
  periodicReset: null,
  periodicResetDays: null,
  ...more,
});

const policy = (more: Partial<BudgetPolicy> = {}): BudgetPolicy => ({
  id: 'policy',
  organisationId: 'org',
  name: null,
  conditions: [{ key: 'workspace_id', value: '*' }],
  groupBy: ['metadata.team'],
  measure: 'requests',
  limit: 1,
  threshold: null,
  shadow: false,
  since,
  nextResetAt: null,
  periodicReset: null,
  periodicResetDays: null,
  ...more,
});

const messages = [{ role: 'user', content: 'Hello' }];
/** About 30 tokens are held back for its question. */
const body = { model: 'gpt-4o-mini', max_tokens: 20, messages };

describe('budgets', () => {
  let all: LimitedWorkers;

  beforeEach(async () => {
    all = await LimitedWorkers.start(2);
  });
  afterEach(() => all.close());

  /** A key that both workers know. */
  const key = (budgets: BudgetRule[], more: object = {}): string => {
    const text = all.workers[0]!.key({ ...(budgets.length > 0 && { budgets }), ...more });
    for (const worker of all.workers)
      worker.keys.set(worker.hashOf(text), all.workers[0]!.keys.get(worker.hashOf(text))!);
    return text;
  };
  const policies = (...budgets: BudgetPolicy[]): void => {
    for (const worker of all.workers) worker.policies.set('ws', { rates: [], budgets });
  };
  const errorOf = ({ text }: { readonly text: string }) => JSON.parse(text).error;
  const usedOf = async ({ budget }: BudgetRule): Promise<number | undefined> => {
    const [row] = await all.ledger.budgets.usage('org', [{ budget, startsAt: since }]);
    return row?.used;
  };

  it('let requests through over all workers until they are used up, and name what refuses', async () => {
    const text = key([rule({ limit: 100 })]);
    const statuses: number[] = [];
    for (const worker of [0, 1, 0]) statuses.push((await all.ask(text, { worker, body })).status);
    expect(statuses).to.deep.equal([200, 200, 412]);
    expect(all.sent).to.equal(2);
    const refused = await all.ask(text, { body });
    const error = errorOf(refused);
    expect(error).to.deep.include({ code: '04', type: 'api_key_exhaust_error' });
    expect(error.message).to.match(
      /^The API key "mine" may use 100 tokens; 40 tokens are left, and this request may use 49 tokens: lower max_tokens/,
    );
    expect(error.limit).to.deep.equal({
      on: 'api_key',
      name: 'mine',
      type: 'tokens',
      value: 100,
      used: 60,
      remaining: 40,
      starts_at: '2026-01-01T00:00:00.000Z',
      resets_at: null,
      retry_after_ms: null,
    });
    expect(headerOf(refused, 'retry-after')).to.equal(undefined);
    expect(all.workers[0]!.settled.at(-1)).to.deep.include({ status: 412, error: '04', charges: null });
  });

  it('name the time when usage starts again', async () => {
    const nextResetAt = Date.now() + 3_600_000;
    const text = key([rule({ measure: 'requests', limit: 1, nextResetAt, periodicReset: 'weekly' })]);
    await all.ask(text);
    const refused = await all.ask(text);
    expect(errorOf(refused).message).to.match(
      /used up: raise the budget or reset its usage\. Usage starts again/,
    );
    expect(errorOf(refused).limit.resets_at).to.equal(new Date(nextResetAt).toISOString());
    expect(Number(headerOf(refused, 'retry-after'))).to.be.within(3598, 3600);
  });

  it('begin again with each period, without a reset by hand', async () => {
    const now = Date.now();
    const over = rule({ measure: 'requests', limit: 1, nextResetAt: now + 400, periodicResetDays: 1 });
    const text = key([over]);
    expect((await all.ask(text)).status).to.equal(200);
    expect((await all.ask(text)).status).to.equal(412);
    await soon('the next period has begun', () => Date.now() > now + 400);
    expect((await all.ask(text)).status).to.equal(200);
    expect((await all.ask(text)).status).to.equal(412);
    await all.ingest();
    const sums = [since, now + 400].map((startsAt) => ({ budget: over.budget, startsAt }));
    const used = (await all.ledger.budgets.usage('org', sums)).map((row) => row.used);
    expect(used).to.deep.equal([1, 1]);
  });

  it('have their own error types for each that they are set on', async () => {
    const types: string[] = [];
    for (const of of ['workspace', 'virtual_key', 'integration'] as const) {
      const none = rule({ of, measure: 'requests', limit: 0 });
      const slug = `p-${of}`;
      all.workers[0]!.addProvider(slug, of === 'workspace' ? {} : { budgets: [none] });
      const text = key(of === 'workspace' ? [none] : []);
      const refused = await all.ask(text, { config: `{"provider":"@${slug}"}` });
      expect([refused.status, errorOf(refused).code]).to.deep.equal([412, '04']);
      types.push(errorOf(refused).type);
    }
    expect(types).to.deep.equal([
      'workspace_exhaust_error',
      'virtual_key_exhaust_error',
      'integration_exhaust_error',
    ]);
  });

  it('count cost in nanodollars: held back at the highest price, settled to what was used', async () => {
    const cost = rule({ measure: 'cost', limit: 1_000_000 });
    const text = key([cost]);
    expect((await all.ask(text, { body })).status).to.equal(200);
    const { charges } = all.workers[0]!.settled.at(-1)!;
    // 10 tokens at 0.15 and 20 at 0.60 dollars a million.
    expect(charges).to.deep.equal([[cost.budget, since, null, 1_000_000, null, 13_500]]);
    await all.ingest();
    expect(await usedOf(cost)).to.equal(13_500);
    const large = { ...body, max_tokens: 2000 };
    const { error } = JSON.parse((await all.ask(text, { body: large })).text);
    expect(error.message).to.match(
      /may use \$0\.001; \$0\.000986 are left, and this request may use \$0\.0012/,
    );
  });

  it('admit requests without max_tokens while anything is left, and count all that they use', async () => {
    const text = key([rule({ limit: 31 })]);
    const open = { model: 'gpt-4o-mini', messages };
    expect((await all.ask(text, { body: open })).status).to.equal(200);
    expect((await all.ask(text, { body: open })).status).to.equal(200);
    const refused = await all.ask(text, { body: open });
    expect([refused.status, errorOf(refused).limit.used]).to.deep.equal([412, 60]);
  });

  it('let no request through by what was granted ahead, once others have used more than was held back for them', async () => {
    const text = key([rule({ limit: 1_000_000 })]);
    all.usage = { prompt_tokens: 250_000, completion_tokens: 0, total_tokens: 250_000 };
    const statuses: number[] = [];
    for (let i = 0; i < 6; i++) statuses.push((await all.ask(text, { body })).status);
    expect(statuses).to.deep.equal([200, 200, 200, 200, 412, 412]);
  });

  it('of a target are a failure of that target: the next one is asked', async () => {
    const none = rule({ of: 'virtual_key', limit: 10 });
    all.workers[0]!.addProvider('poor', { budgets: [none] });
    all.workers[0]!.addProvider('rich', {});
    const config = JSON.stringify({
      strategy: { mode: 'fallback', on_status_codes: [412] },
      targets: [{ provider: '@poor' }, { provider: '@rich' }],
    });
    const text = key([rule({ limit: 60 })]);
    expect((await all.ask(text, { body, config })).status).to.equal(200);
    const [row] = all.workers[0]!.settled;
    expect(row!.attempts.map(({ error }) => error)).to.deep.equal(['04', null]);
    expect(row!.charges?.map(([budget, , , , , amount]) => [budget, amount])).to.deep.equal([
      ['org/api_key/1/tokens', 30],
    ]);
  });

  it('take back what a failed try was held back for, before the next one', async () => {
    const text = key([rule({ limit: 60 })]);
    all.workers[0]!.addProvider('rich', {});
    all.answers = () => (all.sent === 1 ? 500 : true);
    const config = JSON.stringify({
      strategy: { mode: 'fallback' },
      targets: [{ provider: '@rich' }, { provider: '@rich' }],
    });
    expect((await all.ask(text, { body, config })).status).to.equal(200);
    expect(all.sent).to.equal(2);
    expect(all.workers[0]!.settled.at(-1)!.charges?.[0]?.[5]).to.equal(30);
  });

  it('of requests count each try that a provider got, whether another one followed it or not', async () => {
    const text = key([]);
    const budget = rule({ of: 'virtual_key', measure: 'requests', limit: 3 });
    all.workers[0]!.addProvider('counted', { budgets: [budget] });
    all.answers = () => (all.sent === 1 ? 500 : true);
    const config = JSON.stringify({
      strategy: { mode: 'fallback' },
      targets: [{ provider: '@counted' }, { provider: '@counted' }],
    });
    const statuses: number[] = [];
    for (let i = 0; i < 3; i++) statuses.push((await all.ask(text, { body, config })).status);
    expect([statuses, all.sent]).to.deep.equal([[200, 200, 412], 3]);
    expect(all.workers[0]!.settled[0]!.charges?.[0]?.[5]).to.equal(2);
  });

  describe('charged once for each call', () => {
    const hedge = { min_delay: 5, max_extra: 1 };
    const chargesOf = (at: number) => all.workers[0]!.settled[at]!.charges?.map(([, , , , , used]) => used);

    beforeEach(() => {
      for (const slug of ['one', 'two', 'three']) all.workers[0]!.addProvider(slug, {});
      const counted = { ...noUsage(), input: 10, source: 'counted' as const };
      for (const { pipeline } of all.workers) Object.assign(pipeline.counter, { count: async () => counted });
    });

    it('that was hedged: the loser by its prompt and the longest answer that it allows', async () => {
      all.answers = () => all.sent > 1;
      const targets = [{ provider: '@one' }, { provider: '@two' }];
      const config = JSON.stringify({ strategy: { mode: 'fallback', hedge }, targets });
      const text = key([rule({ limit: 1000 })]);
      expect((await all.ask(text, { body, config })).status).to.equal(200);
      expect([all.sent, chargesOf(0)]).to.deep.equal([2, [60]]);
      await all.ingest();
      expect(await usedOf(rule())).to.equal(60);
    });

    it('that was hedged, and whose answer a fallback gave up', async () => {
      all.answers = () => all.sent > 1;
      const hedged = {
        strategy: { mode: 'fallback', hedge },
        targets: [{ provider: '@one' }, { provider: '@two' }],
      };
      const strategy = { mode: 'fallback', on_status_codes: [200] };
      const targets = [hedged, { provider: '@three' }];
      const text = key([rule({ limit: 1000 })]);
      await all.ask(text, { body, config: JSON.stringify({ strategy, targets }) });
      expect([all.sent, chargesOf(0)]).to.deep.equal([3, [90]]);
    });

    it('that was retried after an answer', async () => {
      const config = JSON.stringify({ provider: '@one', retry: { attempts: 1, on_status_codes: [200] } });
      const text = key([rule({ limit: 1000 })]);
      await all.ask(text, { body, config });
      expect([all.sent, chargesOf(0)]).to.deep.equal([2, [60]]);
    });

    it('that was mirrored: the copy by itself', async () => {
      const config = JSON.stringify({ provider: '@one', mirror: { share: 1, target: { provider: '@two' } } });
      const text = key([rule({ limit: 1000 })]);
      await all.ask(text, { body, config });
      const { settled } = all.workers[0]!;
      await soon('both have ended', () => settled.length === 2);
      expect([chargesOf(0), chargesOf(1)]).to.deep.equal([[30], [30]]);
    });

    it('that its client left, before an answer and in the middle of a stream', async () => {
      const [worker] = all.workers;
      all.answers = () => false;
      const text = key([rule({ limit: 1000 })]);
      const [early] = await worker!.asking(text, { body });
      early.disconnect();
      await soon('the first has ended', () => worker!.settled.length === 1);
      const [late] = await worker!.streaming(text);
      late.disconnect();
      await soon('the second has ended', () => worker!.settled.length === 2);
      // The first is counted with the longest answer that it allows: how much of it the provider made is not known.
      expect([chargesOf(0), chargesOf(1)]).to.deep.equal([[30], [10]]);
      await all.ingest();
      expect(await usedOf(rule())).to.equal(40);
    });
  });

  it('of policies count each group by itself, and only requests that have it', async () => {
    policies(policy());
    const text = key([]);
    const of = async (team?: string): Promise<number> => {
      const headers = team === undefined ? [] : ['x-gateway-metadata', JSON.stringify({ team })];
      return (await all.ask(text, { headers })).status;
    };
    expect([await of('a'), await of('a'), await of('b'), await of(), await of()]).to.deep.equal([
      200, 412, 200, 200, 200,
    ]);
    const headers = ['x-gateway-metadata', '{"team":"a"}'];
    const refused = await all.ask(text, { headers });
    expect(errorOf(refused)).to.deep.include({ code: '06', type: 'usage_limits_policy_exhaust_error' });
    expect(errorOf(refused).limit).to.include({
      on: 'usage_limits_policy',
      name: 'policy',
      used: 1,
      value_key: 'metadata.team:a',
    });
  });

  it('of a workspace with metadata count only requests with it', async () => {
    const text = key([rule({ of: 'workspace', measure: 'requests', limit: 0, metadata: { team: 'a' } })]);
    const of = async (metadata: object): Promise<number> =>
      (await all.ask(text, { headers: ['x-gateway-metadata', JSON.stringify(metadata)] })).status;
    expect([await of({ team: 'a', user: 'x' }), await of({ team: 'b' }), await of({})]).to.deep.equal([
      412, 200, 200,
    ]);
  });

  it('in shadow mode refuse nothing, and are counted', async () => {
    const shadow = rule({ limit: 10, shadow: true });
    const text = key([shadow]);
    expect((await all.ask(text, { body })).status).to.equal(200);
    expect(all.workers[0]!.settled[0]!.stages).to.deep.equal({ limits: { shadow: 'api_key mine tokens' } });
    await all.ingest();
    expect(await usedOf(shadow)).to.equal(30);
  });

  it('go on once the limit is raised, or the usage is reset', async () => {
    const text = key([rule({ measure: 'requests', limit: 1 })]);
    await all.ask(text);
    expect((await all.ask(text)).status).to.equal(412);
    const raised = key([rule({ measure: 'requests', limit: 2 })]);
    expect((await all.ask(raised)).status).to.equal(200);
    expect((await all.ask(raised)).status).to.equal(412);
    await all.ingest();
    const counter = { budget: budgetName('org', 'api_key', '1', 'requests'), startsAt: since };
    await all.ledger.budgets.reset('org', counter, Date.now());
    await eventually('the counters have heard of it', async () => (await all.ask(raised)).status === 200);
    expect((await all.ask(raised)).status).to.equal(200);
    expect((await all.ask(raised)).status).to.equal(412);
  });

  it('let no requests of many at a time use more than they have', async () => {
    const text = key([rule({ limit: 1000 })]);
    const asked = Array.from({ length: 60 }, (_, i) => all.ask(text, { worker: i % 2, body }));
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    const passed = statuses.filter((status) => status === 200).length;
    expect(new Set(statuses)).to.deep.equal(new Set([200, 412]));
    expect(passed * 30).to.be.at.most(1000);
    expect(all.sent).to.equal(passed);
    await all.ingest();
    expect(await usedOf(rule())).to.equal(passed * 30);
  });

  it('let batches and files be read when nothing is left', async () => {
    const text = key([rule({ measure: 'requests', limit: 0 })]);
    const read = await all.ask(text, {
      method: 'GET',
      path: '/v1/batches/b',
      config: '{"provider":"@openai"}',
    });
    expect(read.status).to.equal(200);
    const made = await all.ask(text, { path: '/v1/batches', body: {}, config: '{"provider":"@openai"}' });
    expect(made.status).to.equal(412);
  });
});
