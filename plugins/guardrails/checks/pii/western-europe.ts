import { digitsOf, mod11and10, remainder97, weighted } from '../detect/checksums.js';
import { code, digits, type TokenKind } from '../detect/kind.js';

/** Of its first ten digits one is there twice or thrice, the others at most once. */
function repeatsOneDigit(all: readonly number[]): boolean {
  const counts = new Map<number, number>();
  for (const digit of all.slice(0, 10)) counts.set(digit, (counts.get(digit) ?? 0) + 1);
  const repeated = [...counts.values()].filter((count) => count > 1);
  return repeated.length === 1 && repeated[0]! <= 3;
}

export const germanTaxId: TokenKind = {
  id: 'DE_TAX_ID',
  title: 'German tax number (Steuer-ID): repeated digit, ISO 7064',
  example: 'Steuer-ID 86 095 742 719',
  longest: 14,
  first: [digits(2), digits(11)],
  pattern: /[1-9]\d(?: \d{3} \d{3} \d{3}|\d{9})/y,
  near: [
    'steuer',
    'steuerid',
    'steueridentifikationsnummer',
    'steuernummer',
    'identifikationsnummer',
    'idnr',
    'tin',
    'tax',
  ],
  valid: (value, { named }) => {
    const all = digitsOf(value);
    return (named || value[2] === ' ') && repeatsOneDigit(all) && mod11and10(all);
  },
};

const icao = (char: string): number => Number.parseInt(char, 36);

export const germanIdCard: TokenKind = {
  id: 'DE_ID_CARD',
  title: 'German identity card, its check digit where it is given, after a word such as “Personalausweis”',
  example: 'Personalausweis L01X00T471',
  longest: 10,
  first: [code(9, 10)],
  next: '',
  pattern: /[LMNPRTVWXY][CFGHJKLMNPRTVWXYZ0-9]{8}\d?/y,
  near: [
    'personalausweis',
    'ausweis',
    'ausweisnummer',
    'personalausweisnummer',
    'perso',
    'identity card',
    'id card',
  ],
  needs: 'always',
  valid: (value) => {
    if (value.length === 9) return true;
    const sum = [...value.slice(0, 9)].reduce(
      (total, char, index) => total + icao(char) * [7, 3, 1][index % 3]!,
      0,
    );
    return sum % 10 === Number(value[9]);
  },
};

export const frenchNir: TokenKind = {
  id: 'FR_NIR',
  title: 'French social security number (NIR): modulus 97',
  example: '2 55 08 14 168 025 38',
  longest: 21,
  first: [digits(1), digits(15), code(15), digits(13), code(13)],
  pattern: /[1278]( ?)\d\d\1(?:0[1-9]|1[0-2]|[2-4]\d|[5-9]\d)\1(?:\d\d|2[AB])\1\d{3}\1\d{3} ?\d\d/y,
  valid: (value) => {
    const all = value.replaceAll(' ', '');
    const number = all.slice(0, 13).replace('2A', '19').replace('2B', '18');
    return 97 - remainder97(number) === Number(all.slice(13));
  },
};

const dniLetters = 'TRWAGMYFPDXBNJZSQVHLCKE';

export const spanishDni: TokenKind = {
  id: 'ES_DNI',
  title: 'Spanish identity number (DNI): its letter',
  example: '12345678Z',
  longest: 12,
  first: [code(9), digits(8), digits(2)],
  pattern: /(?:\d{8}|\d\d\.\d{3}\.\d{3})[- ]?[A-HJ-NP-TV-Z]/y,
  valid: (value) => dniLetters[Number(value.slice(0, -1).replaceAll(/\D/g, '')) % 23] === value.at(-1),
};

export const spanishNie: TokenKind = {
  id: 'ES_NIE',
  title: 'Spanish number of foreigners (NIE): its letter',
  example: 'X1234567L',
  longest: 11,
  first: [code(9), code(8)],
  pattern: /[XYZ]-?\d{7}-?[A-HJ-NP-TV-Z]/y,
  valid: (value) => {
    const number = Number('XYZ'.indexOf(value[0]!) + value.replaceAll(/\D/g, ''));
    return dniLetters[number % 23] === value.at(-1);
  },
};

