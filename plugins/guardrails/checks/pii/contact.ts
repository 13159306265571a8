import { isIPv6 } from 'node:net';
import { code, digits, letters, type TokenKind } from '../detect/kind.js';
import { email } from './email.js';

/** Country calling codes, ITU-T E.164. */
const callingCode =
  /^(?:1|7|2(?:0|7|1[1-368]|2\d|3\d|4\d|5[0-8]|6\d|9[01789])|3(?:[0-469]|5\d|7[0-8]|8[0-35-79])|4(?:[013-9]|2[0134])|5(?:[1-8]|0\d|9\d)|6(?:[0-6]|7[02-9]|8[0-35-9]|9[0-2])|8(?:[1246]|5[02356]|8[0-68])|9(?:[0-58]|6[0-8]|7[0-79]|9[2-68]))/;

const phoneWords = [
  ...[
    'phone',
    'phones',
    'tel',
    'telephone',
    'mobile',
    'cell',
    'cellphone',
    'fax',
    'call',
    'text',
    'sms',
    'whatsapp',
  ],
  ...[
    'dial',
    'ring',
    'hotline',
    'telefon',
    'telefonnummer',
    'handy',
    'mobil',
    'rufnummer',
    'durchwahl',
    'anrufen',
  ],
  ...['téléphone', 'portable', 'appelez', 'teléfono', 'telefono', 'móvil', 'celular', 'llámame', 'cellulare'],
  ...['telefone', 'telemóvel', 'telefoon', 'mobiel', 'gsm', 'bel', 'telefonu', 'komórka', 'puhelin', 'reach'],
];

/** Numbers of other kinds in the same groups. */
const notPhone = ['nhs', 'isbn', 'tracking', 'serial', 'invoice'];

const hasDigits = (value: string, from: number, to: number): boolean => {
  const count = value.replaceAll(/\D/g, '').length;
  return count >= from && count <= to;
};

/** `+49 30 901820`, `0049…`: any country. */
export const internationalPhone: TokenKind = {
  id: 'PHONE_NUMBER',
  title: 'telephone number with its country code',
  example: '+49 30 901820',
  longest: 28,
  first: [digits(1, 15)],
  lead: '+',
  pattern: /\+\d{1,15}(?: ?\(\d{1,6}\)\d{0,8})?(?:[ .\-/]\d{1,12}){0,6}(?!\d)/y,
  valid: (value) => callingCode.test(value.slice(1).replaceAll(/\D/g, '')) && hasDigits(value, 8, 15),
};

export const dialledPhone: TokenKind = {
  id: 'PHONE_NUMBER',
  title: 'telephone number with its country code after 00',
  example: '0044 20 7946 0958',
  longest: 28,
  first: [digits(4, 5)],
  next: ' -.',
  pattern: /00[1-9]\d{0,2}(?:[ .-]\(?\d{1,5}\)?){2,6}(?!\d)/y,
  valid: (value) => callingCode.test(value.slice(2).replaceAll(/\D/g, '')) && hasDigits(value, 10, 17),
};

/** North America: `(212) 555-0173`, `212-555-0173`. */
export const americanPhone: TokenKind = {
  id: 'PHONE_NUMBER',
  title: 'telephone number of North America',
  example: '212-555-0173',
  longest: 20,
  first: [digits(3), digits(1)],
  next: '-. ',
  unless: notPhone,
  pattern: /(?:1[-. ])?[2-9]\d\d([-. ])[2-9]\d\d\1\d{4}(?: ?(?:x|ext\.?) ?\d{1,5})?/y,
};

export const bracketedPhone: TokenKind = {
  id: 'PHONE_NUMBER',
  title: 'telephone number with its area code in brackets',
  example: '(212) 555-0173',
  longest: 24,
  first: [digits(2, 5)],
  next: ')',
  lead: '(',
  pattern:
    /\((?:[2-9]\d\d\) ?[2-9]\d\d[-. ]\d{4}|0\d{1,4}\) ?\d{3,8}(?:[ -]\d{2,6}){0,3}|\d\d\) ?9?\d{4}[- ]\d{4})/y,
};

