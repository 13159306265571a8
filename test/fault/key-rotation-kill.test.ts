// lane: slow
import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { expect } from 'chai';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import { MasterKey } from '../../src/control-plane/store/secrets/master-key.js';
import {
  type ApiKey,
  openStore,
  type RotationPolicy,
  type Store,
} from '../../src/control-plane/store/store.js';
import { builtProgram, pause } from '../support/gateway.js';
import { isLong } from '../support/long-forms.js';
import { seeded } from '../support/seeded.js';
import { SmtpListener } from '../support/smtp-listener.js';
import { folder, forEachStore } from '../support/stores.js';
import { scaled } from '../support/time-limits.js';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const start = Date.UTC(2026, 10, 22, 12);
const due = Date.UTC(2026, 10, 23);
const recipients = ['shop@example.com', 'team@example.com'];

describe('rotation of keys and their mails', function () {
  this.timeout(isLong ? 1_200_000 : scaled(120_000));

  forEachStore(({ options, dialect }) => {
    let now: number;
    let dataDir: string;
    let databaseUrl: string;
    let store: Store;
    let organisationId: string;
    let key: ApiKey;
    let listener: SmtpListener;
    /** Texts of the key, as they were shown. */
    let texts: string[];
    let kills: number;
    const masterKey = randomBytes(32);

    beforeEach(async () => {
      now = start;
      kills = 0;
      listener = await new SmtpListener().start();
      dataDir = folder();
      databaseUrl = (await options(dataDir)).databaseUrl?.reveal() ?? '';
      store = await openStore({
        ...(await options(dataDir)),
        masterKey: new MasterKey(masterKey),
        clock: () => now,
      });
      await bootstrap(store, { dataDir, simulated: false });
      organisationId = (await store.first())!.organisationId;
    });
    afterEach(async () => {
      await store?.close();
      await listener.stop();
    });

    async function makeKey(policy: Partial<RotationPolicy>, expiresAt: number): Promise<void> {
      const { workspaceId } = (await store.first())!;
      const made = await store.keys.create(organisationId, {
        ...{ type: 'workspace-service', workspaceId, name: 'shop', scopes: ['completions.write'] },
        alertEmails: recipients,
        rotationPolicy: {
          ...{ period: null, periodDays: null, transitionMs: 2 * dayMs, nextRotationAt: due },
          ...policy,
        },
        expiresAt,
      });
      if (made === 'missing') throw new Error('missing');
      key = made.key;
      texts = [made.text.reveal()];
    }

    const isValid = async (text: string): Promise<boolean> => {
      const found = await store.keys.findByHash(store.hashKey(text));
      return found !== null && (found.expiresAt ?? now + 1) > now;
    };

    /** One or two texts are valid, whatever was killed; none once the key has expired. */
    async function checkTexts(): Promise<void> {
      const valid = (await Promise.all(texts.map(isValid))).filter(Boolean).length;
      const isExpired = now >= key.expiresAt!;
      expect(valid).to.be.within(isExpired ? 0 : 1, isExpired ? 0 : 2);
    }

    const isDue = async (): Promise<boolean> => {
      const page = { offset: 0, limit: 100 };
      const { rows } = await store.mails.list(organisationId, { status: 'pending' }, page);
      return rows.some(({ dueAt }) => dueAt! <= now);
    };

    /** What the node does at this time; true: it was killed. */
    async function nodeRuns(node: string, killAt: number): Promise<boolean> {
      const args = [dataDir, databaseUrl, masterKey.toString('hex'), now, node, killAt, listener.url];
      const child = fork(builtProgram('fault/key-rotator'), args.map(String), { execArgv: [], silent: true });
      let problem = '';
      child.stderr!.on('data', (text: Buffer) => {
        problem += text.toString();
      });
      const closed = once(child, 'close') as Promise<[number | null, string | null]>;
      // Once it mails, it goes on until nothing is due.
      await Promise.race([once(child, 'message'), closed]);
      const isRunning = (): boolean => child.exitCode === null && child.signalCode === null;
      while (isRunning() && (await isDue())) await pause(20);
      if (isRunning()) child.kill('SIGTERM');
      const [code, signal] = await closed;
      if (signal === 'SIGKILL') kills += 1;
      else expect(code, problem).to.equal(0);
      return signal === 'SIGKILL';
    }

    async function reveal(): Promise<void> {
      const revealed = await store.keyRotation.reveal(organisationId, key.id);
      if (revealed !== null) texts.push(revealed.reveal());
      expect(await isValid(texts.at(-1)!)).to.equal(now < key.expiresAt!);
    }

    /** Mails of each recipient, and rotations in the audit log. */
    async function checkCounts(mails: Record<string, number>, rotations: number): Promise<void> {
      for (const to of recipients) {
        const got: Record<string, number> = {};
        for (const mail of listener.mails)
          if (mail.to === to) got[mail.subject] = (got[mail.subject] ?? 0) + 1;
        expect(got).to.deep.equal(mails);
      }
      const page = { offset: 0, limit: 1000 };
      const { rows } = await store.audit.list(organisationId, { resourceId: key.id }, page);
      expect(rows.map(({ action }) => action)).to.deep.equal(Array(rotations).fill('rotate'));
      expect(texts).to.have.length(1 + rotations);
    }

    // In the short form on SQLite alone: the nodes of the next test are killed on PostgreSQL.
    if (isLong || dialect === 'sqlite')
      it(`happen exactly once, though the process is killed ${isLong ? 'before each statement' : 'between its statements'}`, async () => {
        await makeKey({ period: 'weekly' }, due + 5 * dayMs);
        for (const at of [due - 12 * hourMs, due, due + dayMs + hourMs, due + 4.5 * dayMs, due + 5 * dayMs]) {
          now = at;
          // 1, 5, 21, …: the later steps are those of mails, which are alike.
          for (let killAt = 1; ; killAt += isLong ? 1 : 3 * killAt + 1) {
            const wasKilled = await nodeRuns('one', killAt);
            await checkTexts();
            if (!wasKilled) break;
            // What it had claimed, others send after a while.
            now += 2 * minuteMs;
          }
          await reveal();
        }
        expect(kills).to.be.at.least(isLong ? 100 : 8);
        if (isLong) console.log(`        ${kills} kills`);
        const mails = {
          'Key will be rotated: shop': 1,
          'Key rotated: shop': 1,
          'Old secret ends soon: shop': 1,
          'Key expires soon: shop': 1,
          'Key expired: shop': 1,
        };
        await checkCounts(mails, 1);
      });

    if (dialect === 'postgres')
      it(`happen exactly once over two nodes, both of which are killed, for ${isLong ? 400 : 40} days`, async () => {
        const days = isLong ? 400 : 40;
        const first = Date.UTC(2026, 11, 1);
        const end = start + (days - 5) * dayMs;
        await makeKey({ period: 'monthly', nextRotationAt: first }, end);
        const random = seeded(18);
        let rotations = 0;
        const times: number[] = [];
        for (let at = first; at < end; at = Date.UTC(2026, 11 + ++rotations, 1))
          times.push(at - 12 * hourMs, at, at + dayMs + hourMs, ...(isLong ? [at + 2 * dayMs] : []));
        times.push(end - hourMs, end);
        for (const at of times) {
          now = at;
          const killed = [1 + Math.floor(random() * 40), 1 + Math.floor(random() * 40)];
          const nodes = ['node-0', 'node-1'];
          const wereKilled = await Promise.all(nodes.map((node, i) => nodeRuns(node, killed[i]!)));
          await checkTexts();
          // They are there again before another one may send what they had claimed.
          now += minuteMs;
          await Promise.all(nodes.filter((_, i) => wereKilled[i]).map((node) => nodeRuns(node, 0)));
          await checkTexts();
          now += minuteMs;
          await nodeRuns('node-1', 0);
          await checkTexts();
          await reveal();
        }
        expect(kills).to.be.at.least(times.length / 2);
        if (isLong) console.log(`        ${kills} kills, ${rotations} rotations`);
        const mails = {
          'Key will be rotated: shop': rotations,
          'Key rotated: shop': rotations,
          'Old secret ends soon: shop': rotations,
          'Key expires soon: shop': 1,
          'Key expired: shop': 1,
        };
        await checkCounts(mails, rotations);
      });
  });
});