const codiceOdd: Readonly<Record<string, number>> = Object.fromEntries(
  [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23].flatMap(
    (value, index) => [
      [String.fromCharCode(65 + index), value],
      ...(index < 10 ? [[String(index), value]] : []),
    ],
  ) as [string, number][],
);

export const codiceFiscale: TokenKind = {
  id: 'IT_FISCAL_CODE',
  title: 'Italian tax code (codice fiscale): its check letter',
  example: 'RSSMRA85T10A562S',
  longest: 16,
  first: [code(16)],
  next: '',
  pattern: /[A-Z]{6}[0-9LMNPQRSTUV]{2}[ABCDEHLMPRST][0-9LMNPQRSTUV]{2}[A-Z][0-9LMNPQRSTUV]{3}[A-Z]/iy,
  valid: (given) => {
    const value = given.toUpperCase();
    let sum = 0;
    for (let i = 0; i < 15; i++) {
      const char = value[i]!;
      const even = char <= '9' ? Number(char) : char.charCodeAt(0) - 65;
      sum += i % 2 === 0 ? codiceOdd[char]! : even;
    }
    return String.fromCharCode(65 + (sum % 26)) === value[15];
  },
};

export const bsn: TokenKind = {
  id: 'NL_BSN',
  title: 'Dutch citizen number (BSN): test of eleven, after a word such as “BSN”',
  example: 'BSN 111222333',
  longest: 11,
  first: [digits(9), digits(8), digits(4), digits(3)],
  pattern: /(?:\d{8,9}|\d{4}\.\d\d\.\d{3}|\d{3}[ .]\d{3}[ .]\d{3})/y,
  near: ['bsn', 'burgerservicenummer', 'sofinummer', 'sofi'],
  needs: 'always',
  valid: (value) => {
    const all = digitsOf(value);
    if (all.length === 8) all.unshift(0);
    return weighted(all, [9, 8, 7, 6, 5, 4, 3, 2, -1]) % 11 === 0;
  },
};

export const belgianNumber: TokenKind = {
  id: 'BE_NATIONAL_NUMBER',
  title: 'Belgian national number: modulus 97',
  example: '85.07.30-033.28',
  longest: 15,
  first: [digits(2)],
  next: '.',
  pattern: /\d\d\.(?:0\d|1[0-2])\.(?:[0-2]\d|3[01])-\d{3}\.\d\d/y,
  valid: (value) => {
    const all = value.replaceAll(/\D/g, '');
    const check = Number(all.slice(9));
    // Who was born in 2000 or later has a 2 before the number.
    return ['', '2'].some((century) => 97 - (Number(century + all.slice(0, 9)) % 97) === check);
  },
};

export const portugueseNif: TokenKind = {
  id: 'PT_NIF',
  title: 'Portuguese tax number (NIF): modulus 11, after a word such as “NIF”',
  example: 'NIF 123456789',
  longest: 11,
  first: [digits(9), digits(3)],
  pattern: /[1-9]\d\d( ?)\d{3}\1\d{3}/y,
  near: ['nif', 'contribuinte'],
  needs: 'always',
  valid: (value) => {
    const all = digitsOf(value);
    const rest = 11 - (weighted(all, [9, 8, 7, 6, 5, 4, 3, 2]) % 11);
    return (rest > 9 ? 0 : rest) === all[8];
  },
};

export const ahv: TokenKind = {
  id: 'CH_AHV',
  title: 'Swiss social security number (AHV): check digit of EAN-13',
  example: '756.9217.0769.85',
  longest: 16,
  first: [digits(3), digits(13)],
  pattern: /756(?:([. ])\d{4}\1\d{4}\1\d\d|\d{10})/y,
  valid: (value) => weighted(digitsOf(value), [1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1]) % 10 === 0,
};

export const westernKinds = [
  germanTaxId,
  germanIdCard,
  frenchNir,
  spanishDni,
  spanishNie,
  codiceFiscale,
  bsn,
  belgianNumber,
  portugueseNif,
  ahv,
];
