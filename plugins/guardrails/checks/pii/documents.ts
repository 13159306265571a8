import { isDay } from '../detect/checksums.js';
import { code, digits, letters, type TokenKind } from '../detect/kind.js';

export const passport: TokenKind = {
  id: 'PASSPORT_NUMBER',
  title: 'passport of the US, the UK and others, after the word “passport”',
  example: 'passport number 512345678',
  longest: 9,
  first: [digits(9), code(8, 9)],
  next: '',
  pattern:
    /(?:[A-Z]{1,2}\d{6,8}|\d{9}|\d\d[A-Z]{2}\d{5}|[CFGHJK][CFGHJKLMNPRTVWXYZ0-9]{7}\d)(?![A-Za-z0-9])/y,
  near: [
    'passport',
    'passeport',
    'reisepass',
    'passnummer',
    'pasaporte',
    'passaporto',
    'passaporte',
    'paspoort',
    'paszport',
    'pass',
  ],
  needs: 'always',
};

const licenceWords = [
  ...["driver's license", 'license', 'licence', 'drivers', 'driver', 'driving', 'dl', 'dln', 'führerschein'],
  ...['führerscheinnummer', 'permis', 'patente', 'rijbewijs', 'prawo jazdy', 'licencia', 'carnet'],
];

export const licence: TokenKind = {
  id: 'DRIVER_LICENSE',
  title: "driver's licence of US states and other countries, after words such as “driver's license”",
  example: "driver's license D1234567",
  longest: 17,
  first: [code(8, 14), digits(8, 9), letters(1), code(4)],
  pattern:
    /(?:[A-Z]\d{7}(?:\d{1}|\d{4,7})?|[A-Z]{2}\d{6,7}[A-Z]?|\d{8,9}|[A-Z]\d{3}-\d{4}-\d{4}|[A-Z]\d{3}-\d{3}-\d{2}-\d{3}-\d|[A-Z0-9]\d\d[A-Z0-9]{6}\d[A-Z0-9])(?![A-Za-z0-9])/y,
  near: licenceWords,
  needs: 'always',
};

const vinValues = '0123456789.ABCDEFGH..JKLMN.P.R..STUVWXYZ';
const vinWeights = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2];

export const vin: TokenKind = {
  id: 'VIN',
  title: 'vehicle identification number: its check digit, or a word such as “VIN” where its maker uses none',
  example: '1M8GDM9AXKP042788',
  longest: 17,
  first: [code(17)],
  next: '',
  pattern: /[A-HJ-NPR-Z0-9]{13}\d{4}/y,
  near: ['vin', 'chassis', 'fahrgestellnummer', 'fin', 'vehicle'],
  valid: (value, { named }) => {
    if (named && /^[SVWXYZTUJKL]/.test(value)) return true;
    const sum = [...value].reduce(
      (total, char, index) => total + (vinValues.indexOf(char) % 10) * vinWeights[index]!,
      0,
    );
    return '0123456789X'[sum % 11] === value[8] && /[A-Z].*[A-Z]/.test(value);
  },
};

const months =
  '(?:jan(?:uary|uar|vier|uari|eiro)?|feb(?:ruary|ruar|rero|braio|ruari)?|fév(?:rier)?|m(?:ar(?:ch|s|zo|ço)?|ärz|aart)|a(?:pr(?:il|ile)?|vr(?:il)?|bril)|ma(?:y|i|yo|ggio|io)|mei|ju[nl](?:e|y|i|io|ho|iet)?|juin|gi?ug(?:no)?|lug(?:lio)?|ag?o(?:sto|ût)|aug(?:ust|ustus)?|sep(?:t(?:ember|embre|iembre)?)?|set(?:tembre|embro)?|o[ck]t(?:ober|obre|ubre)?|out(?:ubro)?|ott(?:obre)?|nov(?:ember|embre|iembre|embro)?|d[eéi][cz](?:ember|embre|iembre|embro)?|enero|febbraio)';

export const birthDate: TokenKind = {
  id: 'DATE_OF_BIRTH',
  title: 'date of birth: a date after words such as “born” or “date of birth”',
  example: 'date of birth: 14/05/1984',
  longest: 24,
  first: [digits(1, 2), digits(4), letters(3, 9)],
  pattern: new RegExp(
    [
      String.raw`(?:\d{1,2}([./-])\d{1,2}\1(?:\d{4}|\d\d)`,
      String.raw`(?:19|20)\d\d([./-])\d\d\2\d\d`,
      String.raw`\d{1,2}(?:st|nd|rd|th|\.|º)? (?:de |of )?${months}\.?,? (?:de )?(?:19|20)\d\d`,
      String.raw`${months}\.? \d{1,2}(?:st|nd|rd|th)?,? (?:19|20)\d\d)(?!\d)`,
    ].join('|'),
    'iy',
  ),
  near: [
    ...[
      'dob',
      'birth',
      'born',
      'birthday',
      'birthdate',
      'geboren',
      'geb',
      'geburtsdatum',
      'geburtstag',
      'naissance',
      'né',
      'née',
    ],
    ...[
      'nacimiento',
      'nacido',
      'nacida',
      'nascita',
      'nato',
      'nata',
      'nascimento',
      'nascido',
      'geboortedatum',
      'urodzenia',
    ],
    ...['född', 'syntynyt'],
  ],
  needs: 'before',
  valid: (value) => {
    const parts = value.split(/[./-]/).map(Number);
    if (parts.length !== 3 || parts.some(Number.isNaN)) return true;
    const [a = 0, b = 0, c = 0] = parts;
    return a > 31 ? isDay(b, c) : isDay(b, a) || isDay(a, b);
  },
};

export const documentKinds = [passport, licence, vin, birthDate];
