import { expect } from 'chai';
import type { Check, CheckParameters, CheckResult, RemoteContext } from '../../plugins/guardrails/check.js';
import { checks } from '../../plugins/guardrails/checks/index.js';
import { CheckPool } from '../../plugins/guardrails/pool/pool.js';
import type { HookOutcome } from '../../plugins/guardrails/run/outcome.js';
import { GuardrailRunner } from '../../plugins/guardrails/run/runner.js';
import { Subject } from '../../plugins/guardrails/run/subject.js';
import { requestTexts } from '../../plugins/guardrails/texts/request-parts.js';
import { Secret } from '../../src/common/access/secret.js';
import type { Exchange, JsonObject } from '../../src/common/core/exchange.js';
import type { GuardrailRules } from '../../src/common/core/guardrail.js';
import { PluginCheckTable } from '../../src/common/guardrails/plugin-check.js';

const fails = new Error('broken');
const seen: string[] = [];
const replacing = (from: string, to: string) => ({
  runs: 'text' as const,
  nanoseconds: (length: number) => length,
  transforms: true as const,
  run: ({ texts }: { readonly texts: readonly string[] }): CheckResult => ({
    verdict: true,
    transformed: texts.map((text) => text.replaceAll(from, to)),
  }),
});
const made: Record<string, Omit<Check, 'id'>> = {
  yes: { runs: 'request', run: () => ({ verdict: true, data: 1 }) },
  no: { runs: 'request', run: () => ({ verdict: false }) },
  throws: {
    runs: 'text',
    nanoseconds: () => 0,
    run: () => {
      throw fails;
    },
  },
  rejects: { runs: 'remote', run: () => Promise.reject(fails) },
  hangs: { runs: 'remote', run: () => new Promise(() => {}) },
  slow: {
    runs: 'remote',
    run: async (_context: RemoteContext, { name }: CheckParameters) => {
      seen.push(`${name} begins`);
      await new Promise((resolve) => setTimeout(resolve, 5));
      seen.push(`${name} ends`);
      return { verdict: true };
    },
  },
  ab: replacing('a', 'b'),
  bc: replacing('b', 'c'),
  sees: {
    runs: 'text',
    nanoseconds: () => 0,
    run: ({ text }: { readonly text: string }) => ({ verdict: text === 'c', data: text }),
  },
  late: {
    runs: 'text',
    run: () => ({ verdict: true }),
  },
  partner: {
    ...{
      runs: 'remote',
      partner: 'lasso',
      needsCredentials: true,
      transforms: true,
      transformsIf: ['redact'],
    },
    run: async ({ texts, partner }: RemoteContext) => {
      seen.push(`${texts.join()} with ${partner?.['apiKey']?.reveal()}`);
      return { verdict: true };
    },
  },
  failsEarlier: {
    ...{ runs: 'remote', transforms: true },
    run: async ({ texts }: RemoteContext) => {
      if (texts.includes('first')) throw fails;
      return { verdict: true };
    },
  },
  judgedOnly: {
    ...{ runs: 'remote', transforms: true, judgedOnly: true },
    run: async ({ texts }: RemoteContext) => {
      seen.push(texts.join());
      return { verdict: true };
    },
  },
} as unknown as Record<string, Omit<Check, 'id'>>;
const known = new Map(Object.entries(made).map(([id, check]) => [id, { ...check, id } as Check]));

const guardrail = (
  checks: readonly (string | readonly [string, CheckParameters])[],
  more: Partial<GuardrailRules> = {},
): GuardrailRules => ({
  ...{ id: 'g', versionId: 'v', type: 'guardrail', deny: false, async: false, sequential: false },
  ...{
    softDeny: false,
    incremental: false,
    onSuccess: null,
    onFail: null,
    passthroughPaths: [],
    passthroughAllowed: false,
  },
  ...more,
  rules: checks.map((one) =>
    typeof one === 'string' ? { check: one, parameters: {} } : { check: one[0], parameters: one[1] },
  ),
});

const principal = { workspaceId: 'w', organisationId: 'o' };
const exchange = { onAbort: () => () => {}, principal } as unknown as Exchange;

