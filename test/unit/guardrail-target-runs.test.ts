import { expect } from 'chai';
import type { HookOutcome } from '../../plugins/guardrails/run/outcome.js';
import { Subject } from '../../plugins/guardrails/run/subject.js';
import { judgeTargetBodies } from '../../plugins/guardrails/run/target-runs.js';
import { requestTexts } from '../../plugins/guardrails/texts/request-parts.js';
import type { Exchange, JsonObject } from '../../src/common/core/exchange.js';
import type { GuardrailRules } from '../../src/common/core/guardrail.js';
import type { Target } from '../../src/common/core/target.js';

describe('guardrails of bodies that targets send in place of the client’s', () => {
  const json: JsonObject = { messages: [{ role: 'user', content: 'text' }] };
  const read = (one: JsonObject) => requestTexts('openai-chat', one)!;
  const x = { modelAsked: 'm', endpoint: {} } as unknown as Exchange;
  const subject = new Subject('before', () => ({ headers: () => [] }) as never, json, null, read, read(json));
  const targets = ['a', 'b', 'c', 'd'].map(
    (model) => ({ defaultParams: null, overrideParams: { model }, mirror: null }) as unknown as Target,
  );
  const guardrails = (rules: number): readonly GuardrailRules[] => [
    {
      id: 'g',
      rules: Array.from({ length: rules }, () => ({ check: 'default.webhook', parameters: {} })),
    } as unknown as GuardrailRules,
  ];

  /** Runs that wait for one another; what is refused is the model `refused`. */
  function runner(refused: string) {
    const lists: (readonly GuardrailRules[])[] = [];
    let [running, most] = [0, 0];
    const run = async (_x: Exchange, list: readonly GuardrailRules[], { body }: Subject) => {
      lists.push(list);
      most = Math.max(most, ++running);
      // The first one takes longest.
      await new Promise((resolve) => setTimeout(resolve, 20 - 4 * lists.length));
      running--;
      return [{ verdict: body!['model'] !== refused } as HookOutcome];
    };
    return { run, lists, most: () => most };
  }

  it('judge them at the same time, and know whose did not pass', async () => {
    const [all, asked] = [guardrails(1), runner('b')];
    const failed = await judgeTargetBodies(asked, x, all, targets, subject)!;
    expect(asked.most()).to.equal(4);
    expect([...failed.keys()]).to.deep.equal([targets[1]]);
    expect(failed.get(targets[1]!)!.get(all[0]!)).to.deep.equal({ verdict: false });
  });

  it('judge as many at a time as have 500 checks together, but one', async () => {
    for (const [rules, most] of [
      [250, 2],
      [167, 2],
      [600, 1],
    ] as const) {
      const asked = runner('d');
      const failed = await judgeTargetBodies(asked, x, guardrails(rules), targets, subject)!;
      expect(asked.most(), `${rules}`).to.equal(most);
      expect(asked.lists).to.have.length(4);
      expect([...failed.keys()]).to.deep.equal([targets[3]]);
    }
  });

  it('are one list for all bodies with the same texts, in all requests', async () => {
    const [all, asked] = [guardrails(1), runner('e')];
    await judgeTargetBodies(asked, x, all, targets, subject);
    await judgeTargetBodies(asked, x, all, targets, subject);
    expect(new Set(asked.lists).size).to.equal(1);
    expect(asked.lists[0]).to.not.equal(all);
  });
});
