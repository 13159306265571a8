import { LRUCache } from 'lru-cache';
import { Secret } from '../../../common/access/secret.js';
import { GatewayError } from '../../../common/core/errors.js';
import type { Exchange } from '../../../common/core/exchange.js';
import { getHeader, type HeaderList } from '../../../common/http/headers.js';
import { directCredential } from '../../../common/plugin-host/slots.js';
import type { FieldValues } from '../../../common/vocabulary/provider-fields.js';
import type { Outgoing } from '../outgoing/outgoing.js';
import { emptyMask, SecretMask, shortestSecret } from './secret-mask.js';

/** The secrets of a call that its answer must not repeat. */
export interface CallSecrets {
  /** For every answer, including its headers. */
  readonly all: SecretMask;
  /** For the bodies of errors, which quote requests: the values of all stored headers as well. */
  readonly errors: SecretMask;
}

/** Headers by which providers are called with a credential. */
const credentialHeaders = [
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'x-amz-security-token',
  'cookie',
] as const;

/** Their values are public, and answers that explain them may repeat them. */
const publicHeaders = new Set([
  'accept',
  'anthropic-beta',
  'anthropic-version',
  'content-type',
  'openai-beta',
  'user-agent',
]);
/** A stored header with such a name holds a secret. */
const secretName = /auth|key|token|secret|pass|cred|cookie|session|sign|jwt/;
/** So does one whose value looks random, whatever its name. Words (`production`) occur in answers. */
const randomValue = /^(?=.*[0-9])(?=.*[A-Za-z])[!-~]{16,}$/;

const nothing: CallSecrets = { all: emptyMask, errors: emptyMask };

/**
 * The secrets of a call that is about to be sent: its credential, the stored provider's secret fields and headers, and
 * the credentials that authorizers, plugins and `forward_headers` have put into its headers. Masks of stored
 * secrets are prepared once per credential.
 */
export function callSecrets(outgoing: Outgoing, x: Exchange, hasAttemptHooks: boolean): CallSecrets {
  const { address, call } = outgoing;
  const masks = storedSecrets(outgoing, x);
  const { auth } = address.provider;
  const mayHaveMore = hasAttemptHooks || auth.kind === 'per-call' || call.target.forwardHeaders.length > 0;
  return mayHaveMore ? withSent(masks, call.headers) : masks;
}

/** The same error with a masked message. Without its cause, which may quote the same secret. */
export function withoutSecrets(error: GatewayError, mask: SecretMask): GatewayError {
  const message = mask.text(error.message);
  if (message === error.message) return error;
  const { code, param, errors, retryAfterMs } = error;
  return new GatewayError(code, message, {
    ...(param === null ? {} : { param }),
    ...(errors === null ? {} : { errors }),
    ...(retryAfterMs === null ? {} : { retryAfterMs }),
  });
}

interface Stored {
  readonly headers: readonly string[];
  readonly fields: FieldValues | null;
  readonly given: FieldValues | null;
  readonly masks: CallSecrets;
}

/** Bytes of a mask, many times those of its secrets. Calls may bring new secrets each time, in configs too. */
const bytesOf = ({ all, errors }: CallSecrets): number =>
  all.heldBytes + (errors === all ? 0 : errors.heldBytes);
const maxPrepared = 4_096;

/** For clients' own keys, by text, since each call has another object for it. */
const ownPrepared = new LRUCache<string, CallSecrets>({
  max: maxPrepared,
  maxSize: 8 * 1024 * 1024,
  sizeCalculation: bytesOf,
});
const maxOwnLength = 512;

function ownSecrets(credential: Secret): CallSecrets {
  const text = credential.reveal();
  let masks = ownPrepared.get(text);
  if (masks === undefined) {
    masks = masksOf(secretsIn(text), []);
    if (text.length <= maxOwnLength) ownPrepared.set(text, masks);
  }
  return masks;
}

/** By credential. One each: a stored credential has the same headers and fields in every call. */
const prepared = new LRUCache<object, Stored>({
  max: maxPrepared,
  maxSize: 16 * 1024 * 1024,
  sizeCalculation: ({ masks }) => bytesOf(masks),
});

function storedSecrets({ address, call }: Outgoing, x: Exchange): CallSecrets {
  const { credential, headers } = address;
  const fields = holdsSecret(address.fields) ? address.fields : null;
  const given = holdsSecret(call.target.fields) ? call.target.fields : null;
  const key = credential ?? (headers.length > 0 ? headers : (fields ?? given));
  if (key === null) return nothing;
  const known = prepared.get(key);
  if (known?.headers === headers && known.fields === fields && known.given === given) return known.masks;
  const isAlone = headers.length === 0 && fields === null && given === null;
  if (credential !== null && isAlone && credential === x.get(directCredential)) return ownSecrets(credential);
  const masks = prepare({ credential, headers, fields, given });
  prepared.set(key, { headers, fields, given, masks });
  return masks;
}

function holdsSecret(fields: FieldValues | null): boolean {
  for (const name in fields) if (fields[name] instanceof Secret) return true;
  return false;
}

