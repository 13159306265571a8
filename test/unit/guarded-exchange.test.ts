import { expect } from 'chai';
import { GuardedExchange, type GuardParts } from '../../plugins/guardrails/guarded.js';
import type { ExchangeGuardrails } from '../../plugins/guardrails/resolve.js';
import { HookOutcome } from '../../plugins/guardrails/run/outcome.js';
import { Subject } from '../../plugins/guardrails/run/subject.js';
import type { Exchange } from '../../src/common/core/exchange.js';
import type { GuardrailRules } from '../../src/common/core/guardrail.js';
import type { Target } from '../../src/common/core/target.js';

describe('an exchange with guardrails whose targets are called at the same time', () => {
  it('names the guardrail that refused what the client gets, not the last that refused a target', async () => {
    const guardrail = (id: string): GuardrailRules =>
      ({ id, versionId: id, deny: true, async: false, rules: [], onSuccess: null, onFail: null }) as never;
    const [one, two] = [guardrail('one'), guardrail('two')];
    const target = (): Target => ({ defaultParams: null, overrideParams: null, mirror: null }) as never;
    const [first, second, third] = [target(), target(), target()];
    const before = new Map([
      [first, [one]],
      [second, [two]],
      [third, []],
    ]);
    const guardrails = {
      all: (phase: string) => (phase === 'before' ? [one, two] : []),
      of: (of: Target) => ({ before: before.get(of)!, after: [] }),
      targets: [first, second, third],
    };
    const denied: string[] = [];
    const unrun = { result: { verdict: false }, ran: true, ms: 0 };
    const parts = {
      runner: {
        run: (_x: Exchange, all: readonly GuardrailRules[]) =>
          all.map(
            (rules) =>
              new HookOutcome({ ...rules, rules: [{ check: 'c', parameters: {} }] }, 'before', [unrun], 0),
          ),
      },
      recorder: { record() {}, denied: (_x: Exchange, { id }: HookOutcome) => denied.push(id) },
    };
    const guarded = new GuardedExchange(
      parts as unknown as GuardParts,
      guardrails as unknown as ExchangeGuardrails,
    );
    const x = { endpoint: { format: 'openai-chat' }, target: first, answeredBy: null } as unknown as Exchange;
    const noTexts = { judged: [], others: [] };
    const subject = new Subject(
      'before',
      () => ({}) as never,
      {},
      null,
      () => noTexts,
      noTexts,
    );
    expect(await guarded.request(x, subject)).to.equal(undefined);
    guarded.attach(x);
    const [ofFirst, ofSecond] = [guarded.refusal(first)!, guarded.refusal(second)!];
    expect(ofFirst.status).to.equal(446);
    guarded.reply(x, { ...ofFirst });
    guarded.reply(x, { ...ofSecond });
    expect(denied).to.deep.equal(['one', 'two']);
  });
});
