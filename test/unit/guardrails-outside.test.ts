// lane: not quick
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { CheckPool } from '../../plugins/guardrails/pool/pool.js';
import { soon } from '../support/bare-worker.js';
import { type InjectedGateway, openInjected, type ProviderCall } from '../support/inject.js';
import { expectWithinMs } from '../support/time-limits.js';

const chunk = (content: string): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;
const events = [chunk('hello '), chunk('secret'), 'data: [DONE]\n\n'];
const completion = (content: string): string =>
  JSON.stringify({
    ...{ id: 'x', object: 'chat.completion' },
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  });

/** Never ends in JavaScript's engine, and is not in RE2's syntax. */
const endless = '(?=x)(x+x+)+y';
const long = 'x'.repeat(60);

describe('guardrails, as a client that means harm meets them', function () {
  this.timeout(60_000);
  let gateway: InjectedGateway;
  let answer = 'fine';

  before(async () => {
    gateway = await openInjected({
      providers: { p: { provider: 'openai' } },
      answer: ({ body }: ProviderCall) =>
        body.includes('"stream":true')
          ? { contentType: 'text/event-stream', body: events }
          : { body: completion(answer) },
    });
  });
  after(() => gateway.close());

  const ask = (config: object, content = 'hello', more: object = {}): Promise<Response> =>
    gateway.inject('/v1/chat/completions', {
      config: { provider: '@p', ...config },
      body: { model: 'gpt-4o-mini', messages: [{ role: 'user', content }], ...more },
    });
  /**
   * What guardrails write into the row of a request. The row waits only a limited time for checks that go on after the answer, and
   * on a busy machine some go on for long: that of one of several requests has them.
   */
  const rowOf = async (once: () => Promise<Response>): Promise<Record<string, unknown>> => {
    for (let round = 0; round < 10; round++) {
      const { headers } = await once();
      const row = () => gateway.settled.find(({ id }) => id === headers.get('x-gateway-request-id'));
      await soon('the row is there', () => row() !== undefined);
      const { stages } = row()!;
      if (stages !== null) return stages['guardrails'] as Record<string, unknown>;
    }
    return expect.fail('the guardrails are in none of ten rows');
  };

  it('end a stream at once where no frame follows, and have their verdict in its row', async () => {
    const guardrails = [
      { 'default.contains': { words: ['secret'], operator: 'none' }, deny: true },
      { 'default.regexMatch': { rule: endless }, deny: false },
    ];
    answer = long;
    const row = await rowOf(async () => {
      const from = performance.now();
      const response = await ask({ output_guardrails: guardrails }, 'hello', { stream: true });
      expect(await response.text()).to.equal(events.join(''));
      expectWithinMs(performance.now() - from, 200);
      return response;
    });
    expect(row['verdict']).to.equal(false);
    expect(row['failed']).to.contain('default.contains');
    // The client had its answer.
    expect(row).to.not.have.property('denied_by');
  });

  it('keep a stream open for a frame where the client wants one', async () => {
    const output = [{ 'default.contains': { words: ['secret'], operator: 'none' } }];
    const config = { output_guardrails: output, strict_open_ai_compliance: false };
    const frames = (await (await ask(config, 'hello', { stream: true })).text()).trim().split('\n\n');
    expect(frames.slice(0, 3).join('\n\n')).to.equal(events.join('').trim());
    expect(JSON.parse(frames[3]!.slice(6)).hook_results.after_request_hooks[0].verdict).to.equal(false);
  });

  it('have their results in a refusal that is answered softly', async () => {
    const input = [{ 'default.wordCount': { maxWords: 0 }, deny: true, soft_deny_200: true }];
    const config = { input_guardrails: input, strict_open_ai_compliance: false };
    const whole = (await (await ask(config)).json()) as { hook_results: object };
    expect(whole.hook_results).to.have.property('before_request_hooks');
    const stream = await (await ask(config, 'hello', { stream: true })).text();
    const [first = '', second = ''] = stream.split('\n\n');
    expect(JSON.parse(first.slice(6)).hook_results.before_request_hooks[0].verdict).to.equal(false);
    expect(second).to.contain('refused by a guardrail');
    expect(await (await ask({ input_guardrails: input })).json()).to.not.have.property('hook_results');
  });

  it('do not hold up a request beside which they run, and are in its row', async () => {
    const input = [{ 'default.regexMatch': { rule: '(?=h)hell', not: true }, deny: true, async: true }];
    const row = await rowOf(async () => {
      const from = performance.now();
      const response = await ask({ input_guardrails: input });
      expect(response.status).to.equal(200);
      expectWithinMs(performance.now() - from, 200);
      return response;
    });
    expect(row['failed']).to.contain('default.regexMatch');
  });

  it('refuse a text that would grow without end, and go on', async () => {
    for (const redactText of ["$'$`$&".repeat(100), 'x'.repeat(5000)]) {
      const rule = { 'default.regexReplace': { rule: 'a', redactText } };
      const text = 'a'.repeat(100_000);
      expect((await ask({ input_guardrails: [{ ...rule, deny: true }] }, text)).status).to.equal(446);
      const passed = await ask({ input_guardrails: [{ ...rule, deny: false }] }, text);
      expect(passed.status).to.equal(200);
    }
    expect((await ask({})).status).to.equal(200);
  });

  it('run 500 checks of a request at most', async () => {
    const checks = Array.from({ length: 50 }, () => ({
      id: 'default.wordCount',
      parameters: { maxWords: 5 },
    }));
    const guardrails = (count: number, deny: boolean): object[] =>
      Array.from({ length: count }, (_, i) => ({ id: `g${i}`, deny, checks }));
    expect((await ask({ input_guardrails: guardrails(10, true) })).status).to.equal(200);
    expect((await ask({ input_guardrails: guardrails(11, false) })).status).to.equal(200);
    const refused = await ask({ input_guardrails: guardrails(11, true) });
    expect(refused.status).to.equal(446);
    expect(await refused.text()).to.contain('at most 500 checks');
  });

  it('are refused with the config that has a wrong expression or schema', async () => {
    const findings = async (guardrail: object): Promise<string> => {
      const response = await ask({ input_guardrails: [guardrail] });
      expect(response.status).to.equal(400);
      return ((await response.json()) as { message: string }).message;
    };
    expect(await findings({ 'default.regexMatch': { rule: '(' } })).to.match(
      /input_guardrails\[0\]\["default\.regexMatch"\]\.rule: must be a regular expression/,
    );
    expect(await findings({ 'default.regexReplace': { rule: '/a/xx' } })).to.contain('flags');
    expect(await findings({ 'default.jsonSchema': { schema: { type: 'nothing' } } })).to.match(
      /\.schema: must be a JSON Schema of draft 7/,
    );
  });

  it('take a text with half a character as it is', async () => {
    const body = '{"model":"m","messages":[{"role":"user","content":"a\\ud800b"}]}';
    const config = {
      provider: '@p',
      input_guardrails: [{ 'default.regexReplace': { rule: 'b', redactText: 'c' } }],
    };
    expect((await gateway.inject('/v1/chat/completions', { config, body })).status).to.equal(200);
    expect(gateway.calls.at(-1)!.body).to.match(/"a(\\ud800|\ufffd)c"/);
  });
});

