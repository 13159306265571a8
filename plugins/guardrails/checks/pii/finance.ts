import { createHash } from 'node:crypto';
import { digitsOf, luhn, remainder97, weighted } from '../detect/checksums.js';
import { keccak256 } from '../detect/keccak.js';
import { code, digits, letters, type Place, type TokenKind } from '../detect/kind.js';

/** Issuers' first digits with the lengths of their numbers. */
const issuers: readonly (readonly [RegExp, readonly number[]])[] = [
  [/^4/, [16, 19]],
  [/^(?:5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/, [16]],
  [/^3[47]/, [15]],
  [/^(?:6011|64[4-9]|65)/, [16, 19]],
  [/^3(?:0[0-5]|095|6|[89])/, [14, 16]],
  [/^35(?:2[89]|[3-8])/, [16]],
  [/^62/, [16, 17, 18, 19]],
  [/^220[0-4]/, [16]],
  [/^(?:50|5[678]|6304|6759|676[1-3])/, [16, 18, 19]],
  [/^(?:60|8[12])/, [16]],
];

/** Words near a payment card. */
const cardWords = [
  ...['card', 'visa', 'mastercard', 'amex', 'credit', 'debit', 'kreditkarte', 'karte', 'kartennummer'],
  ...['carte', 'tarjeta', 'carta', 'cartão', 'cartao', 'kaart', 'karta', 'kort', 'kortnummer', 'kortti'],
];
/** Between the groups of a number: one character, or a line break. */
const gap = '(?:[ .-]|[ -]?\\r?\\n)';

/** Has the number an issuer, its length and its checksum, and one sign between all groups that are not at a line break? */
const isCard = (value: string, { named, text, start }: Place): boolean => {
  const all = value.replaceAll(/\D/g, '');
  if (
    !issuers.some(([first, lengths]) => first.test(all) && lengths.includes(all.length)) ||
    !luhn(digitsOf(all)) ||
    /^(\d)\1+$/.test(all)
  )
    return false;
  const gaps = value.match(/\D+/g) ?? [];
  const signs = new Set(gaps.filter((one) => !one.includes('\n')));
  if (signs.size > 1) return false;
  if (gaps.every((one) => !one.includes('\n'))) return true;
  // Rows of a table have such groups too: a number within a line goes on in the next one, or a word names it.
  return named || (signs.size > 0 && /\p{L}[^\n]*$/u.test(text.slice(Math.max(0, start - 80), start)));
};

export const creditCard: TokenKind = {
  id: 'CREDIT_CARD',
  title: 'payment card: issuer, length and Luhn check',
  example: '4111 1111 1111 1111',
  longest: 25,
  first: [digits(4), digits(14, 19)],
  pattern: new RegExp(`\\d{4}(?:(?:${gap}\\d{4}){3}|${gap}\\d{6}${gap}\\d{4,5}|\\d{10,15})`, 'y'),
  near: cardWords,
  valid: isCard,
};

/** Beside it, since the last three digits may be those of a security code. */
export const longCard: TokenKind = {
  ...creditCard,
  title: 'payment card of 19 digits in groups',
  example: '4111 1111 1111 1111 110',
  longest: 31,
  first: [digits(4)],
  pattern: new RegExp(`\\d{4}(?:${gap}\\d{4}){3}${gap}\\d{3}`, 'y'),
};

/** Lengths by country, from the register of SWIFT. */
const ibanLengths: Readonly<Record<string, number>> = {
  AD: 24,
  AE: 23,
  AL: 28,
  AT: 20,
  AZ: 28,
  BA: 20,
  BE: 16,
  BG: 22,
  BH: 22,
  BR: 29,
  BY: 28,
  CH: 21,
  CR: 22,
  CY: 28,
  CZ: 24,
  DE: 22,
  DK: 18,
  DO: 28,
  EE: 20,
  EG: 29,
  ES: 24,
  FI: 18,
  FO: 18,
  FR: 27,
  GB: 22,
  GE: 22,
  GI: 23,
  GL: 18,
  GR: 27,
  GT: 28,
  HR: 21,
  HU: 28,
  IE: 22,
  IL: 23,
  IQ: 23,
  IS: 26,
  IT: 27,
  JO: 30,
  KW: 30,
  KZ: 20,
  LB: 28,
  LC: 32,
  LI: 21,
  LT: 20,
  LU: 20,
  LV: 21,
  LY: 25,
  MC: 27,
  MD: 24,
  ME: 22,
  MK: 19,
  MR: 27,
  MT: 31,
  MU: 30,
  NL: 18,
  NO: 15,
  PK: 24,
  PL: 28,
  PS: 29,
  PT: 25,
  QA: 29,
  RO: 24,
  RS: 22,
  SA: 24,
  SC: 31,
  SD: 18,
  SE: 24,
  SI: 19,
  SK: 24,
  SM: 27,
  ST: 25,
  SV: 28,
  TL: 23,
  TN: 24,
  TR: 26,
  UA: 29,
  VA: 22,
  VG: 24,
  XK: 20,
};

/** Written in one run or in groups of four, as long as the country's are. */
const ibanForms = [...new Set(Object.values(ibanLengths))].map((length) => {
  const countries = Object.keys(ibanLengths).filter((country) => ibanLengths[country] === length);
  const [groups, rest] = [Math.floor((length - 4) / 4), length % 4];
  const spaced = `(?: [A-Z0-9]{4}){${groups}}${rest > 0 ? ` [A-Z0-9]{${rest}}` : ''}`;
  return `(?:${countries.join('|')})\\d\\d(?:[A-Z0-9]{${length - 4}}|${spaced})`;
});

export const iban: TokenKind = {
  id: 'IBAN',
  title: 'bank account (IBAN): length of its country, modulus 97',
  example: 'DE89 3704 0044 0532 0130 00',
  longest: 42,
  first: [code(4), code(15, 32)],
  pattern: new RegExp(ibanForms.join('|'), 'y'),
  valid: (value) => {
    const all = value.replaceAll(' ', '');
    return remainder97(all.slice(4) + all.slice(0, 4)) === 1;
  },
};

const bankCountries = new Set([
  ...Object.keys(ibanLengths),
  'US',
  'CA',
  'AU',
  'NZ',
  'JP',
  'CN',
  'HK',
  'SG',
  'IN',
  'ZA',
  'MX',
  'AR',
  'CL',
  'CO',
  'KR',
  'TH',
  'MY',
  'ID',
  'PH',
  'VN',
  'TW',
  'NG',
  'KE',
  'RU',
]);

export const bic: TokenKind = {
  id: 'BIC',
  title: 'bank identifier (BIC), after a word such as “SWIFT”',
  example: 'BIC: DEUTDEFF500',
  longest: 11,
  first: [letters(8), code(8), letters(11), code(11)],
  next: '',
  pattern: /[A-Z]{4}[A-Z]{2}[A-Z2-9][A-Z0-9](?:[A-Z0-9]{3})?(?![A-Za-z0-9])/y,
  near: ['bic', 'swift', 'bankleitzahl', 'bank identifier'],
  needs: 'always',
  valid: (value) => bankCountries.has(value.slice(4, 6)),
};

export const routingNumber: TokenKind = {
  id: 'US_ROUTING_NUMBER',
  title: 'US bank routing number (ABA): its check digit, after a word such as “routing”',
  example: 'routing number 021000021',
  longest: 9,
  first: [digits(9)],
  next: '',
  pattern: /(?:0\d|1[0-2]|2[1-9]|3[0-2]|6[1-9]|7[0-2]|80)\d{7}/y,
  near: ['routing', 'aba', 'rtn', 'transit'],
  needs: 'always',
  valid: (value) => weighted(digitsOf(value), [3, 7, 1, 3, 7, 1, 3, 7, 1]) % 10 === 0,
};

const base58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

function base58check(value: string): boolean {
  let number = 0n;
  for (const char of value) number = number * 58n + BigInt(base58.indexOf(char));
  const bytes = Buffer.from(number.toString(16).padStart(50, '0'), 'hex');
  if (bytes.length !== 25) return false;
  const sha256 = (data: Buffer): Buffer => createHash('sha256').update(data).digest();
  return sha256(sha256(bytes.subarray(0, 21)))
    .subarray(0, 4)
    .equals(bytes.subarray(21));
}

const bech32Chars = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
const bech32Generator = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3];

