// lane: slow
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { Secret } from '../../src/common/access/secret.js';
import { Mailing } from '../../src/control-plane/mail/mailing.js';
import { SentNotes } from '../../src/control-plane/mail/sent-notes.js';
import { smtpServerOf } from '../../src/control-plane/mail/smtp-server-address.js';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import type { Mail, Store } from '../../src/control-plane/store/store.js';
import { eventually, pause } from '../support/gateway.js';
import { heapInUse } from '../support/heap.js';
import { flood, ScriptedSmtp, type SmtpReply, type SmtpStep } from '../support/scripted-smtp.js';
import { SmtpListener } from '../support/smtp-listener.js';
import { folder, openSqliteStore } from '../support/stores.js';
import { expectWithinMs, scaled } from '../support/time-limits.js';

const minuteMs = 60_000;
/** In place of 10, 20 and 45 s. */
const times = { connectMs: scaled(300), idleMs: scaled(300), sendMs: scaled(600) };

describe('mail servers that misbehave', function () {
  this.timeout(scaled(20_000));
  let now = Date.UTC(2026, 10, 23, 12);
  let dataDir: string;
  let store: Store;
  let organisationId: string;
  let server: ScriptedSmtp;
  let lines: { readonly message: string; readonly reason?: string }[] = [];
  const senders: Mailing[] = [];
  let count = 0;

  before(async () => {
    dataDir = folder();
    store = await openSqliteStore(dataDir, () => now);
    await bootstrap(store, { dataDir, simulated: false });
    organisationId = (await store.first())!.organisationId;
  });
  after(() => store.close());

  beforeEach(async () => {
    now += 40 * 24 * 60 * minuteMs;
    await store.mails.prune();
    lines = [];
    server = await new ScriptedSmtp().start();
  });
  afterEach(async () => {
    for (const sender of senders.splice(0)) await sender.stop();
    server.stop();
  });

  function sender(url = server.url): Mailing {
    const note = (fields: object, message: string): unknown => lines.push({ ...fields, message });
    const made = new Mailing({
      mails: store.mails,
      server: smtpServerOf(new Secret(url), 'Gateway <gateway@example.com>', null),
      notes: new SentNotes(join(dataDir, `notes-${++count}`)),
      log: { info: note, warn: note, error: note },
      everyMs: 20,
      times,
    });
    senders.push(made);
    return made;
  }

  const add = (...recipients: string[]): Promise<void> =>
    store.mails.add({
      ...{ organisationId, workspaceId: null, kind: 'key_rotated', event: `e:${++count}`, resourceId: 'k' },
      recipients,
      content: { subject: 'Key rotated: Shop', paragraphs: ['It was rotated.'], facts: [['Key', 'Shop']] },
    });

  const all = async (): Promise<readonly Mail[]> =>
    (await store.mails.list(organisationId, {}, { offset: 0, limit: 1000 })).rows;
  const only = async (): Promise<Mail> => (await all())[0]!;

  /** The first try fails; the mail is due again within 15 s, and arrives then. */
  async function failsOnce(by: Mailing): Promise<Mail> {
    await by.sendDue();
    const failed = await only();
    expect([failed.status, failed.tries]).to.deep.equal(['pending', 1]);
    expect(failed.dueAt).to.be.within(now + 5000, now + 15_000);
    server.script = () => undefined;
    server.pauseMs = 0;
    now = failed.dueAt!;
    await by.sendDue();
    expect(await only()).to.include({ status: 'sent', tries: 2, error: null });
    return failed;
  }

  const steps: readonly SmtpStep[] = ['connect', 'EHLO', 'MAIL', 'RCPT', 'DATA', '.'];
  const at =
    (step: SmtpStep, reply: SmtpReply) =>
    (asked: SmtpStep): SmtpReply | undefined =>
      asked === step ? reply : undefined;

  for (const step of steps) {
    // A server that does not know EHLO is greeted with HELO.
    for (const code of step === 'EHLO' ? [421] : [421, 450, 452])
      it(`that answer ${code} at ${step} get the mail again, once`, async () => {
        server.script = at(step, `${code} not now`);
        await add('a@example.com');
        const { error } = await failsOnce(sender());
        expect(error).to.include(String(code));
        // Once the text may have been sent, only the code is shown.
        if (step !== 'DATA' && step !== '.') expect(error).to.include('not now');
        expect(server.accepted).to.deep.equal(['a@example.com']);
      });

    for (const code of [550, 554]) {
      if (step === 'EHLO') continue;
      const isFinal = step === 'RCPT' || step === 'DATA' || step === '.';
      it(`that answer ${code} at ${step} ${isFinal ? 'do not get the mail again' : 'get the mail again, once'}`, async () => {
        server.script = at(step, `${code} no`);
        await add('a@example.com');
        const one = sender();
        if (isFinal) {
          await one.sendDue();
          expect(await only()).to.include({ status: 'failed', tries: 1 });
          now += 60 * minuteMs;
          await one.sendDue();
          expect(server.accepted).to.deep.equal([]);
        } else {
          await failsOnce(one);
          expect(server.accepted).to.deep.equal(['a@example.com']);
        }
      });
    }

    it(`that are silent at ${step} are left, and get the mail again`, async () => {
      server.script = at(step, null);
      await add('a@example.com');
      const begun = performance.now();
      await failsOnce(sender());
      expectWithinMs(performance.now() - begun, 2000);
      // Where the answer to the text is lost, the server recognises the second one by its id.
      expect(new Set(server.arrived.map(({ id }) => id)).size).to.equal(1);
      expect(server.arrived).to.have.length(step === '.' ? 2 : 1);
    });

    it(`that hang up at ${step} get the mail again`, async () => {
      for (const end of ['end', 'resetAndDestroy'] as const) {
        await store.mails.prune();
        now += 40 * 24 * 60 * minuteMs;
        await store.mails.prune();
        server.arrived.length = 0;
        server.script = at(step, (socket) => void socket[end]());
        await add('a@example.com');
        await failsOnce(sender());
        expect(new Set(server.arrived.map(({ id }) => id)).size).to.equal(1);
        expect(server.arrived).to.have.length(step === '.' ? 2 : 1);
      }
    });

    for (const [name, piece] of [
      ['empty lines', '\r\n'],
      ['a line without end', 'x'],
      ['a reply without end', '250-more\r\n'],
      ['replies', '250 ok\r\n'],
    ] as const)
      it(`that flood the gateway with ${name} at ${step} are left at once`, async () => {
        server.script = at(step, flood(piece));
        await add('a@example.com');
        const one = sender();
        const before = process.memoryUsage().rss;
        const begun = performance.now();
        await one.sendDue();
        expectWithinMs(performance.now() - begun, 1500);
        expect(process.memoryUsage().rss - before).to.be.lessThan(50 * 1024 * 1024);
        // "250 ok" at the end of a text accepts it, whatever follows.
        const { status } = await only();
        expect(status).to.equal(step === '.' && piece.startsWith('250 ') ? 'sent' : 'pending');
      });
  }

  it('that hang up right after 250 get the mail once', async () => {
    for (const end of ['end', 'destroy', 'resetAndDestroy'] as const) {
      server.script = at('.', (socket) => void socket.write('250 ok\r\n', () => socket[end]()));
      await add(`${end}@example.com`);
    }
    const one = sender();
    for (let i = 0; i < 5; i++) {
      await one.sendDue();
      now += minuteMs;
    }
    expect((await all()).every(({ status }) => status === 'sent')).to.equal(true);
    expect(server.arrived).to.have.length(3);
  });

  it('that answer byte by byte get the mail once if they end in time, and are left otherwise', async () => {
    server.pauseMs = 1;
    await add('a@example.com');
    await sender().sendDue();
    expect([await only()].map(({ status }) => status)).to.deep.equal(['sent']);
    expect(server.arrived).to.have.length(1);
    now += 40 * 24 * 60 * minuteMs;
    await store.mails.prune();
    // Each byte comes long before the connection counts as idle.
    server.pauseMs = scaled(100);
    server.arrived.length = 0;
    await add('a@example.com');
    const begun = performance.now();
    await failsOnce(sender());
    expectWithinMs(performance.now() - begun, 2000);
    expect(server.arrived).to.have.length(1);
  });

  it('that postpone one mail get the others at once', async () => {
    let greylisted = 0;
    server.script = (step) =>
      step === 'RCPT' && greylisted++ < 30 ? '451 4.7.1 come back later' : undefined;
    await add(...Array.from({ length: 40 }, (_, i) => `r${i}@example.com`));
    const one = sender();
    await one.sendDue();
    expect(server.accepted).to.have.length(10);
    now += 15_000;
    await one.sendDue();
    expect(new Set(server.accepted).size).to.equal(40);
    expect(server.accepted).to.have.length(40);
  });

  it('that refuse the password get no mail and no second try at once', async () => {
    server.script = (step) =>
      step === 'EHLO'
        ? '250-fake\r\n250 AUTH PLAIN'
        : step === 'AUTH'
          ? '535 5.7.8 canary-password'
          : undefined;
    await add('a@example.com', 'b@example.com');
    const one = sender(server.url.replace('//', '//gateway:canary-password@'));
    await one.sendDue();
    expect(server.connections).to.equal(1);
    const shown = JSON.stringify([await all(), lines]);
    expect(shown).to.include('535 5.7.8').and.not.include('canary');
    expect(server.arrived).to.deep.equal([]);
  });

  it('that refuse the STARTTLS which they offer, or do not offer it although it is required, get no mail', async () => {
    server.script = (step) =>
      step === 'EHLO' ? '250-fake\r\n250 STARTTLS' : step === 'STARTTLS' ? '454 not now' : undefined;
    await add('a@example.com');
    const one = sender();
    await one.sendDue();
    expect((await only()).error).to.include('454');
    server.script = (step) => (step === 'STARTTLS' ? '502 unknown' : undefined);
    now += minuteMs;
    await sender(`${server.url}?requireTLS=true`).sendDue();
    expect((await only()).error).to.include('502');
    expect(server.steps).not.to.include('MAIL');
    expect(server.steps).not.to.include('RCPT');
  });

  it('that answer STARTTLS with plain text, before or in place of TLS, get no mail', async () => {
    for (const text of ['220 go\r\n250 ok\r\n250 ok', '220 go\r\nGET / HTTP/1.1\r\n']) {
      server.script = (step) =>
        step === 'EHLO' ? '250-fake\r\n250 STARTTLS' : step === 'STARTTLS' ? text : undefined;
      await add('a@example.com');
      await sender().sendDue();
      expect(server.arrived).to.deep.equal([]);
      now += minuteMs;
    }
    expect(server.steps).not.to.include('MAIL');
  });

  it('with a certificate that is not valid get no mail, and the error names the reason', async () => {
    const [key, cert] = ['key.pem', 'cert.pem'].map((name) => join(dataDir, name));
    execFileSync('openssl', [
      ...[
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-days',
        '2',
      ],
      ...['-keyout', key!, '-out', cert!, '-subj', '/CN=mail.example.com'],
    ]);
    const pair = { key: readFileSync(key!), cert: readFileSync(cert!) };
    for (const secure of [true, false]) {
      const listener = await new SmtpListener({ secure, hideSTARTTLS: false, ...pair }).start();
      try {
        await add(`${secure}@example.com`);
        const scheme = secure ? 'smtps' : 'smtp';
        const strict = `${scheme}://127.0.0.1:${listener.port}?tls.rejectUnauthorized=true`;
        await sender(strict).sendDue();
        const refused = (await all()).find(({ recipient }) => recipient === `${secure}@example.com`);
        expect(refused).to.include({ status: 'pending', tries: 1 });
        expect(refused?.error).to.match(/TLS: self-signed certificate/);
        expect(listener.mails).to.deep.equal([]);
        now += 15_000;
        // The certificate of a server on the same machine is accepted unless it is to be checked.
        await sender(`${scheme}://127.0.0.1:${listener.port}`).sendDue();
        expect(listener.recipients).to.deep.equal([`${secure}@example.com`]);
      } finally {
        await listener.stop();
      }
    }
  });

  it('that take their time get a mail once, though the gateway is stopped meanwhile', async () => {
    server.script = at('.', (socket) => {
      setTimeout(() => socket.write('250 ok\r\n'), 200);
    });
    await add('a@example.com');
    const one = sender();
    one.begin();
    await eventually('the text has arrived', async () => server.arrived.length === 1);
    await one.stop();
    expect((await only()).status).to.equal('sent');
    await sender().sendDue();
    expect(server.arrived).to.have.length(1);
  });

  it('take no more memory, however often they are tried', async () => {
    const replies = ['421 no', flood('\r\n')] as const;
    const one = sender();
    const tryOnce = async (i: number): Promise<void> => {
      server.script = at(steps[i % steps.length]!, replies[i % 2]!);
      now += 11 * minuteMs;
      await one.sendDue();
    };
    await add('a@example.com');
    for (let i = 0; i < 12; i++) await tryOnce(i);
    const before = heapInUse();
    const tries = 24;
    for (let i = 0; i < tries; i++) await tryOnce(i);
    // The last connection is closed by then.
    await pause(1100);
    expect(heapInUse() - before).to.be.lessThan(tries * 128 * 1024);
  });
});
