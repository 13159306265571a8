import { join } from 'node:path';
import { closedOutbox, type Outbox, openOutbox } from '../../control-plane/mail/outbox.js';
import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';
import type { DataDirectory } from './data-directory.js';
import type { Records } from './store.js';

export interface MailGiven {
  readonly outbox: Outbox;
  /** null: there is no mail server. */
  readonly mailing: { stop(): Promise<void> } | null;
}

/** Sends mails. Parts that are listed after this one may add some. */
export const mailPart: ProcessPart<Base & DataDirectory & Records, MailGiven> = {
  name: 'mail',
  async start({ settings, store, log }) {
    const { smtpUrl, mailFrom, publicUrl, dataDir } = settings;
    if (smtpUrl === null) {
      log.info({}, 'smtp_url is not set: nothing is mailed.');
      return { outbox: closedOutbox, mailing: null };
    }
    const [{ Mailing }, { smtpServerOf }, { SentNotes }] = await Promise.all([
      import('../../control-plane/mail/mailing.js'),
      import('../../control-plane/mail/smtp-server-address.js'),
      import('../../control-plane/mail/sent-notes.js'),
    ]);
    const server = smtpServerOf(smtpUrl, mailFrom, publicUrl);
    const notes = new SentNotes(join(dataDir, 'sent-mails'));
    const mailing = new Mailing({ mails: store.mails, server, notes, log });
    mailing.begin();
    return { outbox: openOutbox(store), mailing };
  },
  stop: ({ mailing }) => mailing?.stop(),
  // Mails that are being sent have 5 s; those that are cancelled then are released in the store.
  stopMs: 8000,
};
