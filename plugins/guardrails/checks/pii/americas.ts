import { digitsOf, luhn, weighted } from '../detect/checksums.js';
import { code, digits, letters, type TokenKind } from '../detect/kind.js';

export const ssn: TokenKind = {
  id: 'SSN',
  title: 'US social security number: ranges that are given out',
  example: '536-90-4399',
  longest: 11,
  first: [digits(3), digits(9)],
  pattern: /(?!000|666|9)\d{3}(?:([- ])(?!00)\d\d\1|(?!00)\d\d)(?!0000)\d{4}/y,
  near: ['ssn', 'social security'],
  // Three groups with hyphens are enough; other forms are those of many numbers.
  valid: (value, { named }) =>
    (named || value[3] === '-') && !/^(?:078-?05-?1120|219-?09-?9999)$/.test(value),
};

export const itin: TokenKind = {
  id: 'US_ITIN',
  title: 'US individual taxpayer number: ranges that are given out',
  example: '912-75-1234',
  longest: 11,
  first: [digits(3), digits(9)],
  pattern: /9\d\d([- ]?)(?:5\d|6[0-5]|7\d|8[0-8]|9[0-24-9])\1(?!0000)\d{4}/y,
  near: ['itin', 'taxpayer', 'tax'],
  valid: (value, { named }) => named || value[3] === '-',
};

export const ein: TokenKind = {
  id: 'US_EIN',
  title: 'US employer identification number, after a word such as “EIN”',
  example: 'EIN 12-3456789',
  longest: 10,
  first: [digits(2)],
  next: '-',
  pattern: /(?!0[07-9]|1[7-9]|2[89]|49|69|7[089]|8[9]|9[67])\d\d-\d{7}/y,
  near: ['ein', 'fein', 'employer', 'tax', 'irs', 'taxpayer'],
  needs: 'always',
};

export const sin: TokenKind = {
  id: 'CA_SIN',
  title: 'Canadian social insurance number: Luhn check, after a word such as “SIN”',
  example: 'SIN 130 692 544',
  longest: 11,
  first: [digits(3), digits(9)],
  pattern: /[1-79]\d\d([- ]?)\d{3}\1\d{3}/y,
  near: ['sin', 'nas', 'social insurance', 'assurance sociale', 'insurance'],
  needs: 'always',
  valid: (value) => luhn(digitsOf(value)),
};

const cpfCheck = (all: readonly number[], length: number): number => {
  const weights = Array.from({ length }, (_, index) => length + 1 - index);
  return ((weighted(all, weights) * 10) % 11) % 10;
};

export const cpf: TokenKind = {
  id: 'BR_CPF',
  title: 'Brazilian taxpayer number (CPF): both check digits',
  example: '529.982.247-25',
  longest: 14,
  first: [digits(3), digits(11)],
  pattern: /\d{3}(?:\.\d{3}\.\d{3}-|\d{6}-?)\d\d/y,
  near: ['cpf'],
  valid: (value, { named }) => {
    const all = digitsOf(value);
    if ((!named && value[3] !== '.') || all.every((digit) => digit === all[0])) return false;
    return cpfCheck(all, 9) === all[9] && cpfCheck(all, 10) === all[10];
  },
};

const cnpjWeights = [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2];
const cnpjCheck = (all: readonly number[], length: number): number => {
  const rest = weighted(all, cnpjWeights.slice(13 - length)) % 11;
  return rest < 2 ? 0 : 11 - rest;
};

/** From 2026 on with letters in it. */
export const cnpj: TokenKind = {
  id: 'BR_CNPJ',
  title: 'Brazilian company number (CNPJ), with digits or letters: both check digits',
  example: '11.222.333/0001-81',
  longest: 18,
  first: [digits(2), letters(2), code(2), digits(14), code(14)],
  pattern: /[0-9A-Z]{2}(?:\.[0-9A-Z]{3}\.[0-9A-Z]{3}\/[0-9A-Z]{4}-|[0-9A-Z]{10})\d\d/y,
  near: ['cnpj'],
  valid: (value, { named }) => {
    if (!named && value[2] !== '.') return false;
    const all = [...value.replaceAll(/[^0-9A-Z]/g, '')].map((char) => char.charCodeAt(0) - 48);
    if (all.every((each) => each === all[0])) return false;
    return cnpjCheck(all, 12) === all[12] && cnpjCheck(all, 13) === all[13];
  },
};

export const americanKinds = [ssn, itin, ein, sin, cpf, cnpj];
