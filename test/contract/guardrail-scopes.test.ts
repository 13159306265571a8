import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import type { Place, Store } from '../../src/control-plane/store/store.js';
import { folder, forEachStore } from '../support/stores.js';

const raw = 'write to ann@example.com';
const day = 86_400_000;

describe('guardrails of an organisation in the store', () => {
  forEachStore(({ open }) => {
    let dataDir: string;
    let store: Store;
    let place: Place;
    let key: string;
    let now = 1_800_000_000_000;

    before(async () => {
      dataDir = folder();
      store = await open(dataDir, () => ++now);
      const first = (await bootstrap(store, { dataDir, simulated: false }))!;
      place = (await store.first())!;
      key = store.hashKey(first.workspace_key);
    });
    after(() => store.close());

    const found = async () => (await store.keys.findByHash(key))!;

    it('hold for its keys, then those of the workspace, each once', async () => {
      expect(await found()).to.not.have.property('guardrails');
      const defaults = { inputGuardrails: ['a', 'b'], outputGuardrails: ['c'] };
      await store.organisations.update(place.organisationId, { defaults });
      expect((await found()).guardrails).to.deep.equal({ before: ['a', 'b'], after: ['c'] });
      await store.workspaces.update(place.organisationId, place.workspaceId, {
        defaults: {
          metadata: null,
          configId: null,
          inputGuardrails: ['b', 'd'],
          outputGuardrails: [],
        } as never,
      });
      expect((await found()).guardrails).to.deep.equal({ before: ['a', 'b', 'd'], after: ['c'] });
    });

    it('pass a workspace by that is excluded, whose own hold on', async () => {
      const exclude = (inputGuardrails: boolean, outputGuardrails: boolean) =>
        store.workspaces.update(place.organisationId, place.workspaceId, {
          excludedFrom: { inputGuardrails, outputGuardrails },
        });
      await exclude(true, false);
      expect((await found()).guardrails).to.deep.equal({ before: ['b', 'd'], after: ['c'] });
      await exclude(true, true);
      expect((await found()).guardrails).to.deep.equal({ before: ['b', 'd'], after: [] });
      await exclude(false, false);
      expect((await found()).guardrails?.before).to.deep.equal(['a', 'b', 'd']);
    });

    it('are mentioned where defaults and active configs have their id or slug', async () => {
      const made = await store.guardrails.create(place.organisationId, null, {
        name: 'Under_score',
        checks: [],
        actions: {} as never,
        by: null,
      });
      if (made === 'missing') throw new Error('There is no such workspace.');
      const mentions = () => store.guardrails.mentions(made, 2);
      const none = { organisation: false, workspaces: [], configs: [] };
      expect(await mentions()).to.deep.equal(none);
      const defaults = { inputGuardrails: [], outputGuardrails: [made.id] };
      await store.organisations.update(place.organisationId, { defaults });
      await store.workspaces.update(place.organisationId, place.workspaceId, { defaults: defaults as never });
      const texts = [made.slug, made.id, made.slug.slice(0, -1), made.id].map((name) =>
        JSON.stringify([name]),
      );
      for (const [i, text] of texts.entries())
        await store.configs.create(place, { name: 'c', slug: `pc-${i}`, text });
      expect(await mentions()).to.deep.equal({
        organisation: true,
        workspaces: ['default'],
        configs: [
          { slug: 'pc-0', workspace: 'default', text: texts[0] },
          { slug: 'pc-1', workspace: 'default', text: texts[1] },
        ],
      });
      for (const slug of ['pc-0', 'pc-1', 'pc-3'])
        await store.configs.update(place, slug, { status: 'archived' });
      const empty = { inputGuardrails: [], outputGuardrails: [] };
      await store.organisations.update(place.organisationId, { defaults: empty });
      await store.workspaces.update(place.organisationId, place.workspaceId, { defaults: empty as never });
      expect(await mentions()).to.deep.equal(none);
    });

    it('keep what they change as it was only where the organisation sets that', async () => {
      expect(await found()).to.not.have.property('keepUnredacted');
      await store.organisations.update(place.organisationId, { settings: { keep_unredacted_text: true } });
      expect((await found()).keepUnredacted).to.equal(true);
    });

    it('have their unredacted texts sealed, by organisation, for 30 days', async () => {
      const { organisationId } = place;
      const text = { organisationId, id: 'log-1', part: 'request', text: raw, cut: false } as const;
      await store.unredactedTexts.put(text);
      await store.unredactedTexts.put({ ...text, text: 'another' });
      await store.unredactedTexts.put({ ...text, part: 'response', text: 'answer', cut: true });
      const get = (organisation = organisationId) => store.unredactedTexts.get(organisation, 'log-1');
      expect(await get()).to.deep.equal({ request: raw, response: 'answer', cut: true });
      expect(await get('another')).to.equal(null);
      for (const entry of readdirSync(dataDir, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile()) continue;
        expect(readFileSync(join(entry.parentPath, entry.name)).includes(raw), entry.name).to.equal(false);
      }
      now += 29 * day;
      await store.prune();
      expect(await get()).to.not.equal(null);
      now += 2 * day;
      await store.prune();
      expect(await get()).to.equal(null);
    });
  });
});
