// lane: slow
import { expect } from 'chai';
import { headgateHere } from '../support/cli-bench.js';
import { eventually, pause, type RunningGateway, startGateway } from '../support/gateway.js';
import { flood, ScriptedSmtp } from '../support/scripted-smtp.js';
import { plainText, type ReceivedMail, SmtpListener } from '../support/smtp-listener.js';
import { expectWithinMs, scaled } from '../support/time-limits.js';

const dayMs = 86_400_000;

describe('a gateway with a mail server', function () {
  this.timeout(scaled(40_000));
  let gateway: RunningGateway;
  let listener: SmtpListener;
  let output = '';

  before(async () => {
    listener = await new SmtpListener().start();
    gateway = await startGateway({
      env: {
        SMTP_URL: listener.url,
        HEADGATE_MAIL_FROM: 'Gateway <gateway@example.com>',
        HEADGATE_SCHEDULES: 'key-rotation=1',
      },
    });
    for (const stream of [gateway.process.stdout, gateway.process.stderr])
      stream?.on('data', (text: Buffer) => {
        output += text.toString();
      });
  });
  after(async () => {
    await gateway?.stop();
    await listener?.stop();
  });

  const headgate = (...args: string[]) => headgateHere(args, gateway.env);

  /** The mails to an address, when there are so many. */
  async function mailsTo(address: string, count: number): Promise<ReceivedMail[]> {
    const found = () => listener.mails.filter(({ to }) => to === address);
    await eventually(`${count} mails to ${address}`, async () => found().length >= count);
    expect(found()).to.have.length(count);
    return found();
  }

  const keyOf = (more: object) =>
    gateway.admin().api.apiKeys.createApiKey({
      ...{ type: 'workspace', sub_type: 'service', name: 'Shop', scopes: ['completions.write'] },
      ...{ workspace_id: gateway.workspaceId, ...more },
    });

  it('sends the link of an invitation, and another one when it is sent again', async () => {
    const { api } = gateway.admin();
    const invite = await api.invites.createInvite({
      ...{ email: 'new@example.com', role: 'member' },
      workspaces: [{ id: gateway.workspaceId, role: 'member' }],
    });
    const [first] = await mailsTo('new@example.com', 1);
    expect(plainText(first!.raw)).to.include(invite.invite_link);
    const again = await api.invites.resendInvite({ invite_id: invite.id });
    const second = (await mailsTo('new@example.com', 2))[1];
    expect(plainText(second!.raw)).to.include(again.invite_link).and.not.include(invite.invite_link);
  });

  it('reports a rotation by hand with no secret in it, and refuses a second one during the transition', async () => {
    const { id, key } = await keyOf({ alert_emails: ['rotated@example.com'] });
    const ran = await headgate('keys', 'rotate', id, '--json');
    const rotated = JSON.parse(ran.stdout);
    const [mail] = await mailsTo('rotated@example.com', 1);
    const text = plainText(mail!.raw);
    expect(mail!.subject).to.equal('Key rotated: Shop');
    expect(text).to.include(id).and.not.include(key).and.not.include(rotated.key);
    const again = await headgate('keys', 'rotate', id);
    expect(again.code).to.equal(1);
    expect(again.stderr).to.include('This key is being rotated');
    const revealed = await headgate('keys', 'reveal-rotated', id);
    expect([revealed.code, revealed.stdout]).to.deep.equal([3, '']);
    expect(revealed.stderr).to.include('There is no new secret to reveal');
  });

  it('warns of a rotation and of an expiry within a day, and reports an expiry, once each', async () => {
    const tomorrow = new Date(Date.now() + dayMs).toISOString();
    await keyOf({
      alert_emails: ['ahead@example.com'],
      rotation_policy: { next_rotation_at: tomorrow },
      expires_at: tomorrow,
    });
    const expiring = await keyOf({
      alert_emails: ['expired@example.com'],
      expires_at: new Date(Date.now() + 4000).toISOString(),
    });
    const ahead = await mailsTo('ahead@example.com', 2);
    expect(ahead.map(({ subject }) => subject).sort()).to.deep.equal([
      'Key expires soon: Shop',
      'Key will be rotated: Shop',
    ]);
    const expired = await mailsTo('expired@example.com', 2);
    expect(expired.map(({ subject }) => subject)).to.deep.equal([
      'Key expires soon: Shop',
      'Key expired: Shop',
    ]);
    const { status, expiry_enforced } = await gateway.admin().api.apiKeys.getApiKey({ id: expiring.id });
    expect([status, expiry_enforced]).to.deep.equal(['expired', 1]);
  });

  it('sends a test mail, lists what was sent, and shows what was refused', async () => {
    const sent = await headgate('mail', 'test', 'admin@example.com');
    expect(sent.stdout).to.include('The mail server has accepted the mail to admin@example.com.');
    listener.refused.add('gone@example.com');
    const refused = await headgate('mail', 'test', 'gone@example.com');
    expect(refused.code).to.equal(1);
    expect(refused.stderr).to.include('550');
    const listed = JSON.parse((await headgate('mail', 'list', '--status', 'failed', '--json')).stdout);
    expect(listed).to.have.length(1);
    expect(listed[0]).to.deep.include({
      ...{ object: 'mail', kind: 'test', recipient: 'gone@example.com' },
      ...{ status: 'failed', attempts: 1, sent_at: null, next_attempt_at: null },
    });
    listener.refused.clear();
    const retried = await headgate('mail', 'retry-failed');
    expect(retried.stdout).to.equal('Mails that are sent again: 1.\n');
    await mailsTo('gone@example.com', 1);
    const none = await headgate('mail', 'retry', listed[0].id);
    expect(none.code).to.equal(4);
    const wrong = await headgate('mail', 'test', 'no address');
    expect(wrong.stderr).to.include('address must be an e-mail address');
  });

  it('keeps links out of its lists, its audit log and its log', async () => {
    const { api } = gateway.admin();
    const { invite_link } = await api.invites.createInvite({
      ...{ email: 'canary@example.com', role: 'member' },
      workspaces: [{ id: gateway.workspaceId, role: 'member' }],
    });
    await mailsTo('canary@example.com', 1);
    const token = invite_link.split('#token=')[1]!;
    const rows = await api.auditLogs.listAuditLogs({
      ...{ start_time: '2020-01-01T00:00:00Z', end_time: '2100-01-01T00:00:00Z' },
    });
    const mails = await api.mail.listMails({});
    expect(JSON.stringify([rows, mails, output])).not.to.include(token);
  });
});

