import { digitsOf, weighted } from '../detect/checksums.js';
import { code, digits, letters, type TokenKind } from '../detect/kind.js';

export const nino: TokenKind = {
  id: 'UK_NINO',
  title: 'UK national insurance number: prefixes that are given out',
  example: 'JG 10 37 59 A',
  longest: 13,
  first: [letters(2), code(9)],
  pattern: /(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]( ?)\d\d\1\d\d\1\d\d\1[A-D]/y,
};

export const nhsNumber: TokenKind = {
  id: 'UK_NHS_NUMBER',
  title: 'UK NHS number: modulus 11, after the word “NHS”',
  example: 'NHS number 943 476 5919',
  longest: 12,
  first: [digits(3), digits(10)],
  pattern: /\d{3}([ -]?)\d{3}\1\d{4}/y,
  near: ['nhs'],
  needs: 'always',
  valid: (value) => {
    const all = digitsOf(value);
    const check = 11 - (weighted(all, [10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11);
    return (check === 11 ? 0 : check) === all[9];
  },
};

export const ukDrivingLicence: TokenKind = {
  id: 'DRIVER_LICENSE',
  title: 'UK driving licence',
  example: 'MORGA753116SM9IJ',
  longest: 18,
  first: [code(16, 18)],
  next: '',
  pattern: /[A-Z]{1,5}9{0,4}\d[0156]\d(?:0[1-9]|[12]\d|3[01])\d[A-Z9]{2}[A-HJ-NPR-Z2-9][A-Z]{2}(?:\d\d)?/y,
  valid: (value) => /^[A-Z9]{5}\d{6}/.test(value),
};

export const britishKinds = [nino, nhsNumber, ukDrivingLicence];