/** BIP 173 and BIP 350, human-readable part `bc`. */
function bech32(value: string): boolean {
  const lower = value.toLowerCase();
  let check = 1;
  for (const part of [3, 3, 0, 2, 3, ...[...lower.slice(3)].map((char) => bech32Chars.indexOf(char))]) {
    const top = check >>> 25;
    check = ((check & 0x1ffffff) << 5) ^ part;
    for (let bit = 0; bit < 5; bit++) if (((top >>> bit) & 1) !== 0) check ^= bech32Generator[bit]!;
  }
  return check >>> 0 === (lower[3] === 'q' ? 1 : 0x2bc830a3);
}

export const bitcoin: TokenKind = {
  id: 'CRYPTO_ADDRESS',
  title: 'Bitcoin address: its checksum',
  example: 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4',
  longest: 90,
  first: [code(26, 35), code(42), code(62)],
  next: '',
  pattern:
    /(?:[13][1-9A-HJ-NP-Za-km-z]{25,34}|bc1[02-9ac-hj-np-z]{39}(?:[02-9ac-hj-np-z]{20})?|BC1[02-9AC-HJ-NP-Z]{39}(?:[02-9AC-HJ-NP-Z]{20})?)(?![A-Za-z0-9])/y,
  valid: (value) => (/^bc1/i.test(value) ? bech32(value) : base58check(value)),
};

export const ethereum: TokenKind = {
  id: 'CRYPTO_ADDRESS',
  title: 'Ethereum address: its checksum (EIP-55) where letters of both cases are in it',
  example: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  longest: 42,
  first: [code(42)],
  next: '',
  pattern: /0x[0-9a-fA-F]{40}(?![A-Za-z0-9])/y,
  valid: (value) => {
    const address = value.slice(2);
    if (/^0+$/.test(address)) return false;
    const lower = address.toLowerCase();
    if (address === lower || address === address.toUpperCase()) return true;
    const hash = keccak256(lower);
    return [...address].every((char, index) => {
      if (char >= '0' && char <= '9') return true;
      return Number.parseInt(hash[index]!, 16) >= 8 === char < 'a';
    });
  },
};

export const financeKinds = [iban, creditCard, longCard, bic, routingNumber, bitcoin, ethereum];
