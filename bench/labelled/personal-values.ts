import {
  brazilDigit,
  chinaChar,
  codiceLetter,
  digitFor,
  dniLetter,
  eanDigit,
  hetuChar,
  ibanCheck,
  luhnDigit,
  nirKey,
  nricLetter,
  steuerIdDigit,
  verhoeffDigit,
  vinDigit,
} from './check-digits.js';
import { hex, type Random, upper } from './random.js';

/** How values of a kind are made, and what people write before them. */
export interface Maker {
  readonly kind: string;
  /** The last part of its look-alike: a value whose check is wrong. */
  readonly isChecked: boolean;
  /** Its form says what it is. Names and addresses of places have none. */
  readonly isPatterned: boolean;
  /** In several languages. */
  readonly labels: readonly string[];
  value(random: Random): string;
  /** Where its check digit is; absent: at the end. */
  checkAt?(value: string): number;
}

const two = (number: number): string => String(number).padStart(2, '0');

/** Until a body has a check digit. */
function until(make: () => string | null): string {
  for (;;) {
    const value = make();
    if (value !== null) return value;
  }
}

const grouped = (
  random: Random,
  text: string,
  sizes: readonly number[],
  separators: readonly string[],
): string => {
  const separator = random.pick(separators);
  let at = 0;
  const parts = sizes.map((size) => {
    at += size;
    return text.slice(at - size, at);
  });
  return parts.join(separator);
};

const patterned = (kind: string, labels: readonly string[], value: (random: Random) => string): Maker => ({
  kind,
  isChecked: false,
  isPatterned: true,
  labels,
  value,
});
const checked = (kind: string, labels: readonly string[], value: (random: Random) => string): Maker => ({
  kind,
  isChecked: true,
  isPatterned: true,
  labels,
  value,
});
const loose = (kind: string, labels: readonly string[], value: (random: Random) => string): Maker => ({
  kind,
  isChecked: false,
  isPatterned: false,
  labels,
  value,
});

const firstNames = [
  'anna',
  'liam',
  'sofia',
  'mateo',
  'yuki',
  'omar',
  'jan',
  'ines',
  'pavel',
  'chloe',
  'raj',
  'lars',
];
const lastNames = [
  'weber',
  'smith',
  'garcia',
  'rossi',
  'dubois',
  'nowak',
  'jansen',
  'silva',
  'okafor',
  'larsen',
  'kaur',
  'lee',
];
const title = (word: string): string => word[0]!.toUpperCase() + word.slice(1);
const country = (random: Random): [string, string] =>
  random.pick([
    ['DE', random.digits(18)],
    ['NL', random.pick(['ABNA', 'INGB', 'RABO']) + random.digits(10)],
    ['GB', random.pick(['NWBK', 'BARC', 'LOYD']) + random.digits(14)],
    ['FR', random.digits(20) + random.digits(3)],
    ['ES', random.digits(20)],
    ['IT', random.chars(1, upper) + random.digits(22)],
    ['CH', random.digits(17)],
    ['PL', random.digits(24)],
    ['BE', random.digits(12)],
    ['NO', random.digits(11)],
  ]);
const steuerBody = (random: Random): string => {
  const all = [...'0123456789'];
  const digits: string[] = [];
  while (all.length > 1) digits.push(all.splice(random.between(0, all.length - 1), 1)[0]!);
  digits.splice(random.between(1, 8), 0, digits[random.between(0, 8)]!);
  const body = digits.join('');
  return body.startsWith('0') || /(\d)\1\1/.test(body) ? steuerBody(random) : body;
};

