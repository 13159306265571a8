import { digitsOf, isDay, luhn, weighted } from '../detect/checksums.js';
import { code, digits, type TokenKind } from '../detect/kind.js';

export const pesel: TokenKind = {
  id: 'PL_PESEL',
  title: 'Polish PESEL: date and check digit, after the word “PESEL”',
  example: 'PESEL 44051401359',
  longest: 11,
  first: [digits(11)],
  next: '',
  pattern: /\d{11}/y,
  near: ['pesel', 'pesel-u'],
  needs: 'always',
  valid: (value) =>
    // The century is added to the month: 20 for 2000, 80 for 1800.
    isDay(Number(value.slice(2, 4)) % 20, Number(value.slice(4, 6))) &&
    weighted(digitsOf(value), [1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]) % 10 === 0,
};

export const personnummer: TokenKind = {
  id: 'SE_PERSONAL_NUMBER',
  title: 'Swedish personal number: date and Luhn check',
  example: '811218-9876',
  longest: 13,
  first: [digits(6), digits(8), digits(10), digits(12)],
  pattern: /(?:(?:19|20)\d\d|\d\d)\d{4}[-+]?\d{4}/y,
  unless: ['hetu', 'henkilötunnus', 'henkilötunnukseni'],
  near: ['personnummer', 'personnr', 'samordningsnummer', 'pnr'],
  valid: (value, { named }) => {
    const all = value.replaceAll(/\D/g, '').slice(-10);
    const day = Number(all.slice(4, 6));
    // Coordination numbers add 60 to the day.
    return (
      (named || /[-+]/.test(value)) &&
      isDay(Number(all.slice(2, 4)), day > 60 ? day - 60 : day) &&
      luhn(digitsOf(all))
    );
  },
};

export const hetu: TokenKind = {
  id: 'FI_HETU',
  title: 'Finnish personal identity code: date and check character',
  example: '131052-308T',
  longest: 11,
  first: [digits(6), code(11)],
  near: ['hetu', 'henkilötunnus', 'henkilötunnukseni'],
  pattern: /\d{6}[-+A-FU-Y]\d{3}[0-9A-FHJ-NPR-Y]/y,
  valid: (value) =>
    isDay(Number(value.slice(2, 4)), Number(value.slice(0, 2))) &&
    '0123456789ABCDEFHJKLMNPRSTUVWXY'[Number(value.slice(0, 6) + value.slice(7, 10)) % 31] === value[10],
};

export const fodselsnummer: TokenKind = {
  id: 'NO_NATIONAL_NUMBER',
  title: 'Norwegian national number: date and both check digits, after a word such as “fødselsnummer”',
  example: 'fødselsnummer 01010750160',
  longest: 12,
  first: [digits(11), digits(6)],
  pattern: /\d{6} ?\d{5}/y,
  near: ['fødselsnummer', 'fødselsnr', 'personnummer', 'fnr'],
  needs: 'always',
  valid: (value) => {
    const all = digitsOf(value);
    const day = Number(value.slice(0, 2));
    return (
      isDay(Number(value.slice(2, 4)), day > 40 ? day - 40 : day) &&
      weighted(all, [3, 7, 6, 1, 8, 9, 4, 5, 2, 1]) % 11 === 0 &&
      weighted(all, [5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1]) % 11 === 0
    );
  },
};

export const northernKinds = [pesel, hetu, personnummer, fodselsnummer];
