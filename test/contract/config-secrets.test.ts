import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { secretFields } from '../../src/common/vocabulary/provider-fields.js';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import { maskedSecret, shownConfig } from '../../src/control-plane/store/secrets/config-secrets.js';
import { undoNewest } from '../support/older-store.js';
import { folder, forEachStore } from '../support/stores.js';

const secret = 'sk-inside-of-a-config';
const text = JSON.stringify({
  strategy: { mode: 'fallback' },
  targets: [
    { provider: 'openai', apiKey: secret },
    { provider: 'openai', api_key: secret, override_params: { max_tokens: 5, secret: 'word' } },
  ],
});

describe('secrets of configs', () => {
  it('are masked at any depth, and parameters of calls are not masked', () => {
    const shown = JSON.parse(shownConfig(text)!);
    const { targets } = shown as { targets: Record<string, unknown>[] };
    expect(targets[0]!['apiKey']).to.equal('sk*****fig');
    expect(targets[1]).to.deep.equal({
      provider: 'openai',
      api_key: 'sk*****fig',
      override_params: { max_tokens: 5, secret: 'word' },
    });
    expect(maskedSecret(shown)).to.equal('config.targets[0].apiKey');
    expect(maskedSecret(JSON.parse(text))).to.equal(null);
    expect(shownConfig('{"provider":"@stored"}')).to.equal(null);
    const query = { 'metadata.has_secret': 'yes' };
    expect(
      shownConfig(JSON.stringify({ default_params: query, strategy: { conditions: [{ query }] } })),
    ).to.equal(null);
    expect(shownConfig(JSON.stringify({ mirror: { target: { api_key: secret } } }))).to.not.include(secret);
  });

  it('are all that providers have', () => {
    for (const field of secretFields) {
      const shown = shownConfig(JSON.stringify({ provider: 'x', [field]: secret }));
      expect(shown, field).to.not.equal(null).and.not.include(secret);
    }
  });

  forEachStore(({ open, database, dialect }) => {
    it('are for calls alone, and stored sealed', async () => {
      const dataDir = folder();
      const store = await open(dataDir);
      await bootstrap(store, { dataDir, simulated: false });
      const place = (await store.first())!;
      const made = await store.configs.create(place, { slug: 'pc-a', name: 'a', text });
      if (typeof made === 'string') throw new Error(made);
      const shown = shownConfig(text)!;
      expect((await store.configs.get(place, 'pc-a'))!.text).to.equal(shown);
      const page = { offset: 0, limit: 10 };
      const { rows } = await store.configs.versions(place, made.id, page);
      expect(rows.map((row) => row.text)).to.deep.equal([shown]);
      expect((await store.configs.version(place, made.id, made.versionId))!.text).to.equal(shown);
      expect((await store.configs.find(place.workspaceId, 'pc-a'))!.text).to.equal(text);
      await store.configs.update(place, 'pc-a', { text: '{"provider":"@stored"}' });
      expect((await store.configs.find(place.workspaceId, 'pc-a'))!.text).to.equal('{"provider":"@stored"}');
      await store.close();
    });

    it('of an older store are sealed when it is opened', async () => {
      const dataDir = folder();
      const before = await open(dataDir);
      await bootstrap(before, { dataDir, simulated: false });
      const place = (await before.first())!;
      await before.configs.create(place, { slug: 'pc-a', name: 'a', text });
      await before.configs.create(place, { slug: 'pc-b', name: 'b', text: '{"provider":"@stored"}' });
      await before.close();
      const bare = await database(dataDir);
      await bare.write(async (sql) => {
        await sql('config_versions').whereNotNull('sealed').update({ text });
        await sql.schema.alterTable('config_versions', (t) => t.dropColumn('sealed'));
        await sql.schema.alterTable('guardrail_versions', (t) => t.dropColumn('sealed'));
        await undoNewest(sql);
        await sql('schema_version').where('version', '>=', 7).delete();
      });
      const after = await open(dataDir);
      const stored: { text: string }[] = await bare.read((sql) => sql('config_versions').select('text'));
      await bare.close();
      expect(stored.map((row) => row.text)).to.have.members([shownConfig(text)!, '{"provider":"@stored"}']);
      expect((await after.configs.find(place.workspaceId, 'pc-a'))!.text, dialect).to.equal(text);
      await after.close();
      const files = readdirSync(dataDir).map((name) => readFileSync(join(dataDir, name)));
      expect(files.some((bytes) => bytes.includes(secret))).to.equal(false);
    });
  });
});