export const makers: readonly Maker[] = [
  patterned(
    'EMAIL_ADDRESS',
    ['Email', 'write to', 'E-Mail:', 'correo:', 'adresse mail', 'contact', 'mailto:'],
    (r) => {
      const name = `${r.pick(firstNames)}${r.pick(['.', '_', '-', '', '+news.'])}${r.pick(lastNames)}${r.pick(['', '', r.digits(2)])}`;
      return `${name}@${r.pick(['mail', 'posta', 'corp-net', 'example', 'uni.cs'])}.${r.pick(['com', 'org', 'de', 'co.uk', 'io', 'com.br', 'museum'])}`;
    },
  ),
  patterned(
    'PHONE_NUMBER',
    ['phone', 'call me at', 'Tel.', 'Telefon:', 'teléfono', 'Mobile:', 'téléphone', 'WhatsApp', 'fax'],
    (r) =>
      r.pick([
        () => `+1 ${r.pick(['212', '415', '650', '305'])}-555-${r.digits(4)}`,
        () => `(${r.pick(['212', '415', '650', '305'])}) ${r.between(220, 989)}-${r.digits(4)}`,
        () =>
          `${r.pick(['212', '415', '650', '305'])}${r.pick(['-', '.'])}555${'-'}${r.digits(4)}`.replace(
            '.555-',
            '-555-',
          ),
        () => `+49 ${r.pick(['30', '89', '170', '221'])} ${r.number(7)}`,
        () => `0${r.pick(['30', '89', '221'])}/${r.number(7)}`,
        () => `+44 20 7946 0${r.digits(3)}`,
        () => `07700 900${r.digits(3)}`,
        () => `0${r.between(1, 7)} ${grouped(r, r.digits(8), [2, 2, 2, 2], [' '])}`,
        () => `+33 6 ${grouped(r, r.digits(8), [2, 2, 2, 2], [' '])}`,
        () => `+34 6${r.digits(2)} ${r.digits(3)} ${r.digits(3)}`,
        () => `+55 (11) 9${r.digits(4)}-${r.digits(4)}`,
        () => `+91 9${r.digits(4)} ${r.digits(5)}`,
        () => `+81-90-${r.digits(4)}-${r.digits(4)}`,
        () => `0048 22 ${r.digits(3)} ${r.digits(2)} ${r.digits(2)}`,
        () => `+48${r.number(9)}`,
      ])(),
  ),
  patterned(
    'IP_ADDRESS',
    ['from', 'client IP', 'host', 'Adresse IP', 'login from', 'IP-Adresse', 'connected to'],
    (r) =>
      r.pick([
        () =>
          `${r.between(11, 223)}.${r.between(0, 255)}.${r.between(0, 255)}.${r.between(1, 254)}`.replace(
            /^127/,
            '128',
          ),
        () => `192.168.${r.between(0, 255)}.${r.between(1, 254)}`,
        () =>
          `2001:db8:${r.chars(4, '123456789abcdef')}:${r.chars(3, '123456789abcdef')}::${r.between(1, 9)}`,
        () =>
          Array.from({ length: 8 }, () => r.chars(4, hex))
            .join(':')
            .replace(/^./, '2'),
        () =>
          `fe80::${r.chars(4, '123456789abcdef')}:${r.chars(4, '123456789abcdef')}:fe${r.chars(2, hex)}:${r.between(1000, 9999)}`,
      ])(),
  ),
  patterned('MAC_ADDRESS', ['MAC', 'device', 'hardware address', 'Gerät', 'ether'], (r) =>
    r.pick([
      () => `3c${Array.from({ length: 5 }, () => `:${r.chars(2, hex)}`).join('')}`,
      () => `A4${Array.from({ length: 5 }, () => `-${r.chars(2, '0123456789ABCDEF')}`).join('')}`,
      () => `00${r.chars(1, hex)}9.${r.chars(4, hex)}.${r.chars(4, hex)}`,
    ])(),
  ),
  checked(
    'CREDIT_CARD',
    ['card', 'Visa', 'paid with', 'Karte', 'tarjeta', 'carte bancaire', 'cartão', 'card number:'],
    (r) => {
      const [first, length] = r.pick([
        ['4', 16],
        ['4', 16],
        ['51', 16],
        ['55', 16],
        ['2221', 16],
        ['2720', 16],
        ['34', 15],
        ['37', 15],
        ['6011', 16],
        ['65', 16],
        ['36', 14],
        ['3530', 16],
        ['62', 16],
      ] as const);
      const body = first + r.digits(length - first.length - 1);
      const all = body + luhnDigit(body);
      if (length === 15) return grouped(r, all, [4, 6, 5], [' ', '-', '']);
      if (length === 14) return grouped(r, all, [4, 6, 4], [' ', '']);
      return grouped(r, all, [4, 4, 4, 4], [' ', '-', '']);
    },
  ),
  checked('IBAN', ['IBAN', 'account', 'Konto', 'compte', 'transfer to', 'rekening', 'cuenta'], (r) => {
    const [land, account] = country(r);
    const all = land + ibanCheck(land, account) + account;
    return r.pick([all, all.replaceAll(/(.{4})(?=.)/g, '$1 ')]);
  }),
  patterned(
    'BIC',
    ['BIC', 'SWIFT', 'SWIFT code:', 'BIC/SWIFT'],
    (r) =>
      `${r.pick(['DEUT', 'COBA', 'INGB', 'BNPA', 'CHAS', 'HSBC'])}${r.pick(['DE', 'NL', 'FR', 'US', 'GB'])}${r.pick(['FF', '2A', 'PP', '33', '2L'])}${r.pick(['', 'XXX', '500'])}`,
  ),
  checked('US_ROUTING_NUMBER', ['routing number', 'ABA', 'Routing:', 'RTN'], (r) =>
    until(() => {
      const body = r.pick(['01', '02', '03', '06', '07', '11', '12', '21', '26', '31', '32']) + r.digits(6);
      const check = digitFor(body, [3, 7, 1, 3, 7, 1, 3, 7, 1], 10);
      return check === null ? null : body + check;
    }),
  ),
  checked('CRYPTO_ADDRESS', ['send to', 'wallet', 'BTC', 'ETH', 'Bitcoin-Adresse', 'donate:'], (r) =>
    r.pick([
      '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa',
      '3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy',
      '1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2',
      'bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq',
      'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4',
      'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0',
      '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
      '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
      '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
      `0x${r.chars(40, hex)}`,
    ]),
  ),
  patterned(
    'SSN',
    ['SSN', 'social security number', 'my SSN is', 'Social Security #'],
    (r) =>
      `${r.pick([r.between(100, 665), r.between(667, 899)])}-${two(r.between(1, 99))}-${r.between(1000, 9999)}`,
  ),
  patterned(
    'US_ITIN',
    ['ITIN', 'taxpayer number', 'ITIN:'],
    (r) => `9${r.digits(2)}-${r.pick([50, 60, 65, 70, 88, 90, 92, 94, 99])}-${r.digits(4)}`,
  ),
  patterned(
    'US_EIN',
    ['EIN', 'employer identification number', 'FEIN', 'federal tax ID'],
    (r) => `${r.pick(['12', '20', '33', '46', '58', '75', '83', '95'])}-${r.digits(7)}`,
  ),
  checked('CA_SIN', ['SIN', 'social insurance number', 'NAS', 'my SIN:'], (r) => {
    const body = r.pick(['1', '2', '4', '5', '6', '7', '9']) + r.digits(7);
    return grouped(r, body + luhnDigit(body), [3, 3, 3], [' ', '-', '']);
  }),
  checked('BR_CPF', ['CPF', 'meu CPF é', 'CPF:', 'CPF do titular'], (r) => {
    const nine = r.number(9);
    const ten = nine + brazilDigit(nine, 12);
    const all = ten + brazilDigit(ten, 12);
    return r.pick([all, `${all.slice(0, 3)}.${all.slice(3, 6)}.${all.slice(6, 9)}-${all.slice(9)}`]);
  }),
  checked('BR_CNPJ', ['CNPJ', 'empresa CNPJ', 'CNPJ:'], (r) => {
    const body = `${r.pick([r.number(8), r.chars(8, upper)])}0001`;
    const first = body + brazilDigit(body, 9);
    const all = first + brazilDigit(first, 9);
    return r.pick([
      all,
      `${all.slice(0, 2)}.${all.slice(2, 5)}.${all.slice(5, 8)}/${all.slice(8, 12)}-${all.slice(12)}`,
    ]);
  }),
  patterned('UK_NINO', ['NI number', 'NINO', 'National Insurance', 'my national insurance number is'], (r) =>
    grouped(
      r,
      `${r.pick(['AB', 'CE', 'JG', 'LP', 'NS', 'PW', 'SR', 'YZ'])}${r.digits(6)}${r.chars(1, 'ABCD')}`,
      [2, 2, 2, 2, 1],
      [' ', ''],
    ),
  ),
  checked('UK_NHS_NUMBER', ['NHS number', 'NHS', 'NHS no.', 'patient NHS number:'], (r) =>
    until(() => {
      const body = r.number(9);
      const check = digitFor(body, [10, 9, 8, 7, 6, 5, 4, 3, 2, 1], 11);
      return check === null ? null : grouped(r, body + check, [3, 3, 4], [' ', '-', '']);
    }),
  ),
  patterned(
    'DRIVER_LICENSE',
    [
      "driver's license",
      'driving licence',
      'license number',
      'DL',
      'Führerschein',
      "driver's licence number",
    ],
    (r) =>
      r.pick([
        () =>
          `${r.pick(['MORGA', 'SMITH', 'LEE99', 'JONES'])}${r.digits(1)}${r.pick(['01', '12', '56', '60'])}${two(r.between(1, 28))}${r.digits(1)}${r.pick(['SM', 'A9', 'JP'])}${r.number(1).replace('1', '2')}${r.pick(['IJ', 'AB', 'XY'])}`,
        () => r.chars(1, upper) + r.digits(7),
        () => r.chars(1, upper) + r.digits(12),
        () => r.number(8),
      ])(),
  ),
  checked(
    'DE_TAX_ID',
    ['Steuer-ID', 'Steueridentifikationsnummer', 'IdNr.', 'meine Steuer-ID lautet', 'Identifikationsnummer'],
    (r) => {
      const body = steuerBody(r);
      const all = body + steuerIdDigit(body);
      return r.pick([all, `${all.slice(0, 2)} ${all.slice(2, 5)} ${all.slice(5, 8)} ${all.slice(8)}`]);
    },
  ),
  checked(
    'DE_ID_CARD',
    ['Personalausweis', 'Ausweisnummer', 'Personalausweisnummer:', 'Ausweis Nr.'],
    (r) => {
      const body =
        r.chars(1, 'LMNPRTVWXY') +
        r.chars(3, 'CFGHJKLMNPRTVWXYZ0123456789') +
        r.digits(1) +
        r.chars(4, 'CFGHJKLMNPRTVWXYZ0123456789');
      const sum = [...body].reduce(
        (total, char, index) =>
          total + (/\d/.test(char) ? Number(char) : char.charCodeAt(0) - 55) * [7, 3, 1][index % 3]!,
        0,
      );
      return `${body}${sum % 10}`;
    },
  ),
  checked('FR_NIR', ['numéro de sécurité sociale', 'NIR', 'sécu', 'mon numéro de sécu est'], (r) => {
    const body = `${r.between(1, 2)}${r.digits(2)}${two(r.between(1, 12))}${r.between(10, 95)}${r.digits(3)}${r.digits(3)}`;
    return grouped(r, body + nirKey(body), [1, 2, 2, 2, 3, 3, 2], [' ', '']);
  }),
  checked('ES_DNI', ['DNI', 'mi DNI es', 'documento', 'DNI:'], (r) => {
    const body = r.number(8);
    return `${body}${r.pick(['', '-'])}${dniLetter(Number(body))}`;
  }),
  checked('ES_NIE', ['NIE', 'mi NIE es', 'NIE:'], (r) => {
    const [letter, series] = r.pick([
      ['X', '0'],
      ['Y', '1'],
      ['Z', '2'],
    ] as const);
    const body = r.digits(7);
    return letter + body + dniLetter(Number(series + body));
  }),
  checked('IT_FISCAL_CODE', ['codice fiscale', 'C.F.', 'il mio codice fiscale è', 'CF'], (r) => {
    const body = `${r.chars(6, 'BCDFGLMNPRSTVZ')}${r.digits(2)}${r.chars(1, 'ABCDEHLMPRST')}${two(r.between(1, 28))}${r.chars(1, 'ABCDEFGHIL')}${r.digits(3)}`;
    return body + codiceLetter(body);
  }),
  checked('NL_BSN', ['BSN', 'burgerservicenummer', 'mijn BSN is', 'BSN:'], (r) =>
    until(() => {
      const body = r.number(8);
      // The last digit counts -1: 10 modulo 11.
      const check = digitFor(body, [9, 8, 7, 6, 5, 4, 3, 2, 10], 11);
      return check === null ? null : body + check;
    }),
  ),
  checked('BE_NATIONAL_NUMBER', ['rijksregisternummer', 'numéro national', 'national number'], (r) => {
    const body = `${r.between(40, 99)}${two(r.between(1, 12))}${two(r.between(1, 28))}${r.between(100, 997)}`;
    const check = two(97 - (Number(body) % 97));
    return `${body.slice(0, 2)}.${body.slice(2, 4)}.${body.slice(4, 6)}-${body.slice(6)}.${check}`;
  }),
  checked('PT_NIF', ['NIF', 'contribuinte', 'NIF:', 'o meu NIF é'], (r) =>
    until(() => {
      const body = r.pick(['1', '2', '5']) + r.digits(7);
      const check = digitFor(body, [9, 8, 7, 6, 5, 4, 3, 2, 1], 11);
      return check === null ? null : body + check;
    }),
  ),
  checked('CH_AHV', ['AHV-Nummer', 'AVS', 'AHV', 'Sozialversicherungsnummer'], (r) => {
    const body = `756${r.digits(9)}`;
    const all = body + eanDigit(body);
    return `${all.slice(0, 3)}.${all.slice(3, 7)}.${all.slice(7, 11)}.${all.slice(11)}`;
  }),
  checked('PL_PESEL', ['PESEL', 'PESEL:', 'mój PESEL to', 'numer PESEL'], (r) =>
    until(() => {
      const body = `${r.between(40, 99)}${two(r.between(1, 12))}${two(r.between(1, 28))}${r.digits(4)}`;
      const check = digitFor(body, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1], 10);
      return check === null ? null : body + check;
    }),
  ),
  checked(
    'SE_PERSONAL_NUMBER',
    ['personnummer', 'personnr', 'mitt personnummer är', 'Personnummer:'],
    (r) => {
      const body = `${r.between(40, 99)}${two(r.between(1, 12))}${two(r.between(1, 28))}${r.digits(3)}`;
      const all = body + luhnDigit(body);
      return `${r.pick(['', '19'])}${all.slice(0, 6)}-${all.slice(6)}`;
    },
  ),
  checked('FI_HETU', ['henkilötunnus', 'hetu', 'HETU:', 'henkilötunnukseni on'], (r) => {
    const date = `${two(r.between(1, 28))}${two(r.between(1, 12))}${r.between(40, 99)}`;
    const number = String(r.between(2, 899)).padStart(3, '0');
    return `${date}-${number}${hetuChar(date + number)}`;
  }),
  checked('NO_NATIONAL_NUMBER', ['fødselsnummer', 'personnummer', 'mitt fødselsnummer er'], (r) =>
    until(() => {
      const body = `${two(r.between(1, 28))}${two(r.between(1, 12))}${r.between(40, 99)}${r.digits(3)}`;
      const first = digitFor(body, [3, 7, 6, 1, 8, 9, 4, 5, 2, 1], 11);
      if (first === null) return null;
      const second = digitFor(body + first, [5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1], 11);
      return second === null ? null : body + first + second;
    }),
  ),
  checked('IN_AADHAAR', ['Aadhaar', 'Aadhaar number', 'my aadhar no is', 'UIDAI number'], (r) => {
    const body = r.pick(['2', '3', '5', '7', '9']) + r.digits(10);
    return grouped(r, body + verhoeffDigit(body), [4, 4, 4], [' ', '-', '']);
  }),
  patterned(
    'IN_PAN',
    ['PAN', 'PAN card', 'my PAN is', 'PAN:'],
    (r) =>
      `${r.chars(3, upper)}${r.pick(['P', 'C', 'H', 'F'])}${r.chars(1, upper)}${r.digits(4)}${r.chars(1, upper)}`,
  ),
  checked('AU_TFN', ['TFN', 'tax file number', 'my TFN is'], (r) =>
    until(() => {
      const body = r.number(8);
      const check = digitFor(body, [1, 4, 3, 7, 5, 8, 6, 9, 10], 11);
      return check === null ? null : grouped(r, body + check, [3, 3, 3], [' ', '']);
    }),
  ),
  {
    ...checked('AU_MEDICARE', ['Medicare', 'Medicare number', 'Medicare card'], (r) => {
      const body = r.pick(['2', '3', '4', '5', '6']) + r.digits(7);
      const sum = [1, 3, 7, 9, 1, 3, 7, 9].reduce(
        (total, weight, index) => total + weight * Number(body[index]),
        0,
      );
      const all = `${body}${sum % 10}${r.between(1, 9)}`;
      return r.pick([all, `${all.slice(0, 4)} ${all.slice(4, 9)} ${all.slice(9)}`]);
    }),
    checkAt: (value) => value.length - (value.includes(' ') ? 3 : 2),
  },
  checked('SG_NRIC', ['NRIC', 'my NRIC is', 'FIN', 'IC number'], (r) => {
    const series = r.pick(['S', 'T', 'F', 'G']);
    const body = r.digits(7);
    return series + body + nricLetter(series, body);
  }),
  checked('CN_RESIDENT_ID', ['身份证', '身份证号码', 'resident ID', 'ID number'], (r) => {
    const body = `${r.pick(['110105', '310115', '440106', '510104'])}${r.between(1950, 2009)}${two(r.between(1, 12))}${two(r.between(1, 28))}${r.digits(3)}`;
    return body + chinaChar(body);
  }),
  patterned(
    'PASSPORT_NUMBER',
    ['passport', 'passport number', 'Reisepass', 'US passport', 'passeport', 'UK passport no.'],
    (r) =>
      r.pick([
        () => r.number(9),
        () => r.chars(1, 'ACE') + r.digits(8),
        () => `C0${r.digits(1)}X${r.digits(5)}`,
      ])(),
  ),
  checked('VIN', ['VIN', 'vehicle', 'car with VIN', 'chassis number'], (r) => {
    const draft = `1${r.chars(3, 'ABCDEFGHJKLMNPRSTUVWXYZ')}${r.chars(4, 'ABCDEFGHJKLMNPRSTUVWXYZ0123456789')}0${r.chars(2, 'ABCDEFGHJKLMN')}${r.digits(6)}`;
    return draft.slice(0, 8) + vinDigit(draft) + draft.slice(9);
  }),
  patterned(
    'DATE_OF_BIRTH',
    [
      'date of birth',
      'born on',
      'DOB:',
      'geboren am',
      'né le',
      'fecha de nacimiento',
      'nato il',
      'Geburtsdatum:',
    ],
    (r) =>
      r.pick([
        () => `${two(r.between(1, 28))}/${two(r.between(1, 12))}/${r.between(1940, 2010)}`,
        () => `${two(r.between(1, 28))}.${two(r.between(1, 12))}.${r.between(1940, 2010)}`,
        () => `${r.between(1940, 2010)}-${two(r.between(1, 12))}-${two(r.between(1, 28))}`,
        () =>
          `${r.between(1, 28)} ${r.pick(['March', 'April', 'August', 'December'])} ${r.between(1940, 2010)}`,
        () =>
          `${r.pick(['March', 'April', 'August', 'December'])} ${r.between(1, 28)}, ${r.between(1940, 2010)}`,
      ])(),
  ),
  loose(
    'LOCATION_ADDRESS',
    ['I live at', 'ship to', 'Adresse:', 'my address is', 'Lieferung an', 'deliver it to'],
    (r) =>
      r.pick([
        () =>
          `${r.between(1, 9999)} ${r.pick(['Maple', 'Elm', 'Oak Hill', 'Martin Luther King', 'W 42nd'])} ${r.pick(['Street', 'St', 'Ave', 'Road', 'Blvd', 'Lane'])}, ${r.pick(['Springfield', 'Austin', 'New York'])}, ${r.pick(['TX', 'NY', 'OR'])} ${r.number(5)}`,
        () =>
          `${r.between(1, 250)} ${r.pick(['High', 'Church', 'Victoria', 'Station'])} ${r.pick(['Street', 'Road', 'Close'])}, ${r.pick(['London', 'Leeds', 'Bath'])} ${r.pick(['SW1A 2AA', 'LS1 4AP', 'BA1 1AA', 'E14 5AB'])}`,
        () =>
          `${r.pick(['Lindenstraße', 'Bahnhofstr.', 'Am Alten Weg', 'Goethestrasse', 'Schlossallee', 'Berliner Platz'])} ${r.between(1, 200)}${r.pick(['', 'a'])}, ${r.number(5)} ${r.pick(['Berlin', 'Köln', 'München'])}`,
      ])(),
  ),
  loose(
    'NAME',
    ['Dr.', 'Mrs', 'Mr.', 'Frau', 'my name is', 'Ich heiße', "Je m'appelle", 'Me llamo', 'Patient:', 'Name:'],
    (r) => `${title(r.pick(firstNames))} ${title(r.pick(lastNames))}`,
  ),
];