describe('a gateway whose mail server does not behave', function () {
  this.timeout(scaled(60_000));

  it('tries again within 15 s, and answers as fast as ever', async () => {
    const server = await new ScriptedSmtp().start();
    const gateway = await startGateway({ env: { SMTP_URL: server.url } });
    try {
      const { api } = gateway.admin();
      const invite = (email: string) =>
        api.invites.createInvite({
          ...{ email, role: 'member' },
          workspaces: [{ id: gateway.workspaceId, role: 'member' }],
        });
      /** What twenty calls take, which the control process answers, while it mails as often. */
      const callsTake = async (who: string): Promise<number> => {
        let sum = 0;
        for (let i = 0; i < 20; i++) {
          const asked = performance.now();
          await invite(`${who}-${i}@example.com`);
          await api.apiKeys.listApiKeys({});
          sum += performance.now() - asked;
          await pause(50);
        }
        return sum;
      };
      let postponedAt = 0;
      server.script = (step) => {
        if (step !== 'RCPT' || postponedAt > 0) return undefined;
        postponedAt = performance.now();
        return '451 4.7.1 come back later';
      };
      await invite('postponed@example.com');
      await eventually('the second try', async () => server.accepted.length === 1, 20_000);
      expectWithinMs(performance.now() - postponedAt, 15_000, { atLeast: 5000 });
      for (const [who, reply] of [
        ['empty-lines', flood('\r\n')],
        ['lines', flood('250-more\r\n')],
        ['silent', null],
      ] as const) {
        server.script = (step) => (step === 'connect' ? reply : undefined);
        expectWithinMs(await callsTake(who), 2500, { what: `twenty calls beside a server of ${who}` });
      }
      expect(server.connections).to.be.at.least(6);
    } finally {
      await gateway.stop();
      server.stop();
    }
  });
});

describe('a gateway without a mail server', function () {
  this.timeout(scaled(20_000));

  it('logs that nothing is mailed, and answers with the link of an invitation', async () => {
    const gateway = await startGateway();
    try {
      const { api } = gateway.admin();
      const { invite_link } = await api.invites.createInvite({
        ...{ email: 'new@example.com', role: 'member' },
        workspaces: [{ id: gateway.workspaceId, role: 'member' }],
      });
      expect(invite_link).to.include('#token=');
      expect((await api.mail.listMails({})).total).to.equal(0);
      const ran = await headgateHere(['mail', 'test', 'a@example.com'], gateway.env);
      expect(ran.code).to.equal(1);
      expect(ran.stderr).to.include('smtp_url is not set');
    } finally {
      await gateway.stop();
    }
  });
});
