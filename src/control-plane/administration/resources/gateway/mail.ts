import { randomUUID } from 'node:crypto';
import type { MailMessage } from '../../../../../proto/messages.js';
import { normalEmail } from '../../../../common/access/email.js';
import { closedOutbox } from '../../../mail/outbox.js';
import type { Mail, MailFilter } from '../../../store/store.js';
import { AdminError } from '../../admin-error.js';
import { pageOf, timeOf, timeOrNull } from '../../grpc/wire.js';
import type { AdminParts, Service } from '../../service.js';

const toMessage = (mail: Mail): MailMessage => ({
  id: mail.id,
  object: 'mail',
  kind: mail.kind,
  recipient: mail.recipient,
  subject: mail.content.subject,
  status: mail.status,
  attempts: mail.tries,
  error: mail.error,
  created_at: timeOf(mail.createdAt),
  next_attempt_at: timeOrNull(mail.dueAt),
  sent_at: timeOrNull(mail.sentAt),
  workspace_id: mail.workspaceId,
  resource_id: mail.resourceId,
});

const missing = (): AdminError => new AdminError('AB08', 'There is no such mail.');

/** Mails that the gateway sends. */
export function mailService({ store: { mails }, outbox = closedOutbox }: AdminParts): Service<'Mail'> {
  return {
    async ListMails(caller, request) {
      const { total, rows } = await mails.list(
        caller.organisationId,
        {
          status: (request.status as MailFilter['status']) || undefined,
          kind: (request.kind as MailFilter['kind']) || undefined,
          recipient: request.recipient || undefined,
        },
        pageOf(request),
      );
      return { object: 'list', total, data: rows.map(toMessage) };
    },

    async GetMail(caller, { id }) {
      const mail = await mails.get(caller.organisationId, id);
      if (mail === null) throw missing();
      return toMessage(mail);
    },

    async RetryMail(caller, { id }) {
      const mail = await mails.retry(caller.organisationId, id);
      if (mail === 'missing') throw missing();
      if (mail === 'not-failed')
        throw new AdminError(
          'AB07',
          'This mail has not failed: it was sent, or will be tried again by itself.',
        );
      if (mail === 'spent')
        throw new AdminError(
          'AB07',
          'The link of this invitation has expired: resend the invitation, which makes a new one.',
        );
      caller.changed({ id, workspaceId: mail.workspaceId });
      return toMessage(mail);
    },

    async TestMail(caller, request) {
      if (!outbox.isOpen)
        throw new AdminError('AB01', 'smtp_url is not set: set SMTP_URL and start the gateway again.');
      const { organisationId } = caller;
      const event = `test:${randomUUID()}`;
      const recipient = normalEmail(request.address);
      await outbox.add({
        organisationId,
        workspaceId: null,
        kind: 'test',
        event,
        resourceId: caller.id,
        recipients: [recipient],
        content: {
          subject: 'Test mail',
          paragraphs: ['The gateway can send mails to this address.'],
          facts: [],
        },
      });
      const { rows } = await mails.list(
        organisationId,
        { kind: 'test', recipient },
        { offset: 0, limit: 50 },
      );
      const mail = rows.find((one) => one.event === event);
      if (mail === undefined) throw AdminError.field('address', 'must be an e-mail address.');
      caller.changed({ id: mail.id, workspaceId: null });
      return toMessage(mail);
    },
  };
}
