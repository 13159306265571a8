import { expect } from 'chai';
import type { Limit } from '../../plugins/limits/permits.js';
import { type Held, isForNothing, nanosOf, usedOf, usedTokens } from '../../plugins/limits/used.js';
import type { Attempt } from '../../src/common/core/exchange.js';
import { noUsage } from '../../src/common/core/usage.js';

const tokens = (input: number, output: number) => ({
  ...noUsage(),
  input,
  output,
  source: 'provider' as const,
});

/** A try that was answered; its usage is not known unless it is given. */
const attempt = (more: Partial<Attempt> = {}): Attempt =>
  ({
    error: null,
    endedAt: 5,
    status: 200,
    usage: null,
    cost: null,
    received: Buffer.of(1),
    ...more,
  }) as Attempt;
const unsent = attempt({ endedAt: null, status: 0, received: null });
const failed = attempt({ status: 500, received: Buffer.of(1) });

const held = (measure: string, of: Attempt | null, amount = 7): Held => ({
  limit: { rule: { measure }, period: {} } as Limit as Held['limit'],
  amount,
  slot: 0,
  attempt: of,
});

describe('what a request has used', () => {
  it('of a rate limit of tokens are those of all tries that were sent; what was taken for an answer that reports none', () => {
    const counted = attempt({ usage: tokens(10, 20) });
    expect(usedTokens([counted, unsent, failed], 7)).to.equal(30);
    expect(usedTokens([counted, attempt({ usage: tokens(1, 0) })], 7)).to.equal(31);
    expect(usedTokens([counted, attempt()], 7)).to.equal(37);
    const searched = { ...tokens(0, 0), kinds: { searches: 3 } };
    expect(usedTokens([attempt({ usage: searched })], 7)).to.equal(7);
  });

  it('of a budget is nothing for what was not sent', () => {
    for (const measure of ['requests', 'tokens', 'cost']) {
      expect(usedOf(held(measure, unsent), [unsent]), measure).to.equal(0);
      expect(usedOf(held(measure, null), [unsent]), measure).to.equal(0);
      expect(usedOf(held(measure, null), [unsent, failed]), measure).to.equal(7);
    }
  });

  it('of a budget of requests is a request, whatever became of it', () => {
    for (const one of [attempt(), attempt({ usage: tokens(1, 2), cost: 9000 }), failed])
      expect(usedOf(held('requests', one, 1), [one])).to.equal(1);
  });

  it('of a budget of tokens or cost is what the try used, and what was held back where that is not known', () => {
    const known = attempt({ usage: tokens(10, 20), cost: 13_500_001 });
    expect(usedOf(held('tokens', known), [known])).to.equal(30);
    expect(usedOf(held('cost', known), [known])).to.equal(13_501);
    const free = attempt({ usage: tokens(10, 20) });
    expect(usedOf(held('cost', free), [free]), 'without a price').to.equal(0);
    for (const measure of ['tokens', 'cost']) {
      const answered = attempt();
      expect(usedOf(held(measure, answered), [answered]), measure).to.equal(7);
      expect(usedOf(held(measure, failed), [failed]), measure).to.equal(0);
    }
  });

  it('is for nothing where a try failed, and not where its answer came or was cancelled', () => {
    expect(isForNothing(failed)).to.equal(true);
    expect(isForNothing(attempt({ error: 'upstream_reset', status: 0, received: null }))).to.equal(true);
    expect(isForNothing(attempt())).to.equal(false);
    expect(isForNothing(attempt({ error: 'upstream_truncated' }))).to.equal(false);
    expect(isForNothing(attempt({ error: 'client_gone', status: 0 })), 'cancelled').to.equal(false);
    expect(isForNothing(attempt({ status: 500, usage: tokens(3, 0) }))).to.equal(false);
    expect(isForNothing(attempt({ endedAt: null, status: 0, received: null })), 'under way').to.equal(false);
  });

  it('costs at least what it costs in whole nanodollars', () => {
    expect([0, 1, 1000, 1001].map(nanosOf)).to.deep.equal([0, 1, 1, 2]);
  });
});
