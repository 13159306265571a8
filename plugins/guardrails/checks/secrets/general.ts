import type { SearchKind, TokenKind } from '../detect/kind.js';
import { eachOccurrence } from '../detect/occurrences.js';
import { classOf } from '../detect/tokens.js';

const pemHeader = /-----BEGIN (?:[A-Z0-9]{2,12} ){0,2}PRIVATE KEY(?: BLOCK)?-----/y;
/** Lines before the key, its base64, perhaps with line feeds written as in JSON, and the last line. */
const pemBody =
  /(?:[\s\\rn]{0,6}[A-Za-z-]{3,20}: [^\n\\]{0,100}){0,4}[A-Za-z0-9+/=\s\\]{0,8000}(?:-----END (?:[A-Z0-9]{2,12} ){0,2}PRIVATE KEY(?: BLOCK)?-----)?/y;

const pemBegin = '-----BEGIN';
/**
 * The beginning of one, up to the end of the text. Lines before the key, and its base64, are captured looking ahead and then
 * repeated: what they have matched is not tried in shorter forms.
 */
const pemOpen =
  /-----BEGIN[A-Z0-9 ]{0,30}(?:-{1,5}(?=(?<lines>(?:[\s\\rn]{0,6}[A-Za-z-]{0,20}: [^\n\\]{0,100}){0,4}))\k<lines>(?:[\s\\rn]{0,6}[A-Za-z-]{0,20}:?|(?=(?<base64>[A-Za-z0-9+/=\s\\]{0,8000}))\k<base64>(?:-{1,5}(?:E|EN|END[A-Z0-9 ]{0,30}-{0,5})?)?))?$/y;

export const privateKey: SearchKind = {
  id: 'PRIVATE_KEY',
  title: 'private key in PEM, also as a text in JSON, as in a key file of a Google service account',
  example: `-----BEGIN ${'RSA '}PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----`,
  longest: 8700,
  open(text, from) {
    const begins = text.lastIndexOf(pemBegin);
    if (begins !== -1) {
      pemOpen.lastIndex = begins;
      if (pemOpen.test(text)) return Math.max(from, begins);
    }
    for (let length = pemBegin.length - 1; length > 0; length--)
      if (text.endsWith(pemBegin.slice(0, length))) return Math.max(from, text.length - length);
    return text.length;
  },
  search(text, from, to, found) {
    eachOccurrence(text, '-----BEGIN', from, to, (start) => {
      pemHeader.lastIndex = start;
      if (!pemHeader.test(text)) return;
      pemBody.lastIndex = pemHeader.lastIndex;
      pemBody.test(text);
      found(start, pemBody.lastIndex);
    });
  },
};

const jwtForm = /eyJ[A-Za-z0-9_-]{8,2000}\.eyJ[A-Za-z0-9_-]{4,6000}\.[A-Za-z0-9_-]{0,1000}/y;
/** The beginning of one. */
const jwtOpen =
  /^(?:e|ey|eyJ[A-Za-z0-9_-]{0,2000}(?:\.(?:e|ey|eyJ[A-Za-z0-9_-]{0,6000}(?:\.[A-Za-z0-9_-]{0,1000})?)?)?)$/;

export const jsonWebToken: SearchKind = {
  id: 'JWT',
  title: 'JSON web token',
  example: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJqYW5lIn0.c2lnbmF0dXJlLW9mLXRoZS10b2tlbg',
  longest: 9010,
  open(text, from) {
    const least = Math.max(0, text.length - this.longest);
    let [at, begins] = [text.length, text.length];
    for (let parts = 0; parts < 3; parts++) {
      while (at > least && isBase64(text.charCodeAt(at - 1))) at--;
      if (jwtOpen.test(text.slice(at))) begins = at;
      if (at === least || text[at - 1] !== '.') break;
      at--;
    }
    return Math.max(from, begins);
  },
  search(text, from, to, found) {
    let after = from;
    eachOccurrence(text, 'eyJ', from, to, (start) => {
      if (start < after || isBase64(text.charCodeAt(start - 1))) return;
      jwtForm.lastIndex = start;
      if (!jwtForm.test(text)) return;
      after = jwtForm.lastIndex;
      const header = Buffer.from(text.slice(start, text.indexOf('.', start)), 'base64url').toString('latin1');
      if (header.includes('"alg"')) found(start, after);
    });
  },
};

const isBase64 = (code: number): boolean => classOf(code) !== 0 || code === 45 || code === 95;