describe('a run of guardrails', () => {
  const pool = new CheckPool({
    ...{ deadlineMs: 1000, waitMs: 1000, threads: 1, spareThreads: 0, heapMb: 64 },
    ...{ maxQueue: 0, maxQueueBytes: 0 },
  });
  /** Plugins of the workspace, by partner. */
  let plugin: () => object | null = () => null;
  const partner = (scope: string, name: string) => (`${scope} ${name}` === 'w lasso' ? plugin() : null);
  const runner = new GuardrailRunner(
    { directory: { partner }, pluginChecks: new PluginCheckTable() } as never,
    pool,
    known,
  );
  after(() => pool.close());

  const subjectOf = (...texts: string[]): Subject => {
    const json: JsonObject = { messages: texts.map((content) => ({ role: 'user', content })), n: 1 };
    const read = (one: JsonObject) => requestTexts('openai-chat', one)!;
    return new Subject('before', () => ({ headers: () => [] }) as never, json, null, read, read(json));
  };
  const run = async (one: GuardrailRules, subject = subjectOf('text')): Promise<HookOutcome> =>
    (await runner.run(exchange, [one], subject))[0]!;

  it('passes where all checks do', async () => {
    expect((await run(guardrail(['yes', 'yes']))).verdict).to.equal(true);
    const { verdict, checks } = await run(guardrail(['yes', 'no']));
    expect([verdict, ...checks.map((check) => check.verdict)]).to.deep.equal([false, true, false]);
    expect(checks[0]?.data).to.equal(1);
  });

  it('counts a check with an error as passed, unless it has failOnError', async () => {
    for (const id of ['throws', 'rejects']) {
      const passed = await run(guardrail([id], { deny: true }));
      expect(passed.verdict, id).to.equal(true);
      expect(passed.checks[0]?.error, id).to.deep.equal({ name: 'Error', message: 'broken' });
      expect((await run(guardrail([[id, { failOnError: true }]]))).verdict, id).to.equal(false);
    }
  });

  it('counts a check that could not run as its guardrail has it in deny', async () => {
    // There is no room in the queue, and no check of the other name.
    for (const id of ['late', 'unknown']) {
      for (const deny of [true, false]) {
        const { verdict, checks } = await run(guardrail([id], { deny }));
        expect(verdict, id).to.equal(!deny);
        expect(checks[0]?.error?.name).to.equal('CheckNotRun');
      }
    }
    expect(runner.errors.get('queue_full')).to.equal(2);
  });

  it('gives a check of a partner the credentials of its organisation, and runs none without them', async () => {
    seen.length = 0;
    for (const failing of [() => null, () => Promise.reject(new Error('The store is away.'))]) {
      plugin = failing;
      for (const deny of [true, false])
        expect((await run(guardrail(['partner'], { deny }))).verdict).to.equal(!deny);
    }
    expect(seen).to.deep.equal([]);
    plugin = () => ({ apiKey: new Secret('key') });
    expect((await run(guardrail(['partner'], { deny: true }))).verdict).to.equal(true);
    expect(seen).to.deep.equal(['text with key']);
  });

  it('asks a partner about earlier messages only where these may be changed', async () => {
    plugin = () => ({ apiKey: new Secret('key') });
    const asked = async (check: string, parameters: CheckParameters): Promise<string[]> => {
      seen.length = 0;
      await run(guardrail([[check, parameters]]), subjectOf('first', 'last'));
      return [...seen];
    };
    expect(await asked('partner', {})).to.deep.equal(['last with key']);
    expect(await asked('partner', { redact: true })).to.deep.equal(['last with key', 'first with key']);
    expect(await asked('judgedOnly', {})).to.deep.equal(['last']);
  });

  it('counts an error of a service over earlier messages like one over the last', async () => {
    for (const failOnError of [false, true]) {
      const one = guardrail([['failsEarlier', { failOnError }]], { deny: true });
      const { verdict, checks } = await run(one, subjectOf('first', 'last'));
      expect([verdict, checks[0]?.error?.message]).to.deep.equal([!failOnError, 'broken']);
    }
  });

  it('asks a webhook once, however many messages there are', () => {
    for (const id of ['default.webhook', 'default.inlineImage'])
      expect(checks.get(id), id).to.include({ transforms: true, judgedOnly: true });
  });

  it('gives a check with a wrong expression its error', async () => {
    const real = new GuardrailRunner({ pluginChecks: new PluginCheckTable() } as never, pool);
    const one = guardrail([['default.regexMatch', { rule: '(', not: false }]]);
    const [outcome] = await real.run(exchange, [one], subjectOf('text'));
    expect(outcome!.verdict).to.equal(true);
    expect(outcome!.checks[0]?.error?.name).to.equal('SyntaxError');
  });

  it('does not wait for a service beyond the timeout of its check', async () => {
    const { checks } = await run(guardrail([['hangs', { timeout: 20 }]]));
    expect(checks[0]?.error).to.deep.equal({ name: 'TimeoutError', message: 'No answer within 20 ms.' });
  });

  it('asks services at the same time, or one after another', async () => {
    const checks = ['1', '2'].map((name) => ['slow', { name }] as const);
    seen.length = 0;
    await run(guardrail(checks));
    expect(seen).to.deep.equal(['1 begins', '2 begins', '1 ends', '2 ends']);
    seen.length = 0;
    await run(guardrail(checks, { sequential: true }));
    expect(seen).to.deep.equal(['1 begins', '1 ends', '2 begins', '2 ends']);
  });

  it('changes texts first, in order, and judges what they have become', async () => {
    const subject = subjectOf('earlier a', 'a');
    const { verdict, transformed, checks } = await run(guardrail(['sees', 'ab', 'bc']), subject);
    expect({ verdict, transformed }).to.deep.equal({ verdict: true, transformed: true });
    expect(checks.map((check) => check.transformed)).to.deep.equal([false, true, true]);
    expect(subject.body).to.deep.equal({
      messages: [
        { role: 'user', content: 'ecrlier c' },
        { role: 'user', content: 'c' },
      ],
      n: 1,
    });
    const inOrder = await run(guardrail(['ab', 'sees', 'bc'], { sequential: true }), subjectOf('a'));
    expect(inOrder.checks[1]).to.include({ verdict: false, data: 'b' });
  });

  it('leaves the body alone where nothing is changed', async () => {
    const subject = subjectOf('text');
    const body = subject.body;
    await run(guardrail(['ab']), subject);
    expect(subject.isChanged).to.equal(false);
    expect(subject.body).to.equal(body);
  });

  it('gives the feedback of its verdict, with the names of checks', async () => {
    const feedback = (value: number) => ({ value, weight: 0.5, metadata: '' });
    const one = { onSuccess: feedback(5), onFail: feedback(-5) };
    expect((await run(guardrail(['yes'], one))).feedback).to.include({ value: 5, weight: 0.5 });
    expect((await run(guardrail(['yes', 'no', 'throws'], one))).feedback).to.deep.equal({
      ...{ value: -5, weight: 0.5 },
      metadata: { successfulChecks: 'yes', failedChecks: 'no', erroredChecks: 'throws' },
    });
  });
});
