import { expect } from 'chai';
import { RetryBudget } from '../../plugins/router/health/retry-budget.js';

describe('a retry budget', () => {
  /** So many requests a second for ten seconds, each of which would be retried as often as it may. */
  const retriesAt = (perSecond: number, tenants = 1): number => {
    const budget = new RetryBudget();
    let retries = 0;
    for (let i = 0; i < perSecond * 10; i++) {
      const now = 1_000_000 + (i * 1000) / perSecond;
      const tenant = `ws-${i % tenants}`;
      budget.request(tenant, now);
      for (let n = 0; n < 5; n++) if (budget.retry(tenant, now)) retries++;
    }
    return retries;
  };

  it('lets light traffic retry as often as its config asks for', () => {
    expect(retriesAt(1)).to.equal(50);
    expect(retriesAt(2)).to.equal(100);
  });

  it('is ten retries a second for traffic of which that is more than a fifth', () => {
    for (const perSecond of [10, 20, 50]) expect(retriesAt(perSecond)).to.equal(100);
  });

  it('is a fifth of more traffic than that', () => {
    for (const perSecond of [100, 400, 2000]) {
      expect(retriesAt(perSecond) / (perSecond * 10)).to.be.within(0.18, 0.205);
    }
  });

  it("is each tenant's own", () => {
    expect(retriesAt(200, 10)).to.equal(1000);
  });

  it('is whole again in each second', () => {
    const budget = new RetryBudget();
    const spend = (now: number): number => {
      let retries = 0;
      while (budget.retry('ws-1', now)) retries++;
      return retries;
    };
    expect([spend(1_000_000), spend(1_000_999), spend(1_001_000)]).to.deep.equal([10, 0, 10]);
    expect(budget.refused).to.equal(3);
  });
});
