import { expect } from 'chai';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import type { NewUsageLimitsPolicy, Place, Store } from '../../src/control-plane/store/store.js';
import { folder, forEachStore } from '../support/stores.js';

const everything = { offset: 0, limit: 1000 };
const active = { status: 'active' } as const;

function here<T>(value: T | 'missing' | 'taken' | 'stale' | null): T {
  if (value === 'missing' || value === 'taken' || value === 'stale' || value === null)
    throw new Error(`got ${value}`);
  return value;
}

describe('policies in the store', () => {
  forEachStore(({ open }) => {
    let store: Store;
    let place: Place;
    let other: Place;
    const now = 1_800_000_000_000;

    before(async () => {
      const dataDir = folder();
      store = await open(dataDir, () => now);
      const first = here(await bootstrap(store, { dataDir, simulated: false }));
      place = { organisationId: first.organisation_id, workspaceId: first.workspace_id };
      const two = here(await store.workspaces.create(place.organisationId, { name: 'Two', slug: 'two' }));
      other = { organisationId: place.organisationId, workspaceId: two.id };
    });
    after(() => store.close());

    const budget = (more: Partial<NewUsageLimitsPolicy> = {}): NewUsageLimitsPolicy => ({
      name: 'Budget',
      description: null,
      conditions: [{ key: 'metadata._user', value: ['a', 'b'] }],
      groupBy: ['api_key'],
      type: 'cost',
      creditLimit: 10.5,
      alertThreshold: 8,
      shadow: false,
      periodicReset: 'weekly',
      periodicResetDays: null,
      nextUsageResetAt: now + 1000,
      ...more,
    });

    it('keep the values a budget was created with, and change only the given ones', async () => {
      const made = here(await store.usageLimitsPolicies.create(place, budget()));
      expect(made).to.deep.include({
        ...budget(),
        ...place,
        status: 'active',
        lastResetAt: null,
        createdAt: now,
      });
      expect(await store.usageLimitsPolicies.get(place.organisationId, made.id)).to.deep.equal(made);
      const { organisationId } = place;
      const change = {
        name: null,
        creditLimit: 20,
        periodicReset: null,
        periodicResetDays: 3,
        lastResetAt: now - 5,
      };
      const changed = here(await store.usageLimitsPolicies.update(organisationId, made.id, change));
      expect(changed).to.deep.include({ ...made, ...change, etag: changed.etag });
      expect(await store.usageLimitsPolicies.update(organisationId, made.id, { etag: made.etag })).to.equal(
        'stale',
      );
    });

    it('are of one organisation and workspace', async () => {
      const made = here(await store.usageLimitsPolicies.create(place, budget({ name: 'mine' })));
      expect(await store.usageLimitsPolicies.get('another', made.id)).to.equal(null);
      expect(await store.usageLimitsPolicies.update('another', made.id, { name: 'x' })).to.equal('missing');
      expect((await store.usageLimitsPolicies.list(other, active, everything)).total).to.equal(0);
      const nowhere = { organisationId: 'another', workspaceId: place.workspaceId };
      expect(await store.usageLimitsPolicies.create(nowhere, budget())).to.equal('missing');
    });

    it('are listed by status, type and a part of the name', async () => {
      const made = here(
        await store.usageLimitsPolicies.create(place, budget({ name: '100%', type: 'tokens' })),
      );
      const ids = async (filter: object) =>
        (await store.usageLimitsPolicies.list(place, { ...active, ...filter }, everything)).rows.map(
          ({ id }) => id,
        );
      expect(await ids({ type: 'tokens' })).to.deep.equal([made.id]);
      expect(await ids({ search: '0%' })).to.deep.equal([made.id]);
      await store.usageLimitsPolicies.update(place.organisationId, made.id, { status: 'archived' });
      expect(await ids({ search: '0%' })).to.deep.equal([]);
      expect(await ids({ search: '0%', status: 'archived' })).to.deep.equal([made.id]);
    });

    it('give data workers the active budgets of a workspace, in the units that are counted', async () => {
      const { organisationId, workspaceId } = other;
      const made = here(await store.usageLimitsPolicies.create(other, budget({ shadow: true })));
      const archived = here(await store.usageLimitsPolicies.create(other, budget()));
      await store.usageLimitsPolicies.update(organisationId, archived.id, { status: 'archived' });
      expect(await store.usageLimitsPolicies.inForce(workspaceId)).to.deep.equal([
        {
          id: made.id,
          organisationId,
          name: 'Budget',
          conditions: made.conditions,
          groupBy: ['api_key'],
          measure: 'cost',
          limit: 10_500_000_000,
          threshold: 8_000_000_000,
          shadow: true,
          since: made.createdAt,
          nextResetAt: made.nextUsageResetAt,
          periodicReset: 'weekly',
          periodicResetDays: null,
        },
      ]);
    });

    it('keep the values a rate limit was created with, and change only the given ones', async () => {
      const input = {
        name: null,
        description: 'For all',
        conditions: [{ key: 'model', excludes: '@a/*' }],
        groupBy: ['workspace_id', 'metadata.team'],
        type: 'requests',
        unit: 'rpm',
        value: 10,
        target: 'llm',
        shadow: false,
      } as const;
      const { organisationId } = place;
      const made = here(await store.rateLimitsPolicies.create(place, input));
      expect(made).to.deep.include({ ...input, ...place, status: 'active' });
      const change = {
        unit: 'rpw',
        value: 5,
        shadow: true,
        conditions: [{ key: 'api_key', value: '*' }],
      } as const;
      const changed = here(await store.rateLimitsPolicies.update(organisationId, made.id, change));
      expect(await store.rateLimitsPolicies.get(organisationId, made.id)).to.deep.equal(changed);
      expect(changed).to.deep.include(change);
      expect(await store.rateLimitsPolicies.update(organisationId, made.id, { etag: made.etag })).to.equal(
        'stale',
      );
      expect(await store.rateLimitsPolicies.get('another', made.id)).to.equal(null);
      expect(await store.rateLimitsPolicies.update('another', made.id, {})).to.equal('missing');
      const units = async (unit: string) =>
        (await store.rateLimitsPolicies.list(place, { ...active, unit }, everything)).total;
      expect([await units('rpm'), await units('rpw')]).to.deep.equal([0, 1]);
    });
  });
});