const credentials = /\/\/(?<value>[^\s:@/'"<>`]{0,64}:(?<password>[^\s@/'"<>`]{3,128}))@[A-Za-z0-9[]/y;

const credentialsOpen = /^[^\s:@/'"<>`]{0,64}(?::[^\s@/'"<>`]{0,128}@?)?$/;

export const urlCredentials: SearchKind = {
  id: 'URL_CREDENTIALS',
  title: 'user and password in a URL',
  example: 'postgres://app:c0rrect-horse@db.internal:5432/app',
  longest: 220,
  open(text, from) {
    const begins = text.lastIndexOf('://') + 3;
    return begins > 2 && credentialsOpen.test(text.slice(begins)) ? Math.max(from, begins) : text.length;
  },
  search(text, from, to, found) {
    const part = text.slice(Math.max(0, from - 3), to);
    const offset = Math.max(0, from - 3);
    for (let at = part.indexOf('://'); at !== -1; at = part.indexOf('://', at + 1)) {
      const start = offset + at + 3;
      if (start < from || start >= to) continue;
      credentials.lastIndex = start - 2;
      const match = credentials.exec(text);
      if (match === null || isPlaceholder(match.groups!['password']!)) continue;
      found(start, start + match.groups!['value']!.length);
    }
  },
};

const placeholder =
  /^(?:[$%{<[(*].*|x+|\.+|-+|_+|(?:your|example|dummy|sample|insert|replace)[-_ ]?.*|(?:my|some|the|an?|test|fake|enter)[-_ ].*|pass(?:word)?|passwd|pwd|secret|token|changeme|change[-_]me|redacted|null|none|nil|undefined|true|false|string|process\.env.*|os\.(?:environ|getenv).*|env\..*|getenv.*|config\..*|settings\..*|self\..*|this\..*|.*\(.*)$/i;

const isPlaceholder = (value: string): boolean => placeholder.test(value) || /^(.)\1*$/.test(value);

/** Bits that a character of the text carries by the frequencies of its characters. */
export function entropy(text: string): number {
  const counts = new Map<string, number>();
  for (const char of text) counts.set(char, (counts.get(char) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const isRandom = (value: string): boolean =>
  value.length >= 16 &&
  /\d/.test(value) &&
  /[A-Za-z]/.test(value) &&
  entropy(value) >= 3.2 &&
  !isPlaceholder(value) &&
  !/^(?:\d{4}-\d\d-\d\d|https?:|[a-z]+(?:[-_./][a-z]+)+[-_./]?v?\d{0,4}$)/i.test(value);

const assigned = String.raw`["']?\s{0,3}(?::=|=>|[:=])\s{0,3}["']?`;

/** Passwords need no randomness: their name is enough, unless the value is a placeholder or a word of prose. */
export const password: TokenKind = {
  id: 'PASSWORD',
  title: 'password after its name',
  example: 'password = "Tr0ub4dor&3"',
  longest: 170,
  first: [],
  words: ['password', 'passwd', 'pwd', 'passphrase', 'passwort', 'kennwort', 'contraseña', 'senha', 'mot'],
  pattern: new RegExp(
    String.raw`(?:mot de passe|[\p{L}]{3,10})(?: (?:is|ist|est|es|é) |${assigned})["']?(?<value>[^\s"',;<>]{6,128})`,
    'iuy',
  ),
  inside: true,
  valid: (value) => {
    const bare = value.replace(/[.!?)\]]+$/, '');
    const mixed = [/\d/, /[a-z]/, /[A-Z]/, /[^A-Za-z0-9]/].filter((each) => each.test(bare)).length;
    return bare.length >= 6 && mixed >= 2 && /[\d\W_]/.test(bare) && !isPlaceholder(bare);
  },
};

export const assignedSecret: TokenKind = {
  id: 'SECRET_VALUE',
  title: 'random value after a name such as “api_key”, “token” or “secret”',
  example: 'api_key = "f3b91c77aa02de84b6c5d1097e"',
  longest: 330,
  first: [],
  words: [
    'key',
    'apikey',
    'token',
    'accesstoken',
    'authtoken',
    'secret',
    'clientsecret',
    'credential',
    'credentials',
    'secretkey',
  ],
  pattern: new RegExp(
    `(?:(?<=(?:api|access|secret|private|encryption|auth|signing|master|account|service|client|shared)[-_ ]?)key|apikey|secretkey|(?:access|auth)?token|(?:client)?secret|credentials?)${assigned}(?<value>[A-Za-z0-9_+/=.~-]{15,299}[A-Za-z0-9_+/=~-])`,
    'iy',
  ),
  inside: true,
  valid: (value, { text, start }) =>
    isRandom(value) && (!uuid.test(value) || /secret/i.test(text.slice(Math.max(0, start - 24), start))),
};

export const authorization: TokenKind = {
  id: 'AUTHORIZATION',
  title: 'token after “Bearer” or “Basic”',
  example: 'Authorization: Bearer 9f8a7b6c5d4e3f2a1b0c9d8e',
  longest: 2060,
  first: [],
  words: ['bearer', 'basic'],
  next: ' ',
  pattern:
    /(?:bearer|(?<=authorization["']?[:=] ?["']?)basic) (?<value>[A-Za-z0-9_+/=.~-]{15,1999}[A-Za-z0-9_+/=~-])/iy,
  inside: true,
  valid: isRandom,
};

export const generalSecrets = [
  privateKey,
  jsonWebToken,
  urlCredentials,
  password,
  authorization,
  assignedSecret,
];
