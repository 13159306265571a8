import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { expect } from 'chai';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import { MasterKey } from '../../src/control-plane/store/secrets/master-key.js';
import { openStore, type Store } from '../../src/control-plane/store/store.js';
import { builtProgram } from '../support/gateway.js';
import { SmtpListener } from '../support/smtp-listener.js';
import { folder, forEachStore } from '../support/stores.js';
import { scaled } from '../support/time-limits.js';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
/** 1, 3, 7, 15, …: the later steps are those of mails, which are alike. STORE_KILLS=all takes each. */
const isEach = process.env['STORE_KILLS'] === 'all';
const start = Date.UTC(2026, 10, 22, 12);
const due = Date.UTC(2026, 10, 23);

describe('rotation of keys and their mails', function () {
  this.timeout(scaled(120_000));

  forEachStore(({ options }) => {
    let now = start;
    let store: Store;
    let listener: SmtpListener;
    const key = randomBytes(32);

    before(async () => {
      listener = await new SmtpListener().start();
    });
    after(async () => {
      await store?.close();
      await listener.stop();
    });

    it('happen exactly once, though the process is killed at each step', async () => {
      const dataDir = folder();
      const { databaseUrl = null } = await options(dataDir);
      const masterKey = new MasterKey(key);
      store = await openStore({ dataDir, databaseUrl, masterKey, clock: () => now });
      await bootstrap(store, { dataDir, simulated: false });
      const { organisationId, workspaceId } = (await store.first())!;
      const made = await store.keys.create(organisationId, {
        ...{ type: 'workspace-service', workspaceId, name: 'shop', scopes: ['completions.write'] },
        alertEmails: ['shop@example.com', 'team@example.com'],
        rotationPolicy: { period: 'weekly', periodDays: null, transitionMs: 2 * dayMs, nextRotationAt: due },
        expiresAt: due + 5 * dayMs,
      });
      if (made === 'missing') throw new Error('missing');
      const isValid = async (text: string): Promise<boolean> => {
        const found = await store.keys.findByHash(store.hashKey(text));
        return found !== null && (found.expiresAt ?? now + 1) > now;
      };
      const texts = [made.text.reveal()];

      let kills = 0;
      const events = [due - 12 * hourMs, due, due + dayMs + hourMs, due + 4.5 * dayMs];
      for (const at of [...events, due + 5 * dayMs]) {
        now = at;
        for (let killAt = 1; ; killAt += isEach ? 1 : killAt + 1) {
          const args = [dataDir, databaseUrl?.reveal() ?? '', key.toString('hex'), now, killAt, listener.url];
          const child = spawn(process.execPath, [builtProgram('fault/key-rotator'), ...args.map(String)]);
          let problem = '';
          child.stderr.on('data', (text: Buffer) => {
            problem += text.toString();
          });
          const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
          const valid = await Promise.all(texts.map(isValid));
          const isExpired = at === due + 5 * dayMs;
          expect(valid.filter(Boolean).length).to.be.within(isExpired ? 0 : 1, 2);
          if (signal === 'SIGKILL') {
            kills += 1;
            // What it had claimed, others send after a while.
            now += 2 * minuteMs;
            continue;
          }
          expect(code, problem).to.equal(0);
          break;
        }
        const revealed = await store.keyRotation.reveal(organisationId, made.key.id);
        if (revealed !== null) texts.push(revealed.reveal());
        expect(await isValid(texts.at(-1)!)).to.equal(at < due + 5 * dayMs);
      }
      expect(kills).to.be.greaterThan(10);
      expect(texts).to.have.length(2);
      const { rows } = await store.audit.list(
        organisationId,
        { resourceId: made.key.id },
        { offset: 0, limit: 100 },
      );
      expect(rows.map(({ action }) => action)).to.deep.equal(['rotate']);
      const subjects = [
        'Key expired: shop',
        'Key expires soon: shop',
        'Key rotated: shop',
        'Key will be rotated: shop',
        'Old secret ends soon: shop',
      ];
      for (const to of ['shop@example.com', 'team@example.com']) {
        const got = listener.mails.filter((mail) => mail.to === to).map(({ subject }) => subject);
        expect(got.sort()).to.deep.equal(subjects);
      }
    });
  });
});
