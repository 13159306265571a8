// lane: slow
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { expect } from 'chai';
import { Secret } from '../../src/common/access/secret.js';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import { MasterKey } from '../../src/control-plane/store/secrets/master-key.js';
import { openStore, rotateMasterKey } from '../../src/control-plane/store/store.js';
import { builtProgram } from '../support/gateway.js';
import { folder, forEachStore } from '../support/stores.js';

/** STORE_KILLS=all takes more of its statements. */
const kills = process.env['STORE_KILLS'] === 'all' ? 20 : 2;
const rotator = builtProgram('fault/store-rotator');

describe('a rotation of the master key', function () {
  this.timeout(kills * 20_000);

  forEachStore(({ options }) => {
    it('killed before any of its statements loses no secret, and is finished by the next run', async () => {
      const dataDir = folder();
      const given = await options(dataDir);
      let key = randomBytes(32).toString('hex');
      const under = (text: string) => ({ ...given, masterKey: new MasterKey(Buffer.from(text, 'hex')) });
      const openUnder = (text: string) => openStore(under(text));

      const store = await openUnder(key);
      const first = await bootstrap(store, { dataDir, simulated: false });
      const place = { organisationId: first?.organisation_id ?? '', workspaceId: first?.workspace_id ?? '' };
      const credential = new Secret('sk-canary-kept');
      await store.providers.create(place, { slug: 'one', name: 'One', provider: 'openai', credential });
      await store.close();

      async function rotate(old: string, next: string, killAt: number): Promise<number | null> {
        const url = given.databaseUrl?.reveal() ?? '';
        const args = [rotator, dataDir, old, next, `${killAt}`, url];
        const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
        let said = '';
        child.stdout.on('data', (text) => {
          said += text;
        });
        const [, signal] = await once(child, 'close');
        expect(signal).to.equal(killAt === 0 ? null : 'SIGKILL');
        return said === '' ? null : Number(said);
      }

      let last = randomBytes(32).toString('hex');
      const statements = (await rotate(key, last, 0)) ?? 0;
      expect(statements).to.be.greaterThan(8);
      for (let part = 1; part <= kills; part++) {
        key = last;
        last = randomBytes(32).toString('hex');
        const killAt = Math.max(1, Math.floor((statements / kills) * (part - Math.random())));
        await rotate(key, last, killAt);
        await rotateMasterKey(under(key), new MasterKey(Buffer.from(last, 'hex')));
        const opened = await openUnder(last);
        expect(await opened.providers.find(place.workspaceId, 'one'), `killed at ${killAt}`).to.include({
          credential: 'sk-canary-kept',
        });
        await opened.close();
      }
    });
  });
});
