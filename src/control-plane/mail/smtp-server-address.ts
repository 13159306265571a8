import { emailProblem } from '../../common/access/email.js';
import { Secret } from '../../common/access/secret.js';
import { RefusedStart } from '../store/files/refused-start.js';

/** How the mail server is reached, and who mails are from. */
export interface SmtpServer {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte on; otherwise STARTTLS, where the server offers it. */
  readonly secure: boolean;
  /** No mail without TLS. */
  readonly requireTls: boolean;
  /** STARTTLS is not used even if it is offered. */
  readonly ignoreTls: boolean;
  /** Must the server's certificate be valid? */
  readonly verify: boolean;
  /** Name that the gateway gives itself; null: the machine's. */
  readonly name: string | null;
  readonly login: { readonly user: string; readonly password: Secret } | null;
  readonly from: MailSender;
}

export interface MailSender {
  readonly name: string;
  readonly address: string;
}

const parameters = ['requireTLS', 'ignoreTLS', 'tls.rejectUnauthorized', 'name'];

const refuse = (problem: string): never => {
  throw new RefusedStart(`smtp_url ${problem}`);
};

function truth(query: URLSearchParams, name: string, usual: boolean): boolean {
  const text = query.get(name);
  if (text === null) return usual;
  if (text !== 'true' && text !== 'false') return refuse(`has ${name}, which must be true or false.`);
  return text === 'true';
}

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return refuse('has a user or password that is not percent-encoded: write % as %25.');
  }
};

const isLoopback = (host: string): boolean => /^(?:localhost|127(?:\.\d+){3}|::1)$/i.test(host);

/** Throws RefusedStart for an URL that can't be used. `publicUrl`: mails are from its host unless `from` is given. */
export function smtpServerOf(url: Secret, from: string | null, publicUrl: string | null): SmtpServer {
  const text = url.reveal();
  if (!URL.canParse(text)) return refuse('is not a URL: smtp://user:password@host:port.');
  const { protocol, hostname, port, username, password, pathname, searchParams } = new URL(text);
  const host = hostname.replace(/^\[|\]$/g, '');
  if (host === '') return refuse('names no host.');
  if (pathname !== '' && pathname !== '/') return refuse('has a path: parameters follow a ?.');
  for (const name of searchParams.keys())
    if (!parameters.includes(name))
      return refuse(`has an unknown parameter; known are ${parameters.join(', ')}.`);
  const requireTls = truth(searchParams, 'requireTLS', false);
  const secure = protocol === 'smtps:';
  return {
    host,
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    requireTls,
    ignoreTls: truth(searchParams, 'ignoreTLS', false),
    // The certificate of a relay on the same machine is mostly one that it made itself.
    verify: truth(searchParams, 'tls.rejectUnauthorized', requireTls || !isLoopback(host)),
    name: searchParams.get('name'),
    login: username === '' ? null : { user: decoded(username), password: new Secret(decoded(password)) },
    from: senderOf(from, publicUrl),
  };
}

/** `name@host` or `Name <name@host>`; a sentence without its beginning for a text that is neither. */
export function readSender(text: string): MailSender | string {
  const [, name = '', address = text.trim()] = /^([^<>]*)<([^<>]+)>\s*$/.exec(text) ?? [];
  const problem = emailProblem(address.trim());
  if (problem !== null) return problem;
  return { name: name.trim().replace(/^"(.*)"$/, '$1'), address: address.trim() };
}

function senderOf(from: string | null, publicUrl: string | null): MailSender {
  if (from !== null) {
    const read = readSender(from);
    if (typeof read === 'string') throw new RefusedStart(`mail_from ${read}`);
    return read;
  }
  const host = publicUrl === null ? 'localhost' : new URL(publicUrl).hostname;
  const address = `headgate@${host}`;
  return { name: 'Headgate', address: emailProblem(address) === null ? address : 'headgate@localhost' };
}