function prepare(of: Omit<Stored, 'masks'> & { readonly credential: Secret | null }): CallSecrets {
  const secrets: string[] = [];
  const plain: string[] = [];
  if (of.credential !== null) secrets.push(...secretsIn(of.credential.reveal()));
  for (let i = 0; i < of.headers.length; i += 2) {
    const name = of.headers[i]!;
    const value = of.headers[i + 1]!;
    if (secretName.test(name) || (randomValue.test(value) && !publicHeaders.has(name)))
      secrets.push(...secretsIn(value));
    else plain.push(value);
  }
  for (const fields of [of.fields, of.given]) {
    for (const name in fields) {
      const value = fields[name];
      if (value instanceof Secret) secrets.push(...secretsIn(value.reveal()));
    }
  }
  return masksOf(secrets, plain);
}

/**
 * Adds the tokens and signatures that the call's headers have by now. These are prepared for
 * each call, so only in the forms in which a Base64 text can come back.
 */
function withSent(masks: CallSecrets, headers: HeaderList): CallSecrets {
  const forms: string[] = [];
  for (const name of credentialHeaders) {
    const value = getHeader(headers, name);
    if (value === undefined) continue;
    for (const secret of secretsIn(value)) {
      if (masks.all.has(secret)) continue;
      forms.push(secret);
      if (plainText.test(secret)) continue;
      forms.push(secret.replaceAll('/', '\\/'));
      if (secret.length <= maxManyForms) forms.push(urlForm(secret));
    }
  }
  if (forms.length === 0) return masks;
  const known = sentPrepared.get(masks.all);
  if (known?.base === masks && sameTexts(known.forms, forms)) return known.masks;
  const made = withForms(masks, forms);
  sentPrepared.set(masks.all, { base: masks, forms, masks: made });
  return made;
}

interface Sent {
  readonly base: CallSecrets;
  readonly forms: readonly string[];
  readonly masks: CallSecrets;
}

/** The latest one for each mask: a token of one call is sent with the next ones too. */
const sentPrepared = new LRUCache<SecretMask, Sent>({
  max: maxPrepared,
  maxSize: 8 * 1024 * 1024,
  sizeCalculation: ({ masks }) => bytesOf(masks),
});

const sameTexts = (some: readonly string[], others: readonly string[]): boolean =>
  some.length === others.length && some.every((text, i) => text === others[i]);

function withForms(masks: CallSecrets, forms: readonly string[]): CallSecrets {
  const all = new SecretMask(forms, masks.all);
  return { all, errors: masks.errors === masks.all ? all : new SecretMask(forms, masks.errors) };
}

function masksOf(secrets: readonly string[], plain: readonly string[]): CallSecrets {
  const all = new SecretMask(secrets.flatMap((secret) => formsOf(secret)));
  if (plain.length === 0) return { all, errors: all };
  return {
    all,
    errors: new SecretMask(
      plain.flatMap((value) => formsOf(value)),
      all,
    ),
  };
}

/** The secrets in a value: itself and its parts. */
function secretsIn(given: string): string[] {
  // A blank or a line break at its end would delay every piece of a stream with the same ending.
  const value = given.trim();
  if (value.startsWith('{')) return keysIn(value);
  if (!value.includes(' ')) return [value];
  const [, scheme = '', rest = ''] = /^([A-Za-z][A-Za-z0-9-]*) +(.*)$/.exec(value) ?? [];
  switch (scheme.toLowerCase()) {
    case '':
      return [value];
    case 'basic':
      return [rest, ...passwordIn(rest)];
    case 'aws4-hmac-sha256':
      return /\bSignature=([0-9a-f]+)/.exec(rest)?.slice(1) ?? [rest];
    default:
      return rest.length < shortestSecret ? [value] : [rest];
  }
}

/** RFC 7617: the password, or user and password together if the password is short. */
function passwordIn(base64: string): string[] {
  const pair = Buffer.from(base64, 'base64').toString();
  const colon = pair.indexOf(':');
  const password = pair.slice(colon + 1);
  if (colon === -1) return [];
  return [password.length < shortestSecret ? pair : password];
}

/** The long texts of a key file, such as a service account's, without URLs and e-mail addresses. */
function keysIn(json: string): string[] {
  try {
    const texts = Object.values(JSON.parse(json) as object).filter(
      (value): value is string => typeof value === 'string' && !/^https?:|@/.test(value),
    );
    const long = texts.filter((text) => text.length >= 40);
    return long.length === 0 ? [json] : long;
  } catch {
    return [json];
  }
}

/** Needs no escape anywhere, as most keys. */
const plainText = /^[A-Za-z0-9._-]*$/;

/** Characters. Longer ones are key files, which no URL contains: preparing all their forms is not worth it. */
const maxManyForms = 256;

/** The forms in which a text can come back: as it is, or as JSON, URLs, forms and HTML write it. */
function formsOf(secret: string): string[] {
  if (plainText.test(secret)) return [secret];
  const text = wellFormed(secret);
  const json = JSON.stringify(text).slice(1, -1);
  if (secret.length > maxManyForms) return [text, json, json.replaceAll('/', '\\/')];
  const escaped = urlForm(text);
  const form = new URLSearchParams([['', text]]).toString().slice(1);
  const urls = [escaped, form];
  return [
    text,
    json,
    json.replaceAll('/', '\\/'),
    json.replace(/[<>&'+\u0080-\uffff]/g, unicodeEscape),
    ...urls,
    ...urls.map((url) => url.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())),
    text.replace(/[&<>"']/g, (char: string) => entities[char]!),
  ];
}

/** Half a surrogate pair, which no header carries, cannot be encoded. */
const wellFormed = (text: string): string => Buffer.from(text).toString();
const urlForm = (text: string): string => encodeURIComponent(wellFormed(text));

const unicodeEscape = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