/** `020 7946 0958`, `030/901820`, `01 42 68 53 00`: a country's own form begins with 0. */
export const nationalPhone: TokenKind = {
  id: 'PHONE_NUMBER',
  title: 'telephone number in its country, beginning with 0',
  example: '020 7946 0958',
  longest: 20,
  first: [digits(2, 5)],
  next: ' -/.',
  pattern:
    /0[1-9](?:([ .-])\d\d(?:\1\d\d){3}|\d{1,3}(?: ?[ /-] ?)(?:\d\d(?: \d\d){2,4}|\d{3,8}(?:[ -]\d{2,5}){0,2}))/y,
  near: phoneWords,
  // Five pairs are French; other groupings are those of dates and references too.
  valid: (value, { named, text, start }) =>
    hasDigits(value, 9, 12) &&
    !/\d $/.test(text.slice(Math.max(0, start - 2), start)) &&
    (named || /^0[1-9]([ .])\d\d(?:\1\d\d){3}$/.test(value) || /^0\d{2,4} \d{3,4} \d{3,4}$/.test(value)),
};

/** Digits without form, after a word for telephones. */
export const namedPhone: TokenKind = {
  id: 'PHONE_NUMBER',
  title: 'telephone number after a word such as “phone”',
  example: 'phone 2125550173',
  longest: 20,
  first: [digits(2, 13)],
  pattern: /\d{2,13}(?:[ .\-/]\d{2,8}){0,4}/y,
  near: phoneWords,
  needs: 'always',
  valid: (value) => hasDigits(value, 9, 13) && !/^(?:19|20)\d\d[-./]\d\d[-./]\d\d/.test(value),
};

const notAddress = [
  'version',
  'ver',
  'release',
  'build',
  'firmware',
  'section',
  'chapter',
  'v',
  'oid',
  'driver',
  'kernel',
];

export const ipv4: TokenKind = {
  id: 'IP_ADDRESS',
  title: 'IPv4 address',
  example: '203.0.113.9',
  longest: 18,
  first: [digits(1, 3)],
  next: '.',
  pattern:
    /(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}(?:(?=\/\d{1,2}(?!\d))|(?![.\d]\d|\d))/y,
  inside: true,
  unless: notAddress,
  valid: (value, { text, start, end }) =>
    !/^(?:0\.|127\.|255\.255\.255\.)/.test(value) &&
    // The versions of browsers end so, and no host has such an address.
    !/\.0\.0\.0$/.test(value) &&
    !(start > 1 && /[\w.\-@]/.test(text[start - 1]!) && /\w/.test(text[start - 2]!)) &&
    !/[\w-]/.test(text[end] ?? ''),
};

export const ipv6: TokenKind = {
  id: 'IP_ADDRESS',
  title: 'IPv6 address',
  example: '2001:db8::8a2e:370:7334',
  longest: 45,
  first: [digits(1, 4), letters(1, 4), code(2, 4)],
  next: ':',
  pattern: /[0-9a-f]{1,4}:(?:[0-9a-f]{0,4}:){1,6}[0-9a-f]{0,4}(?![:\w])/iy,
  inside: true,
  valid: (value, { text, start }) =>
    !/[\w:.]/.test(text[start - 1] ?? '') &&
    // Names in programs are written `a::b`.
    /\d/.test(value) &&
    value.split(':').filter((part) => part !== '').length >= 3 &&
    isIPv6(value),
};

export const mac: TokenKind = {
  id: 'MAC_ADDRESS',
  title: 'MAC address',
  example: '3c:22:fb:9a:01:7e',
  longest: 17,
  first: [digits(2), letters(2), code(2), digits(4), code(4)],
  next: ':-.',
  pattern:
    /(?:[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}|[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4})(?![:\-.]?[0-9a-z])/iy,
  inside: true,
  valid: (value, { text, start }) =>
    // A fingerprint of a key is longer.
    !/[\w:.-]/.test(text[start - 1] ?? '') &&
    !/^(?:00|ff)([:-])(?:(?:00|ff)\1?){5}$/i.test(value) &&
    /\d/.test(value),
};

export const contactKinds = [
  email,
  internationalPhone,
  dialledPhone,
  americanPhone,
  bracketedPhone,
  nationalPhone,
  ipv4,
  ipv6,
  mac,
];
