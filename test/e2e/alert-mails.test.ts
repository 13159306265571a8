// lane: slow
import { randomBytes } from 'node:crypto';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { uuidv7 } from '../../src/common/text/id.js';
import { MasterKey } from '../../src/control-plane/store/secrets/master-key.js';
import { openStore } from '../../src/control-plane/store/store.js';
import { openJournal } from '../../src/data-plane/journal/journal.js';
import { settlementOf } from '../fault/journal-records.js';
import { eventually, pause, type RunningGateway, startGateway } from '../support/gateway.js';
import { password, quickHash } from '../support/quick-password.js';
import { plainText, type ReceivedMail, SmtpListener } from '../support/smtp-listener.js';
import { folder, forEachStore } from '../support/stores.js';
import { scaled } from '../support/time-limits.js';

const weekMs = 7 * 24 * 3_600_000;
const slotMs = 300_000;
/** For mails that come; the process that looks for anomalies has a low priority. */
const waitMs = 30_000;
/** In which a mail that is sent twice would come again: both nodes look every second. */
const twiceMs = 2500;

describe('mails of budgets and anomalies, of two gateways on one PostgreSQL', function () {
  this.timeout(scaled(60_000));

  forEachStore(({ options, dialect }) => {
    if (dialect !== 'postgres') return;
    let one: RunningGateway;
    let two: RunningGateway;
    let listener: SmtpListener;
    /** Of the second gateway. */
    let dataDir: string;
    const masterKey = randomBytes(32).toString('hex');

    before(async () => {
      listener = await new SmtpListener().start();
      dataDir = folder();
      const { databaseUrl } = await options(dataDir);
      const url = databaseUrl?.reveal() ?? '';
      const env = {
        ...{ DATABASE_URL: url, LEDGER_DATABASE_URL: url },
        HEADGATE_MASTER_KEY: masterKey,
        HEADGATE_SIMULATED: 'true',
        HEADGATE_SCHEDULES: 'anomalies=1',
        SMTP_URL: listener.url,
      };
      one = await startGateway({ env });
      // The second node makes no first keys: they are there.
      copyFileSync(join(one.dataDir, 'first-keys.json'), join(dataDir, 'first-keys.json'));
      two = await startGateway({ env, dataDir });
    });
    after(async () => {
      await Promise.all([one?.stop(), two?.stop()]);
      await listener?.stop();
    });

    /** Adds a person; gives the id. */
    async function person(
      name: string,
      role: 'admin' | 'member',
      inWorkspace: 'admin' | 'manager' | 'member' = 'member',
    ): Promise<string> {
      const workspaces = [{ id: one.workspaceId, role: inWorkspace }];
      const { id } = await one
        .admin()
        .api.users.createUser({ email: `${name}@example.com`, role, workspaces });
      return id;
    }

    /** A call of a person who signs in. */
    async function postAs(user: string, path: string, body: object): Promise<Response> {
      const store = await openStore({
        ...(await options(dataDir)),
        masterKey: new MasterKey(Buffer.from(masterKey, 'hex')),
      });
      await store.signIn.setPassword(one.organisationId, user, quickHash());
      await store.close();
      const { email } = await one.admin().api.users.getUser({ user_id: user });
      const post = (to: string, json: object, headers: Record<string, string> = {}): Promise<Response> =>
        fetch(`${one.url}${to}`, {
          ...{ method: 'POST', headers: { 'content-type': 'application/json', ...headers } },
          body: JSON.stringify(json),
        });
      const signedIn = await post('/v1/auth/sign-in', { email, password });
      const [cookie = ''] = (signedIn.headers.get('set-cookie') ?? '').split(';');
      const session = (await signedIn.json()) as { csrf_token: string };
      expect(signedIn.status, JSON.stringify(session)).to.equal(200);
      return post(path, body, { cookie, 'x-gateway-csrf-token': session.csrf_token });
    }

    /** Who got mails with such a subject: an address once for each mail, whatever its case. */
    const gotten = (which: RegExp): string[] =>
      listener.mails
        .filter(({ subject }) => which.test(subject))
        .map(({ to }) => to.toLowerCase())
        .sort();

    it('go once to the owners, admins, managers, the creator of the key and its alert_emails', async () => {
      const { api } = one.admin();
      await person('admin', 'admin');
      await person('workspace-admin', 'member', 'admin');
      await person('manager', 'member', 'manager');
      await person('member', 'member', 'member');
      const creator = await person('creator', 'member', 'admin');
      const gone = await person('gone', 'member', 'manager');
      await api.users.deleteUser({ user_id: gone });

      const made = await postAs(creator, '/v1/api-keys/workspace/service', {
        ...{ name: 'Shop', workspace_id: one.workspaceId, scopes: ['completions.write'] },
        ...{ alert_emails: ['shop@example.com', 'Manager@Example.com'] },
        usage_limits: { type: 'tokens', credit_limit: 200, alert_threshold: 60 },
      });
      const key = (await made.json()) as { id: string; key: string };
      expect(made.status, JSON.stringify(key)).to.equal(200);
      // An ordinary member from here on: it is the creation that counts.
      await api.workspaceMembers.updateWorkspaceMember({
        ...{ workspace_id: one.workspaceId, user_id: creator, role: 'member' },
      });

      let refused = 0;
      for (let i = 0; refused < 4; i++) {
        expect(i).to.be.lessThan(200);
        const gateway = i % 2 === 0 ? one : two;
        const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { 'x-gateway-api-key': key.key, 'content-type': 'application/json' },
          body: JSON.stringify({
            // Many answers at the end: what they use is not known before, so the limit is reached in one go.
            ...{ model: '@simulated/gpt-4o-mini', n: i < 8 ? 1 : 20 },
            messages: [{ role: 'user', content: 'Hello' }],
          }),
        });
        await answer.text();
        expect(answer.status).to.be.oneOf([200, 412]);
        if (answer.status === 412) refused += 1;
        await pause(20);
      }
      const recipients = [
        ...['admin@example.com', 'creator@example.com', 'manager@example.com'],
        ...['shop@example.com', 'workspace-admin@example.com'],
      ];
      const arrive = (subject: RegExp): Promise<unknown> =>
        eventually(`${subject}`, async () => gotten(subject).length >= recipients.length, waitMs);
      await arrive(/^Budget threshold reached: key Shop$/);
      await arrive(/^Budget used up: key Shop$/);
      await api.apiKeys.updateApiKey({ id: key.id, reset_usage: true });
      await arrive(/^Budget reset: key Shop$/);
      await pause(twiceMs);
      for (const subject of [/^Budget threshold/, /^Budget used up/, /^Budget reset/])
        expect(gotten(subject), `${subject}`).to.deep.equal(recipients);
      expect(gotten(/Budget/)).to.have.length(3 * recipients.length);
      const { raw } = listener.mails.find(({ subject }) =>
        subject.startsWith('Budget used up'),
      ) as ReceivedMail;
      expect(plainText(raw))
        .to.match(/Used: +\d{3} tokens/)
        .and.match(/Limit: +200 tokens/)
        .and.not.include(key.key);
      expect((await api.mail.listMails({ status: 'failed' })).total).to.equal(0);
    });

    it('of an anomaly go once to the owners and admins, and to the managers of the workspace', async () => {
      const now = Date.now();
      /** Thirty requests in each five minutes. */
      function write(from: number, to: number, cost: number): void {
        const journal = openJournal({
          ...{ dir: join(one.dataDir, 'journal'), worker: `test-${uuidv7()}`, onProblem: () => {} },
        });
        for (let at = from; at < to; at += slotMs / 30)
          journal.settle({
            ...settlementOf(uuidv7()),
            ...{ org: one.organisationId, workspace: one.workspaceId, at, cost },
          });
        journal.close();
      }
      for (const week of [1, 2, 3])
        write(now - week * weekMs - 45 * 60_000, now - week * weekMs + 45 * 60_000, 1e10);
      // Far more than what the requests of the test before change.
      write(now - slotMs, now, 1e12);
      const recipients = ['admin@example.com', 'manager@example.com', 'workspace-admin@example.com'];
      const subject = /^Unusual cost: /;
      await eventually('the mails', async () => gotten(subject).length >= recipients.length, waitMs);
      await pause(twiceMs);
      expect(gotten(subject)).to.deep.equal(recipients);
      const { raw } = listener.mails.find((mail) => subject.test(mail.subject)) as ReceivedMail;
      expect(plainText(raw))
        .to.match(/Now: +\$[\d.]+ in five minutes/)
        .and.match(/Usual: +\$[\d.]+ in five minutes/);
    });
  });
});
