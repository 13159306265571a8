// lane: slow
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import { Secret } from '../../src/common/access/secret.js';
import { Mailing, type MailingOptions } from '../../src/control-plane/mail/mailing.js';
import { SentNotes } from '../../src/control-plane/mail/sent-notes.js';
import { smtpServerOf } from '../../src/control-plane/mail/smtp-server-address.js';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import type { Mail, NewMail, Store } from '../../src/control-plane/store/store.js';
import { eventually } from '../support/gateway.js';
import { plainText, SmtpListener } from '../support/smtp-listener.js';
import { folder, forEachStore } from '../support/stores.js';
import { scaled } from '../support/time-limits.js';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const token = 'inv1te-t0ken-of-the-link';

describe('mails', function () {
  this.timeout(scaled(20_000));

  forEachStore(({ open, dialect }) => {
    let now = Date.UTC(2026, 10, 23, 12);
    let dataDir: string;
    let store: Store;
    let organisationId: string;
    let listener: SmtpListener;
    const lines: object[] = [];
    const log = {
      info: () => {},
      warn: (fields: object, message: string) => lines.push({ ...fields, message }),
      error: (fields: object, message: string) => lines.push({ ...fields, message }),
    };
    const senders: Mailing[] = [];
    let count = 0;

    before(async () => {
      dataDir = folder();
      store = await open(dataDir, () => now);
      await bootstrap(store, { dataDir, simulated: false });
      organisationId = (await store.first())!.organisationId;
    });
    after(() => store.close());

    beforeEach(async () => {
      now += 40 * 24 * hourMs;
      await store.mails.prune();
      lines.length = 0;
      listener = await new SmtpListener().start();
    });
    afterEach(async () => {
      for (const sender of senders.splice(0)) await sender.stop();
      await listener.stop();
    });

    /** One that sends by this URL, as a node does. */
    function sender(
      url = listener.url,
      notes = `notes-${++count}`,
      mails: MailingOptions['mails'] = store.mails,
    ): Mailing {
      const made = new Mailing({
        mails,
        server: smtpServerOf(new Secret(url), 'Gateway <gateway@example.com>', null),
        notes: new SentNotes(join(dataDir, notes)),
        log,
      });
      senders.push(made);
      return made;
    }

    const mail = (...recipients: string[]): NewMail => ({
      organisationId,
      workspaceId: null,
      kind: 'key_rotated',
      event: `rotated:${++count}`,
      resourceId: 'key-1',
      recipients,
      content: { subject: 'Key rotated: Shop', paragraphs: ['It was rotated.'], facts: [['Key', 'Shop']] },
    });

    const all = async (): Promise<readonly Mail[]> =>
      (await store.mails.list(organisationId, {}, { offset: 0, limit: 1000 })).rows;

    /** Lets an hour and more pass, minute by minute, as the loops of the senders do. */
    async function passMinutes(minutes: number, ...by: Mailing[]): Promise<void> {
      for (let i = 0; i < minutes; i++) {
        now += minuteMs;
        for (const one of by) await one.sendDue();
      }
    }

    /** The same over hours: after eleven minutes, whatever is tried again is due. */
    async function passHours(hours: number, by: Mailing): Promise<void> {
      const end = now + hours * hourMs;
      while (now < end) {
        now = Math.min(end, now + 11 * minuteMs);
        await by.sendDue();
      }
    }

    it('arrive as text and HTML, from the sender that was set, with an id of their own', async () => {
      await store.mails.add({
        ...mail('shop@example.com'),
        content: {
          subject: 'Schlüssel „Shop“',
          paragraphs: ['A <b>bold</b> & quoted name.'],
          facts: [['Key', 'Ähre']],
          commands: ['headgate keys list'],
        },
      });
      await sender().sendDue();
      const [{ raw, from, to, messageId } = { raw: '', from: '', to: '', messageId: '' }] = listener.mails;
      expect([from, to]).to.deep.equal(['gateway@example.com', 'shop@example.com']);
      const [{ id, status, sentAt } = {} as Mail] = await all();
      expect(messageId).to.equal(`<${id}@example.com>`);
      expect([status, sentAt]).to.deep.equal(['sent', now]);
      const text = plainText(raw);
      expect(text).to.include('A <b>bold</b> & quoted name.').and.include('Key: Ähre');
      expect(text).to.include('A &#60;b&#62;bold&#60;/b&#62; &#38; quoted name.');
      expect(raw).to.match(/^From: Gateway <gateway@example.com>$/m);
      expect(raw).to.include('multipart/alternative').and.include('Auto-Submitted: auto-generated');
    });

    it('are one for each recipient of an event, however often it is added, and only once in a unit that holds', async () => {
      const event = mail('a@example.com', 'A@Example.com', 'b@example.com');
      await store.mails.add(event);
      await store.mails.add({ ...event, recipients: ['b@example.com', 'c@example.com'] });
      await store
        .unit(organisationId, async () => {
          await store.mails.add(mail('undone@example.com'));
          throw new Error('undone');
        })
        .catch(() => {});
      const [one, two] = [sender(), sender()];
      await Promise.all([one.sendDue(), two.sendDue(), one.sendDue(), two.sendDue()]);
      expect(listener.recipients).to.deep.equal(['a@example.com', 'b@example.com', 'c@example.com']);
    });

    it('arrive once each after the server was down for an hour, the first retry within 15 s', async () => {
      await listener.stop();
      const recipients = Array.from({ length: 10 }, (_, i) => `r${i}@example.com`);
      await store.mails.add(mail(...recipients));
      const [one, two] = [sender(), sender()];
      await one.sendDue();
      const [first] = (await all()).filter(({ tries }) => tries === 1);
      expect(first?.dueAt).to.be.within(now + 1, now + 15_000);
      expect(first?.error).to.match(/ECONNREFUSED|ESOCKET|ECONNECTION/);
      await passMinutes(60, one, two);
      expect((await all()).map(({ status }) => status)).to.deep.equal(recipients.map(() => 'pending'));
      await listener.start();
      await passMinutes(15, one, two);
      expect(listener.recipients).to.deep.equal(recipients);
      expect((await all()).map(({ status }) => status)).to.deep.equal(recipients.map(() => 'sent'));
    });

    it('have failed after 24 hours, are shown with the reason, and can be sent again', async () => {
      await listener.stop();
      await store.mails.add(mail('late@example.com'));
      const one = sender();
      await passHours(23, one);
      expect((await all())[0]?.status).to.equal('pending');
      await passHours(2, one);
      const [{ id, status, error, dueAt } = {} as Mail] = await all();
      expect([status, dueAt]).to.deep.equal(['failed', null]);
      expect(error).to.include('no connection to the mail server');
      await listener.start();
      await one.sendDue();
      expect(listener.mails).to.deep.equal([]);
      expect(await store.mails.retry('other', id)).to.equal('missing');
      await listener.stop();
      // From the beginning: the tries, and the waits in between.
      expect(await store.mails.retry(organisationId, id)).to.include({ status: 'pending', tries: 0 });
      await one.sendDue();
      const [again] = await all();
      expect([again?.status, again?.tries]).to.deep.equal(['pending', 1]);
      expect(again?.dueAt).to.be.within(now + 1, now + 15_000);
      now += 15_000;
      await listener.start();
      await one.sendDue();
      expect(listener.recipients).to.deep.equal(['late@example.com']);
      expect(await store.mails.retry(organisationId, id)).to.equal('not-failed');
    });

    it('to a recipient that is refused fail at once, and the others get theirs', async () => {
      listener.refused.add('gone@example.com');
      await store.mails.add(mail('a@example.com', 'gone@example.com', 'b@example.com'));
      await sender().sendDue();
      expect(listener.recipients).to.deep.equal(['a@example.com', 'b@example.com']);
      const failed = (await all()).filter(({ status }) => status === 'failed');
      expect(failed).to.have.length(1);
      expect(failed[0]).to.include({ recipient: 'gone@example.com', tries: 1 });
      expect(failed[0]?.error).to.include('550').and.include('no such mailbox');
    });

    it('are sent once by a server that answers 250 and hangs up', async () => {
      const fake = await rawServer((socket, line) => {
        if (line === '.') socket.end('250 queued\r\n');
      });
      await store.mails.add(mail('a@example.com', 'b@example.com', 'c@example.com'));
      const one = sender(fake.url);
      await passMinutes(3, one);
      fake.stop();
      expect(fake.accepted.sort()).to.deep.equal(['a@example.com', 'b@example.com', 'c@example.com']);
      expect((await all()).every(({ status }) => status === 'sent')).to.equal(true);
    });

    it('that hold a link keep it encrypted, and lose it once they were sent', async () => {
      await listener.stop();
      const link = new Secret(`http://localhost:8787/accept#token=${token}`);
      await store.mails.add({ ...mail('new@example.com'), kind: 'invite', link });
      const one = sender();
      await one.sendDue();
      expect(JSON.stringify(await all())).not.to.include(token);
      expect((await all())[0]?.hasLink).to.equal(true);
      await listener.start();
      await passMinutes(1, one);
      expect(plainText(listener.mails[0]?.raw ?? '')).to.include(token);
      expect((await all())[0]?.hasLink).to.equal(false);
      expect(JSON.stringify(lines)).not.to.include(token);
    });

    it('are not sent again by a node that was killed between the answer and its record', async () => {
      await store.mails.add(mail('a@example.com'));
      const claimed = (await store.mails.claim(120_000))!;
      // What a process leaves that is killed in this moment.
      new SentNotes(join(dataDir, 'killed')).add(claimed.id);
      const next = sender(listener.url, 'killed');
      next.begin();
      now += hourMs;
      await next.stop();
      await sender().sendDue();
      expect(listener.mails).to.deep.equal([]);
      expect((await all())[0]?.status).to.equal('sent');
    });

    it('are not sent again by a node that starts long after it was killed with several of them', async () => {
      await store.mails.add(mail(...Array.from({ length: 9 }, (_, i) => `r${i}@example.com`)));
      const left = new SentNotes(join(dataDir, 'killed-long-ago'));
      for (let i = 0; i < 8; i++) left.add((await store.mails.claim(120_000))!.id);
      now += hourMs;
      const next = sender(listener.url, 'killed-long-ago');
      next.begin();
      await eventually('all are sent', async () => (await all()).every(({ status }) => status === 'sent'));
      expect(listener.mails).to.have.length(1);
    });

    it('are not sent again after the store was away, from the answer on, for longer than a claim holds', async () => {
      await store.mails.add(mail('a@example.com'));
      let isAway = true;
      const one = sender(listener.url, `notes-${++count}`, {
        claim: (holdMs) => store.mails.claim(holdMs),
        async settle(sent, outcome) {
          if (isAway) throw new Error('away');
          return store.mails.settle(sent, outcome);
        },
      });
      const sending = one.sendDue();
      await eventually('it has arrived', async () => listener.mails.length === 1);
      now += hourMs;
      const again = one.sendDue();
      isAway = false;
      await Promise.all([sending, again]);
      expect(listener.mails).to.have.length(1);
      expect((await all())[0]?.status).to.equal('sent');
    });

    it('are sent by another node when the one that claimed them has died', async () => {
      await store.mails.add(mail('a@example.com'));
      await store.mails.claim(120_000);
      const one = sender();
      await passMinutes(1, one);
      expect(listener.mails).to.deep.equal([]);
      await passMinutes(2, one);
      expect(listener.recipients).to.deep.equal(['a@example.com']);
    });

    if (dialect === 'postgres')
      it('are claimed once by nodes whose clocks differ by ten minutes', async () => {
        const real = Date.now;
        const another = folder();
        const nodes: Store[] = [];
        try {
          for (const aheadMs of [0, 10 * minuteMs]) {
            Date.now = () => real() + aheadMs;
            nodes.push(await open(another));
          }
          await bootstrap(nodes[0]!, { dataDir: another, simulated: false });
          const { organisationId } = (await nodes[0]!.first())!;
          for (const node of nodes) await node.mails.add({ ...mail('a@example.com'), organisationId });
          const claimed = [];
          for (const node of [...nodes, ...nodes]) claimed.push((await node.mails.claim(120_000))?.id);
          expect(claimed.filter((id) => id !== undefined)).to.have.length(2);
          expect(new Set(claimed).size).to.equal(3);
        } finally {
          Date.now = real;
          for (const node of nodes) await node.close();
        }
      });

    it('with line ends in a name have no more headers, and rearrange nothing', async () => {
      const content = {
        subject: 'Key rotated: Shop\r\nBcc: victim@example.com\r\n\r\nbody \u202eelohw',
        paragraphs: ['a\r\n.\r\nMAIL FROM:<x@example.com>'],
        facts: [['Key', `${'x'.repeat(100_000)}\ud800`]] as const,
      };
      const hostile = ['a@example.com\r\nRCPT TO:<victim@example.com>', 'a b@example.com', 'ok@example.com'];
      await store.mails.add({ ...mail(...hostile), content });
      await sender().sendDue();
      expect(listener.recipients).to.deep.equal(['ok@example.com']);
      const { raw } = listener.mails[0]!;
      expect(raw).not.to.match(/^Bcc:/im);
      expect(raw.length).to.be.lessThan(10_000);
      expect(raw).not.to.include('\u202e');
    });
  });
});

interface RawServer {
  readonly url: string;
  readonly accepted: string[];
  stop(): void;
}

/** A server of its own words, for what `smtp-server` does not do. */
async function rawServer(onEnd: (socket: Socket, line: string) => void): Promise<RawServer> {
  const accepted: string[] = [];
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    let inData = false;
    let to = '';
    let rest = '';
    socket.on('error', () => {});
    socket.write('220 fake\r\n');
    socket.on('data', (bytes) => {
      rest += bytes.toString('latin1');
      const found = rest.split('\r\n');
      rest = found.pop() ?? '';
      for (const line of found) {
        if (inData) {
          if (line !== '.') continue;
          inData = false;
          accepted.push(to);
          onEnd(socket, line);
        } else if (line.startsWith('RCPT')) {
          to = /<(.*)>/.exec(line)?.[1] ?? '';
          socket.write('250 ok\r\n');
        } else if (line === 'DATA') {
          inData = true;
          socket.write('354 go\r\n');
        } else socket.write('250 ok\r\n');
      }
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    accepted,
    stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