/** Milliseconds that the processor has worked for this thread. */
const worked = (): number =>
  Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ')[0]) / 1e6;

describe('a text of 20 MB', () => {
  it('is checked and changed in threads without holding up the event loop', async function () {
    if (process.platform !== 'linux') return this.skip();
    const pool = new CheckPool({
      ...{
        deadlineMs: 30_000,
        waitMs: 30_000,
        threads: 1,
        spareThreads: 0,
        heapMb: 512,
        maxQueue: 10,
        maxQueueBytes: 1e9,
      },
    });
    const text = 'a b c d e f '.repeat(1_666_667);
    Buffer.byteLength(text);
    let [longest, at, cpu] = [0, performance.now(), worked()];
    const timer = setInterval(() => {
      // A turn that took longer than the processor worked for it waited for the processor.
      longest = Math.max(longest, Math.min(performance.now() - at, worked() - cpu));
      [at, cpu] = [performance.now(), worked()];
    }, 1);
    for (const [id, parameters] of [
      ['default.regexMatch', { rule: '(x+x+)+y', not: false }],
      ['default.regexReplace', { rule: 'b c d e f a b c d e', redactText: '' }],
    ] as const) {
      let quickest = Number.POSITIVE_INFINITY;
      for (let round = 0; round < 3 && quickest > 20; round++) {
        longest = 0;
        const [result] = await pool.run('before', [text], [{ key: id, id, parameters }]);
        expect(result, id).to.not.be.a('string');
        await new Promise((resolve) => setTimeout(resolve, 5));
        quickest = Math.min(quickest, longest);
      }
      expectWithinMs(quickest, 20, { what: id });
    }
    clearInterval(timer);
    await pool.close();
  }).timeout(60_000);
});

describe('the deadline of checks', () => {
  it('ends one that never does, one that parses too much, and one of a long text, in time', async () => {
    const deadlineMs = 150;
    const pool = new CheckPool({
      ...{
        deadlineMs,
        waitMs: 10_000,
        threads: 1,
        spareThreads: 0,
        heapMb: 128,
        maxQueue: 10,
        maxQueueBytes: 1e9,
      },
    });
    const run = (id: string, parameters: object, text: string) =>
      pool.run(
        'after',
        [text],
        [{ key: `${id} ${text.length}`, id, parameters: { not: false, ...parameters } }],
      );
    const mail = 'a@example.org '.repeat(300_000);
    for (const [id, parameters, text] of [
      ['default.regexMatch', { rule: endless }, long],
      ['gateway.pii', { categories: ['EMAIL_ADDRESS'], redact: true }, mail],
    ] as const) {
      // The thread that the one before has ended starts again.
      await run('default.regexMatch', { rule: '(?=a)a' }, 'a');
      const from = performance.now();
      const [result] = await run(id, parameters, text);
      expect(result, id).to.equal('timeout');
      // A text of 4 MB is sent in 16 turns of the event loop before that.
      expectWithinMs(performance.now() - from, deadlineMs + 50 + (text === mail ? 150 : 0), { what: id });
    }
    const [tooLong] = await run(
      'default.jsonKeys',
      { keys: ['a'], operator: 'any' },
      `[${'{},'.repeat(2e6)}1]`,
    );
    expect(tooLong).to.have.nested.property('result.error.name', 'CheckNotRun');
    await pool.close();
  }).timeout(60_000);
});
