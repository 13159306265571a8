import { scheduler } from 'node:timers/promises';
import type MailComposer from 'nodemailer/lib/mail-composer';
import type SMTPConnection from 'nodemailer/lib/smtp-connection';
import type { ClaimedMail } from '../store/store.js';
import { mailText } from './mail-text.js';
import type { SmtpServer } from './smtp-server-address.js';

/** The result of sending a mail. `refused`: the server will never accept it; `failed`: it may accept it later. */
export type SendResult =
  | { readonly is: 'accepted' }
  | { readonly is: 'refused' | 'failed'; readonly reason: string };

/** Milliseconds. */
const connectMs = 10_000;
const idleMs = 20_000;
/** From the connection, or from the mail before on the same one, to the answer. */
const sendMs = 45_000;
/** Of one answer of the server. Bytes. */
const longestReply = 64 * 1024;

interface Failure extends Error {
  readonly code?: string;
  readonly command?: string;
  readonly responseCode?: number;
  readonly response?: string;
}

/** One connection to the mail server, over which mails are sent one after the other. */
export class SmtpLink {
  readonly #server: SmtpServer;
  readonly #connection: SMTPConnection;
  readonly #Composer: typeof MailComposer;
  /** Rejects when the connection is lost; never resolves. */
  readonly #lost: Promise<never>;
  #isOpen = false;
  #isClosed = false;

  private constructor(server: SmtpServer, Connection: typeof SMTPConnection, Composer: typeof MailComposer) {
    this.#server = server;
    this.#Composer = Composer;
    const { host, port, secure, requireTls, ignoreTls, verify, name } = server;
    this.#connection = new Connection({
      ...{ host, port, secure, requireTLS: requireTls, ignoreTLS: ignoreTls },
      ...(name !== null && { name }),
      tls: { rejectUnauthorized: verify, minVersion: 'TLSv1.2' },
      connectionTimeout: connectMs,
      greetingTimeout: connectMs,
      dnsTimeout: connectMs,
      socketTimeout: idleMs,
      socketCloseTimeout: 1000,
      maxResponseSize: longestReply,
      logger: false,
    });
    this.#lost = new Promise((_, reject) => {
      this.#connection.once('error', (error: Error) => {
        this.#isClosed = true;
        reject(error);
      });
      this.#connection.once('end', () => {
        this.#isClosed = true;
        reject(new Error('The server has closed the connection.'));
      });
    });
    this.#lost.catch(() => {});
    // Further errors of a connection that is being closed are ignored.
    this.#connection.on('error', () => {});
  }

  /** Loads the library; nothing is connected before the first mail. */
  static async to(server: SmtpServer): Promise<SmtpLink> {
    const [{ default: Connection }, { default: Composer }] = await Promise.all([
      import('nodemailer/lib/smtp-connection'),
      import('nodemailer/lib/mail-composer'),
    ]);
    return new SmtpLink(server, Connection, Composer);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Never rejects. Where it was not accepted, the connection is closed. */
  async send(mail: ClaimedMail, stop: AbortSignal): Promise<SendResult> {
    const over = new AbortController();
    const signal = AbortSignal.any([stop, over.signal]);
    const late = scheduler.wait(sendMs, { signal }).then(
      () => {
        throw new Error('The server took too long.');
      },
      () => {
        throw new Error('The gateway is stopping.');
      },
    );
    late.catch(() => {});
    try {
      await Promise.race([this.#sendOne(mail), this.#lost, late]);
      return { is: 'accepted' };
    } catch (error) {
      this.close();
      return this.#resultOf(error as Failure);
    } finally {
      over.abort();
    }
  }

  async #sendOne(mail: ClaimedMail): Promise<void> {
    const message = await this.#compose(mail);
    await this.#open();
    const { from } = this.#server;
    const envelope = { from: from.address, to: [mail.recipient], size: message.length };
    await called((done) => this.#connection.send(envelope, message, done));
  }

  async #open(): Promise<void> {
    if (this.#isOpen) return;
    await called((done) => this.#connection.connect((error) => done(error ?? null)));
    const { login } = this.#server;
    if (login !== null)
      await called((done) =>
        this.#connection.login({ user: login.user, pass: login.password.reveal() }, done),
      );
    this.#isOpen = true;
  }

  async #compose(mail: ClaimedMail): Promise<Buffer> {
    const { from } = this.#server;
    const composer = new this.#Composer({
      from: { name: from.name, address: from.address },
      to: { name: '', address: mail.recipient },
      ...mailText(mail.content, mail.link?.reveal() ?? null),
      // The same for each attempt, so that the server or the reader recognises a duplicate.
      messageId: `<${mail.id}@${from.address.slice(from.address.lastIndexOf('@') + 1)}>`,
      date: new Date(mail.createdAt),
      headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    return called<Buffer>((done) => composer.compile().build(done));
  }

  #resultOf(error: Failure): SendResult {
    const { command = '', responseCode = 0 } = error;
    const isPermanent = responseCode >= 500 && responseCode < 600;
    // Only a recipient or a text is refused for good. Errors about the sender or the password can be fixed by the operator.
    const isRefused = isPermanent && (command === 'RCPT TO' || command === 'DATA');
    return { is: isRefused ? 'refused' : 'failed', reason: this.#reasonOf(error) };
  }

  /** The error without texts that were sent to the server, which its answer may repeat. */
  #reasonOf({ code = '', command = '', responseCode = 0, response = '', message }: Failure): string {
    if (responseCode === 0) {
      if (code === '') return message;
      return `${code}: no connection to the mail server, or it was lost`;
    }
    const step = command === '' ? '' : ` to ${command}`;
    // Before the text is sent, the password is the only secret that the server has received.
    const isShown = /^(?:RCPT TO|MAIL FROM|EHLO|HELO|CONN)$/.test(command) && this.#server.login === null;
    const words = isShown
      ? response.split('\n')[0]
      : (/^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})?/.exec(response)?.[0] ?? '');
    return `the mail server answered${step}: ${printable(words || String(responseCode))}`;
  }

  /** Ends the session; the server may have ended the connection already. */
  quit(): void {
    if (this.#isOpen && !this.#isClosed) this.#connection.quit();
    this.#isClosed = true;
    // A server that does not answer is not waited for.
    setTimeout(() => this.#connection.close(), 1000).unref();
  }

  close(): void {
    this.#isClosed = true;
    this.#connection.close();
  }
}

const printable = (text: string): string =>
  text
    .replace(/[^\x20-\x7e]+/g, '?')
    .trim()
    .slice(0, 200);

type Done<T> = (error: Error | null, value?: T) => void;

const called = <T>(call: (done: Done<T>) => void): Promise<T> =>
  new Promise((resolve, reject) => {
    call((error, value) => (error ? reject(error) : resolve(value as T)));
  });
