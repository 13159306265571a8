import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

/** A mail that a listener has accepted. */
export interface ReceivedMail {
  readonly to: string;
  readonly from: string;
  /** Head and body, as they came. */
  readonly raw: string;
  readonly messageId: string;
  readonly subject: string;
}

/** Quoted-printable text, with its soft line ends joined. */
export const plainText = (raw: string): string =>
  raw
    .replaceAll('=\r\n', '')
    .replace(/(?:=[0-9A-F]{2})+/g, (bytes) => Buffer.from(bytes.replaceAll('=', ''), 'hex').toString());

/** A real mail server that keeps what it accepts. */
export class SmtpListener {
  readonly mails: ReceivedMail[] = [];
  /** Called before a mail is accepted; may refuse it by throwing. */
  onMail: (mail: ReceivedMail) => void | Promise<void> = () => {};
  /** Recipients that are refused with 550. */
  readonly refused = new Set<string>();
  #server: SMTPServer | null = null;
  #port = 0;

  constructor(readonly options: SMTPServerOptions = {}) {}

  get url(): string {
    return `smtp://127.0.0.1:${this.#port}`;
  }

  get port(): number {
    return this.#port;
  }

  get recipients(): string[] {
    return this.mails.map(({ to }) => to).sort();
  }

  /** Begins to listen, after a stop on the same port. */
  async start(): Promise<this> {
    const server = new SMTPServer({
      authOptional: true,
      hideSTARTTLS: true,
      disableReverseLookup: true,
      onRcptTo: ({ address }, _session, done) => {
        if (!this.refused.has(address)) return done();
        done(Object.assign(new Error('5.1.1 no such mailbox'), { responseCode: 550 }));
      },
      onData: (stream, session, done) => {
        let raw = '';
        stream.setEncoding('utf8');
        stream.on('data', (piece: string) => {
          raw += piece;
        });
        stream.on('end', () => {
          const { mailFrom, rcptTo } = session.envelope;
          const head = raw.replace(/\r\n[ \t]+/g, ' ');
          const header = (name: string) => new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1]?.trim() ?? '';
          const mail = {
            to: rcptTo[0]?.address ?? '',
            from: mailFrom === false ? '' : mailFrom.address,
            raw,
            messageId: header('message-id'),
            subject: header('subject'),
          };
          Promise.resolve(this.onMail(mail)).then(
            () => {
              this.mails.push(mail);
              done();
            },
            (error: Error) => done(error),
          );
        });
      },
      ...this.options,
    });
    server.on('error', () => {});
    const listening = server.listen(this.#port, '127.0.0.1') as Server;
    await once(listening, 'listening');
    this.#port = (listening.address() as AddressInfo).port;
    this.#server = server;
    return this;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    if (server !== null) await new Promise<void>((done) => server.close(() => done()));
  }
}
