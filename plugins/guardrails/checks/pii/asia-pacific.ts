import { digitsOf, isDay, verhoeff, weighted } from '../detect/checksums.js';
import { code, digits, type TokenKind } from '../detect/kind.js';

export const aadhaar: TokenKind = {
  id: 'IN_AADHAAR',
  title: 'Indian Aadhaar number: Verhoeff check, after a word such as “Aadhaar”',
  example: 'Aadhaar 2341 2341 2346',
  longest: 14,
  first: [digits(4), digits(12)],
  pattern: /[2-9]\d{3}([ -]?)\d{4}\1\d{4}/y,
  near: ['aadhaar', 'aadhar', 'adhar', 'uidai', 'uid'],
  needs: 'always',
  valid: (value) => verhoeff(digitsOf(value)),
};

export const pan: TokenKind = {
  id: 'IN_PAN',
  title: 'Indian permanent account number (PAN)',
  example: 'ABCPE1234F',
  longest: 10,
  first: [code(10)],
  next: '',
  pattern: /[A-Z]{3}[ABCFGHJLPT][A-Z]\d{4}[A-Z]/y,
};

export const tfn: TokenKind = {
  id: 'AU_TFN',
  title: 'Australian tax file number: modulus 11, after a word such as “TFN”',
  example: 'TFN 123 456 782',
  longest: 11,
  first: [digits(3), digits(9)],
  pattern: /\d{3}([ -]?)\d{3}\1\d{3}/y,
  near: ['tfn', 'tax file', 'tax'],
  needs: 'always',
  valid: (value) => weighted(digitsOf(value), [1, 4, 3, 7, 5, 8, 6, 9, 10]) % 11 === 0 && !/^0/.test(value),
};

export const medicare: TokenKind = {
  id: 'AU_MEDICARE',
  title: 'Australian Medicare card: its check digit, after the word “Medicare”',
  example: 'Medicare 2123 45670 1',
  longest: 14,
  first: [digits(4), digits(10, 11)],
  pattern: /[2-6]\d{3}([ -]?)\d{5}\1\d(?:[ -/]?\d)?/y,
  near: ['medicare'],
  needs: 'always',
  valid: (value) => {
    const all = digitsOf(value);
    return weighted(all, [1, 3, 7, 9, 1, 3, 7, 9]) % 10 === all[8];
  },
};

const nricLetters: Readonly<Record<string, string>> = {
  S: 'JZIHGFEDCBA',
  T: 'JZIHGFEDCBA',
  F: 'XWUTRQPNMLK',
  G: 'XWUTRQPNMLK',
  M: 'KLJNPQRTUWX',
};
const nricOffsets: Readonly<Record<string, number>> = { T: 4, G: 4, M: 3 };

export const nric: TokenKind = {
  id: 'SG_NRIC',
  title: 'Singapore identity card (NRIC, FIN): its check letter',
  example: 'S1234567D',
  longest: 9,
  first: [code(9)],
  next: '',
  pattern: /[STFGM]\d{7}[A-Z]/y,
  valid: (value) => {
    const series = value[0]!;
    const rest = ((nricOffsets[series] ?? 0) + weighted(digitsOf(value), [2, 7, 6, 5, 4, 3, 2])) % 11;
    // The letters of the series M are counted from the other end.
    return nricLetters[series]?.[series === 'M' ? 10 - rest : rest] === value[8];
  },
};

export const residentId: TokenKind = {
  id: 'CN_RESIDENT_ID',
  title: 'Chinese resident identity number: date and check character',
  example: '11010519491231002X',
  longest: 18,
  first: [digits(18), code(18)],
  next: '',
  pattern: /[1-8]\d{5}(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dX]/y,
  valid: (value) =>
    isDay(Number(value.slice(10, 12)), Number(value.slice(12, 14))) &&
    '10X98765432'[
      weighted(digitsOf(value.slice(0, 17)), [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]) % 11
    ] === value[17],
};

export const asianKinds = [aadhaar, pan, tfn, medicare, nric, residentId];
