import { expect } from 'chai';
import { Secret } from '../../src/common/access/secret.js';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import { openStore, type StoreOptions } from '../../src/control-plane/store/store.js';
import { run } from '../support/command.js';
import { examplesOf } from '../support/examples.js';
import { folder, forEachStore } from '../support/stores.js';

describe('a store in a PostgreSQL database of its own', function () {
  this.timeout(20_000);

  forEachStore(({ options, dialect }) => {
    if (dialect !== 'postgres') return;
    const name = `headgate_dump_${process.pid}_${Date.now()}`;
    const cwd = folder();
    let given: StoreOptions;
    let server: string;

    const ask = async (statement: string): Promise<void> => {
      const { code, stderr } = await run('psql', [server, '-qc', statement]);
      expect(code, stderr).to.equal(0);
    };

    before(async function () {
      if ((await run('bash', ['-c', 'command -v psql && command -v pg_dump'])).code !== 0) this.skip();
      given = await options(cwd);
      const url = new URL(given.databaseUrl?.reveal() ?? '');
      url.search = '';
      server = url.href;
      await ask(`CREATE DATABASE ${name}`);
      // A dump is of the whole database: not of the one that other tests use.
      url.pathname = `/${name}`;
      given = { ...given, databaseUrl: new Secret(url.href) };
    });
    after(() => server && ask(`DROP DATABASE IF EXISTS ${name}`));

    it('is backed up and restored by the commands in docs/backup.md', async () => {
      const [dump = '', restore = ''] = examplesOf('docs/backup.md')
        .map(({ text }) => text)
        .filter((text) => text.startsWith('pg_'));
      const type = async (text: string): Promise<void> => {
        const env = { DATABASE_URL: given.databaseUrl?.reveal() ?? '' };
        const { code, stderr } = await run('bash', ['-euo', 'pipefail', '-c', text], { env, cwd });
        expect(code, `${text}${stderr}`).to.equal(0);
      };
      const store = await openStore(given);
      const first = await bootstrap(store, { dataDir: cwd, simulated: false });
      const place = { organisationId: first?.organisation_id ?? '', workspaceId: first?.workspace_id ?? '' };
      const slugs = async (from: typeof store): Promise<string> =>
        (await from.configs.list(place, { offset: 0, limit: 10 })).rows.map(({ slug }) => slug).join();
      await store.configs.create(place, { slug: 'pc-before', name: 'before', text: '{}' });
      await type(dump);
      await store.configs.create(place, { slug: 'pc-after', name: 'after', text: '{}' });
      await store.close();
      await type(restore);
      const restored = await openStore(given);
      expect(await slugs(restored)).to.equal('pc-before');
      await restored.close();
    });
  });
});
