import { scheduler } from 'node:timers/promises';
import type MailComposer from 'nodemailer/lib/mail-composer';
import type SMTPConnection from 'nodemailer/lib/smtp-connection';
import type { ClaimedMail } from '../store/store.js';
import { mailText } from './mail-text.js';
import type { SmtpServer } from './smtp-server-address.js';

/**
 * The result of sending a mail. `refused`: the server will never accept it; `postponed`: it does not accept this one now,
 * but maybe others; `failed`: it accepts none now.
 */
export type SendResult =
  | { readonly is: 'accepted' }
  | { readonly is: 'refused' | 'postponed' | 'failed'; readonly reason: string };

/** Milliseconds. */
export interface SmtpTimes {
  /** For the connection, and for the server's greeting. */
  readonly connectMs: number;
  /** Without any data from the server. */
  readonly idleMs: number;
  /** From the connection, or the previous mail on it, to the answer. */
  readonly sendMs: number;
}

const usualTimes: SmtpTimes = { connectMs: 10_000, idleMs: 20_000, sendMs: 45_000 };
/** Of all answers of the server while one mail is sent. Bytes. */
const mostReplied = 64 * 1024;

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

  /** Bytes that the server may still send before the next mail. */
  #replyBytes = mostReplied;

  private constructor(
    server: SmtpServer,
    readonly times: SmtpTimes,
    Connection: typeof SMTPConnection,
    Composer: typeof MailComposer,
  ) {
    this.#server = server;
    this.#Composer = Composer;
    const { host, port, secure, requireTls, ignoreTls, verify, name } = server;
    const { connectMs, idleMs } = times;
    this.#connection = new Connection({
      ...{ host, port, secure, requireTLS: requireTls, ignoreTLS: ignoreTls },
      ...(name !== null && { name }),
      tls: { rejectUnauthorized: verify, minVersion: 'TLSv1.2' },
      connectionTimeout: connectMs,
      greetingTimeout: connectMs,
      dnsTimeout: connectMs,
      socketTimeout: idleMs,
      socketCloseTimeout: 1000,
      maxResponseSize: mostReplied,
      logger: false,
    });
    this.#boundReplies();
    this.#lost = new Promise((_, reject) => {
      const lose = (error: Error): void => {
        this.#isClosed = true;
        // An answer that has already arrived counts: the command receives it in this turn.
        setImmediate(() => reject(error));
      };
      this.#connection.once('error', lose);
      this.#connection.once('end', () => lose(new Error('The server has closed the connection.')));
    });
    this.#lost.catch(() => {});
    // Further errors of a connection that is being closed are ignored.
    this.#connection.on('error', () => {});
  }

  /** Loads the library; nothing is connected before the first mail. */
  static async to(server: SmtpServer, times = usualTimes): Promise<SmtpLink> {
    const [{ default: Connection }, { default: Composer }] = await Promise.all([
      import('nodemailer/lib/smtp-connection'),
      import('nodemailer/lib/mail-composer'),
    ]);
    return new SmtpLink(server, times, Connection, Composer);
  }

  /**
   * Closes the connection to a server that sends without end. `maxResponseSize` bounds each reply, but not their number: a
   * stream of empty lines would keep this process busy. Overrides an internal method of the library, since the
   * bytes of an encrypted connection are accessible nowhere else.
   */
  #boundReplies(): void {
    const connection = this.#connection as unknown as { _onData(chunk: Buffer): void };
    const receive = connection._onData;
    connection._onData = (chunk) => {
      if (this.#replyBytes < 0) return;
      receive.call(connection, chunk.subarray(0, this.#replyBytes));
      this.#replyBytes -= chunk.length;
      if (this.#replyBytes >= 0) return;
      this.#connection.emit('error', new Error('The server sends too much data.'));
      this.#connection.close();
    };
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Never rejects. Where it was not accepted, the connection is closed. */
  async send(mail: ClaimedMail, stop: AbortSignal): Promise<SendResult> {
    this.#replyBytes = mostReplied;
    const over = new AbortController();
    const signal = AbortSignal.any([stop, over.signal]);
    const late = scheduler.wait(this.times.sendMs, { signal }).then(
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
    const reason = this.#reasonOf(error);
    // Errors about the sender or the password can be fixed by the operator. 421: the server is about to close.
    const isOfMail = (command === 'RCPT TO' || command === 'DATA') && responseCode !== 421;
    if (!isOfMail || responseCode < 400 || responseCode > 599) return { is: 'failed', reason };
    return { is: responseCode < 500 ? 'postponed' : 'refused', reason };
  }

  /** The error without texts that were sent to the server, which its answer may repeat. */
  #reasonOf({ code = '', command = '', responseCode = 0, response = '', message }: Failure): string {
    if (responseCode === 0) {
      if (code === '') return message;
      const fault = tlsFault(message);
      return `${code}: ${fault ?? 'no connection to the mail server, or the connection was lost'}`;
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
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (!this.#isOpen) return this.#connection.close();
    this.#connection.quit();
    // A server that does not answer is not waited for.
    setTimeout(() => this.#connection.close(), 1000).unref();
  }

  close(): void {
    this.#isClosed = true;
    this.#connection.close();
  }
}

/** The fault of the server's certificate, as reported by TLS; null: none. */
function tlsFault(message: string): string | null {
  const [fault] =
    /(?:self-signed )?certificate\b.*|unable to verify.*|unable to get .*issuer.*|wrong version number/i.exec(
      message,
    ) ?? [];
  return fault === undefined ? null : printable(`TLS: ${fault}`);
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
