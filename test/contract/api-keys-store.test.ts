import { expect } from 'chai';
import type {
  ApiKeyChange,
  KeyStatus,
  MadeApiKey,
  NewApiKey,
  Place,
  Store,
} from '../../src/control-plane/store/store.js';
import { folder, forEachStore } from '../support/stores.js';

const hour = 3_600_000;
const everything = { offset: 0, limit: 1000 };

function here<T>(answer: T | string): T {
  if (typeof answer === 'string') throw new Error(answer);
  return answer;
}

describe('keys in the store', () => {
  forEachStore((stores) => {
    let store: Store;
    let place: Place;
    let now = 1_800_000_000_000;

    before(async () => {
      store = await stores.open(folder(), () => now);
      const first = await store.establish(() => {});
      if (first === null) throw new Error('not new');
      place = { organisationId: first.organisation_id, workspaceId: first.workspace_id };
    });
    after(() => store.close());

    const make = async (input: Partial<NewApiKey> = {}): Promise<MadeApiKey> =>
      here(
        await store.keys.create(place.organisationId, {
          type: 'workspace-service',
          workspaceId: place.workspaceId,
          name: 'app',
          scopes: ['completions.write'],
          ...input,
        }),
      );
    const change = async (id: string, what: ApiKeyChange) =>
      here(await store.keys.update(place.organisationId, id, what));
    const limits = {
      type: 'cost',
      creditLimit: 10,
      alertThreshold: 8,
      periodicReset: 'weekly',
      periodicResetDays: null,
      nextUsageResetAt: now + hour,
      lastResetAt: null,
    } as const;
    const policy = { period: null, periodDays: 3, transitionMs: hour, nextRotationAt: now + hour };

    it('keep all the values they were created with', async () => {
      const said = {
        description: 'of the shop',
        defaults: { configId: 'pc-a', allowConfigOverride: false, metadata: { team: 'a' } },
        expiresAt: now + hour,
        rateLimits: [{ type: 'requests', unit: 'rpw', value: 0 }],
        usageLimits: limits,
        alertEmails: ['a@example.com'],
        rotationPolicy: policy,
      } as const;
      const { key } = await make(said);
      expect(await store.keys.get(place.organisationId, key.id)).to.deep.equal(key);
      expect(key).to.deep.include({
        ...said,
        isExpired: false,
        lastRotatedAt: null,
        transitionExpiresAt: null,
      });
      const { key: named } = await change(key.id, { name: 'other' });
      const { etag, ...rest } = named;
      expect(etag).to.not.equal(key.etag);
      expect({ ...rest, name: 'app', etag: key.etag }).to.deep.equal(key);
      const cleared = { usageLimits: null, rotationPolicy: null, description: null, expiresAt: null };
      expect((await change(key.id, cleared)).key).to.deep.include(cleared);
    });

    it('are changed only with their current etag, in their own organisation', async () => {
      const { key, hash } = await make();
      const first = await change(key.id, { name: 'one', etag: key.etag });
      expect(first.hashes).to.deep.equal([hash]);
      const again = { name: 'two', etag: key.etag };
      expect(await store.keys.update(place.organisationId, key.id, again)).to.equal('stale');
      expect(await store.keys.delete(place.organisationId, key.id, key.etag)).to.equal('stale');
      expect(await store.keys.update('another', key.id, { name: 'three' })).to.equal('missing');
      expect(await store.keys.rotate('another', key.id, hour)).to.equal('missing');
    });

    it('bring their budget and that of their workspace, each counted from its last reset', async () => {
      const shared = { ...limits, type: 'tokens', metadata: { team: 'a' }, shadow: true } as const;
      const change = { usageLimits: [shared] };
      here(await store.workspaces.update(place.organisationId, place.workspaceId, change));
      const { key, hash } = await make({ usageLimits: limits });
      now += 1000;
      const again = { ...limits, lastResetAt: now };
      here(await store.keys.update(place.organisationId, key.id, { usageLimits: again }));
      const periods = {
        nextResetAt: limits.nextUsageResetAt,
        periodicReset: 'weekly',
        periodicResetDays: null,
      };
      const workspace = here((await store.workspaces.get(place.organisationId, place.workspaceId))!);
      expect((await store.keys.findByHash(hash))?.budgets).to.deep.equal([
        {
          budget: `${place.organisationId}/api_key/${key.id}/cost`,
          of: 'api_key',
          name: 'app',
          measure: 'cost',
          limit: 10_000_000_000,
          threshold: 8_000_000_000,
          shadow: false,
          since: now,
          ...periods,
        },
        {
          budget: `${place.organisationId}/workspace/${place.workspaceId}/tokens`,
          of: 'workspace',
          name: 'default',
          measure: 'tokens',
          limit: 10,
          threshold: 8,
          shadow: true,
          since: workspace.createdAt,
          ...periods,
          metadata: { team: 'a' },
        },
      ]);
      here(await store.workspaces.update(place.organisationId, place.workspaceId, { usageLimits: [] }));
    });

    it('have two texts from a rotation to the end of its transition, to the millisecond', async () => {
      const { key, hash } = await make();
      const rotated = here(await store.keys.rotate(place.organisationId, key.id, hour));
      const next = store.hashKey(rotated.text.reveal());
      expect(rotated.hashes).to.have.members([hash, next]);
      expect(rotated.transitionExpiresAt).to.equal(now + hour);
      expect(rotated.key).to.include({ id: key.id, lastRotatedAt: now, transitionExpiresAt: now + hour });
      expect(await store.keys.findByHash(next)).to.include({ keyId: key.id, expiresAt: null });
      expect(await store.keys.findByHash(hash)).to.include({ keyId: key.id, expiresAt: now + hour });
      expect(await store.keys.rotate(place.organisationId, key.id, hour)).to.equal('rotating');
      now += hour - 1;
      expect(await store.keys.findByHash(hash)).to.not.equal(null);
      expect(await store.keys.rotate(place.organisationId, key.id, hour)).to.equal('rotating');
      now += 1;
      expect(await store.keys.findByHash(hash)).to.equal(null);
      const third = here(await store.keys.rotate(place.organisationId, key.id, hour));
      expect(await store.keys.findByHash(next)).to.include({ expiresAt: now + hour });
      expect(third.hashes).to.include(next);
      const { hashes } = here(await store.keys.delete(place.organisationId, key.id));
      for (const one of [...hashes, next, hash]) expect(await store.keys.findByHash(one)).to.equal(null);
    });

    it('rotated twice at once are rotated once', async () => {
      const { key } = await make();
      const answers = await Promise.all(
        [1, 2, 3].map(() =>
          store.unit(place.organisationId, () => store.keys.rotate(place.organisationId, key.id, hour)),
        ),
      );
      expect(answers.filter((answer) => answer === 'rotating')).to.have.length(2);
    });

    it('never outlive their expiry by an old text', async () => {
      const { key, hash } = await make({ expiresAt: now + hour / 2 });
      await store.keys.rotate(place.organisationId, key.id, hour);
      expect((await store.keys.findByHash(hash))?.expiresAt).to.equal(now + hour / 2);
    });

    it('keep when their usage began again', async () => {
      const { key } = await make({ usageLimits: limits });
      const again = { ...limits, lastResetAt: now };
      const { key: reset } = await change(key.id, { usageLimits: again });
      expect(reset.usageLimits).to.deep.equal(again);
    });

    it('are listed by user and by any of several statuses', async () => {
      const { key } = await make({ type: 'workspace-user', userId: 'nobody', expiresAt: now + 1 });
      now += 1;
      const ids = async (filter: object) =>
        (await store.keys.list(place.organisationId, filter, everything)).rows.map(({ id }) => id);
      expect(await ids({ userId: 'nobody' })).to.deep.equal([key.id]);
      expect(await ids({ userId: 'nobody', status: ['expired', 'exhausted'] })).to.deep.equal([key.id]);
      expect(await ids({ userId: 'nobody', status: ['active', 'exhausted'] })).to.deep.equal([]);
      expect(await ids({ userId: 'nobody', status: [] })).to.deep.equal([key.id]);
    });

    it('are listed as exhausted or active by the ids of those whose budget is used up', async () => {
      const own = { type: 'workspace-user', userId: 'spender' } as const;
      const keys = [];
      for (const usageLimits of [limits, limits, null]) keys.push((await make({ ...own, usageLimits })).key);
      const [spent, open, free] = keys.map(({ id }) => id);
      const org = place.organisationId;
      const filter = { userId: 'spender' };
      expect(await store.keys.budgets('another', filter)).to.deep.equal([]);
      const budgets = await store.keys.budgets(org, filter);
      expect(budgets.map(({ id }) => id)).to.have.members([spent, open]);
      expect(budgets[0]).to.deep.include({ of: 'api_key', limits, createdAt: now });
      const ids = async (status: readonly KeyStatus[], exhausted: readonly string[], page = everything) => {
        const { rows, total } = await store.keys.list(org, { ...filter, status, exhausted }, page);
        return [total, ...rows.map(({ id }) => id).sort()];
      };
      expect(await ids(['exhausted'], [spent!])).to.deep.equal([1, spent]);
      expect(await ids(['active'], [spent!])).to.deep.equal([2, ...[open!, free!].sort()]);
      expect(await ids(['active', 'exhausted'], [])).to.deep.equal([3, ...[spent!, open!, free!].sort()]);
      const many = Array.from({ length: 70_000 }, (_, i) => `other-${i}`);
      expect((await ids(['active'], [spent!, ...many], { offset: 1, limit: 1 }))[0]).to.equal(2);
      here(await store.keys.update(org, spent!, { expiresAt: now }));
      expect(await ids(['exhausted'], [spent!])).to.deep.equal([0]);
      expect(await ids(['expired'], [spent!])).to.deep.equal([1, spent]);
      expect(await store.keys.budgets(org, filter)).to.have.length(1);
    });

    it('are found while their user is a member, or has access to every workspace', async () => {
      const user = async (email: string, role: 'admin' | 'member') =>
        here(await store.users.create(place.organisationId, { email, role }));
      const ann = await user('ann@example.com', 'member');
      const { hash } = await make({ type: 'workspace-user', userId: ann.id });
      expect(await store.keys.findByHash(hash)).to.equal(null);
      await store.members.add(place, ann.id, 'member');
      expect(await store.keys.findByHash(hash)).to.include({ userId: ann.id });
      const boss = await user('boss@example.com', 'admin');
      const own = await make({ type: 'workspace-user', userId: boss.id });
      expect(await store.keys.findByHash(own.hash)).to.include({ userId: boss.id });
      await store.users.update(place.organisationId, boss.id, { role: 'member' });
      expect(await store.keys.findByHash(own.hash)).to.equal(null);
    });

    it('are found until their workspace is archived, and carry what their organisation blocks', async () => {
      const workspace = here(
        await store.workspaces.create(place.organisationId, { name: 'Gone', slug: 'gone' }),
      );
      const { hash } = await make({ workspaceId: workspace.id });
      expect(await store.keys.findByHash(hash)).to.include({ blockInline: false });
      await store.organisations.update(place.organisationId, { settings: { block_inline_configs: true } });
      expect(await store.keys.findByHash(hash)).to.include({ blockInline: true });
      await store.workspaces.archive(place.organisationId, workspace.id);
      expect(await store.keys.findByHash(hash)).to.equal(null);
    });
  });
});
