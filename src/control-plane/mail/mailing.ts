import { scheduler } from 'node:timers/promises';
import type { Logger } from '../../common/plugin-host/plugin.js';
import type { ClaimedMail, MailOutcome, MailStore } from '../store/store.js';
import type { SentNotes } from './sent-notes.js';
import { SmtpLink, type SmtpTimes } from './smtp-link.js';
import type { SmtpServer } from './smtp-server-address.js';

export interface MailingOptions {
  readonly mails: Pick<MailStore, 'claim' | 'settle'>;
  readonly server: SmtpServer;
  readonly notes: SentNotes;
  readonly log: Logger;
  /** To the mail server at a time. */
  readonly connections?: number;
  /** How often new mails are looked for. Milliseconds. */
  readonly everyMs?: number;
  /** After this time another node may send a claimed mail, since the one that claimed it must have died. Longer than any try. */
  readonly holdMs?: number;
  /** Time limits for the server. */
  readonly times?: SmtpTimes;
}

const usualConnections = 3;
const usualEveryMs = 1000;
const usualHoldMs = 120_000;
/** The wait after the first failed try; each further wait is three times as long, up to the longest. */
const firstWaitMs = 10_000;
const longestWaitMs = 600_000;
/** Mails that are being sent when the process ends have this long to arrive. Milliseconds. */
const stopMs = 5000;
/** The same problem is logged again after this long. */
const remindMs = 60_000;

/** Sends the mails that are due. Every node with a mail server does; each mail is sent by the node that claims it. */
export class Mailing {
  readonly #options: MailingOptions;
  /** Begins no further mail. */
  readonly #stop = new AbortController();
  /** Cancels the mails that are being sent. */
  readonly #cut = new AbortController();
  #loops: Promise<unknown> = Promise.resolve();
  #problem = '';
  #problemAt = 0;

  constructor(options: MailingOptions) {
    this.#options = options;
  }

  begin(): void {
    const { connections: length = usualConnections } = this.#options;
    // A mail in the file may be due: it must be recorded as sent before any mail is claimed, or it would be sent again.
    this.#loops = this.#settleNoted().then(() => Promise.all(Array.from({ length }, () => this.#loop())));
  }

  /**
   * Waits for the mails that are being sent: if the server's answer were lost, they would be sent twice. Mails that take too
   * long are cancelled; another node, or the next start, sends them.
   */
  async stop(): Promise<void> {
    this.#stop.abort();
    const late = setTimeout(() => this.#cut.abort(), stopMs);
    await this.#loops;
    clearTimeout(late);
    this.#options.notes.close();
  }

  async #loop(): Promise<void> {
    const { signal } = this.#stop;
    const { everyMs = usualEveryMs } = this.#options;
    while (!signal.aborted) {
      await this.sendDue();
      await scheduler.wait(everyMs, { signal }).catch(() => {});
    }
  }

  /** Records mails that a previous process has sent without recording them. Never rejects. */
  async #settleNoted(): Promise<void> {
    for (const id of this.#options.notes.before) if (!(await this.#recordSent({ id, tries: 0 }))) return;
  }

  /** Sends what is due, until nothing is or the server can't be reached. Never rejects. */
  async sendDue(): Promise<void> {
    const { mails, notes, server, times, holdMs = usualHoldMs } = this.#options;
    let link: SmtpLink | null = null;
    try {
      while (!this.#stop.signal.aborted) {
        const mail = await mails.claim(holdMs);
        if (mail === null) return;
        // Accepted, but not recorded while the store was unavailable for longer than a claim lasts.
        if (notes.has(mail.id)) {
          await this.#recordSent(mail);
          continue;
        }
        if (link === null || link.isClosed) link = await SmtpLink.to(server, times);
        const goesOn = await this.#sendOne(link, mail);
        if (!goesOn) return;
      }
    } catch (error) {
      this.#report('Mails wait for the store.', { err: error });
    } finally {
      link?.quit();
    }
  }

  /** false: the mail server cannot be used now. */
  async #sendOne(link: SmtpLink, mail: ClaimedMail): Promise<boolean> {
    const { notes, log } = this.#options;
    const result = await link.send(mail, this.#cut.signal);
    if (result.is === 'accepted') {
      notes.add(mail.id);
      return this.#recordSent(mail);
    }
    const { reason } = result;
    const outcome =
      result.is === 'refused' ? { is: 'failed' as const, error: reason } : this.#retry(mail, reason);
    if (outcome.is === 'failed') {
      log.error(
        { mail: mail.id, kind: mail.kind, reason },
        'A mail was not accepted and is not tried again.',
      );
    } else if (!this.#cut.signal.aborted) {
      this.#report('A mail was not accepted; it is tried again.', { mail: mail.id, reason });
    }
    await this.#settle(mail, outcome);
    return result.is !== 'failed';
  }

  /** false: the process ends before; the next one reads the file. */
  async #recordSent(mail: Pick<ClaimedMail, 'id' | 'tries'>): Promise<boolean> {
    const isRecorded = await this.#settle(mail, { is: 'sent' });
    if (isRecorded) this.#options.notes.remove(mail.id);
    return isRecorded;
  }

  #retry({ tries, leftMs }: ClaimedMail, error: string): MailOutcome {
    // Cut off by the end of this process: the next one sends it at once.
    if (this.#cut.signal.aborted) return { is: 'retry', afterMs: 0, error };
    const wait = Math.min(longestWaitMs, firstWaitMs * 3 ** Math.min(10, tries - 1));
    // Mails that failed together are not all tried again at the same time.
    const afterMs = Math.round(wait * (0.9 + 0.2 * Math.random()));
    return afterMs > leftMs ? { is: 'failed', error } : { is: 'retry', afterMs, error };
  }

  /** Resolves when it is stored; false: the process ends before. */
  async #settle(mail: Pick<ClaimedMail, 'id' | 'tries'>, outcome: MailOutcome): Promise<boolean> {
    const { signal } = this.#stop;
    for (;;) {
      try {
        await this.#options.mails.settle(mail, outcome);
        return true;
      } catch (error) {
        this.#report('What became of a mail is not recorded yet.', { err: error, mail: mail.id });
        if (signal.aborted) return false;
        await scheduler.wait(1000, { signal }).catch(() => {});
      }
    }
  }

  #report(message: string, fields: object): void {
    const now = performance.now();
    if (message === this.#problem && now - this.#problemAt < remindMs) return;
    this.#problem = message;
    this.#problemAt = now;
    this.#options.log.warn(fields, message);
  }
}
