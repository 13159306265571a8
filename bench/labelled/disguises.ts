import { luhnDigit } from './check-digits.js';
import { lower, type Random } from './random.js';

/** A text before a value, and a value that is written in an unusual way. `kind` null: a look-alike. */
export interface Disguised {
  readonly kind: 'CREDIT_CARD' | 'EMAIL_ADDRESS' | 'IBAN' | null;
  readonly before: string;
  readonly value: string;
}

const scripts = ['٠', '۰', '०', '๐', '０'];
/** Characters without a width. */
const hidden = ['\u200b', '\u200d', '\u2060', '\ufeff', '\u00ad', '\u200e'];
const spaces = ['\u00a0', '\u202f', '\u2009', '\u3000'];

const groups = (digits: string): string[] => digits.match(/\d{4}/g)!;
const inScript = (random: Random, text: string): string => {
  const zero = random.pick(scripts).charCodeAt(0);
  return text.replaceAll(/\d/g, (digit) => String.fromCharCode(zero + Number(digit)));
};
const withHidden = (random: Random, text: string): string => {
  const each = random.pick(hidden);
  if (random.between(0, 2) === 0) return [...text].join(each);
  const at = random.between(1, text.length - 1);
  return text.slice(0, at) + each + text.slice(at);
};

/** Sixteen digits of an issuer. `isRight`: the last one is the check digit. */
function card(random: Random, isRight: boolean): string {
  const body =
    random.pick(['4', '51', '55', '2221', '65']).padEnd(4, random.chars(3, '123456789')) +
    random.chars(11, '123456789');
  const check = luhnDigit(body);
  return `${body}${isRight ? check : (Number(check) + random.between(1, 9)) % 10}`;
}

type Form = (random: Random, digits: string) => string;
/** Ways in which people, programs and other scripts write sixteen digits. */
const cardForms: readonly Form[] = [
  (_, digits) => groups(digits).join('.'),
  (random, digits) => groups(digits).join(random.pick(spaces)),
  (_, digits) => groups(digits).join('\n'),
  (_, digits) => groups(digits).join('\r\n'),
  (random, digits) => {
    const all = groups(digits);
    const at = random.between(1, 3);
    return `${all.slice(0, at).join(' ')}\n${all.slice(at).join(' ')}`;
  },
  (random, digits) => inScript(random, groups(digits).join(' ')),
  (random, digits) => inScript(random, digits),
  (random, digits) => withHidden(random, digits),
  (random, digits) => withHidden(random, groups(digits).join('-')),
];

const names = ['jürgen', 'zoë', 'françois', 'søren', 'łukasz', 'иван', 'νίκος', '用户', 'مستخدم', 'anna'];
const domains = ['müller.de', 'крона.рф', '例子.广告', 'مثال.إختبار', 'παράδειγμα.ελ', 'bücher.example.com'];
const plainEmail = (random: Random): string =>
  `${random.chars(5, lower)}.${random.chars(6, lower)}@${random.chars(7, lower)}.${random.pick(['com', 'org', 'de'])}`;

const values: readonly ((random: Random) => Omit<Disguised, 'before'>)[] = [
  ...cardForms.map((form) => (random: Random) => {
    return { kind: 'CREDIT_CARD' as const, value: form(random, card(random, true)) };
  }),
  (random) => ({ kind: 'EMAIL_ADDRESS', value: withHidden(random, plainEmail(random)) }),
  (random) => ({ kind: 'EMAIL_ADDRESS', value: `${random.pick(names)}@${random.pick(domains)}` }),
  (random) => ({ kind: 'EMAIL_ADDRESS', value: `info@${random.pick(domains)}` }),
  (random) => ({ kind: 'EMAIL_ADDRESS', value: `${random.pick(names)}@example.org` }),
  (random) => ({ kind: 'IBAN', value: 'DE89 3704 0044 0532 0130 00'.replaceAll(' ', random.pick(spaces)) }),
  (random) => ({ kind: 'IBAN', value: withHidden(random, 'GB82WEST12345698765432') }),
];

const years = (random: Random): string => String(random.between(1900, 2099));

/** What looks like those, and is none of them. */
const lookAlikes: readonly ((random: Random) => string)[] = [
  ...cardForms.map((form) => (random: Random) => form(random, card(random, false))),
  (random) => [1, 2, 3, 4].map(() => years(random)).join('\n'),
  (random) => `${years(random)} ${years(random)}\n${years(random)} ${years(random)}`,
  (random) => `١${inScript(random, random.digits(6))} كتاب`,
  (random) => `第${inScript(random, random.digits(8))}号`,
  (random) => `${random.chars(6, lower)}\u200b@${random.chars(6, lower)} schrieb`,
  (random) => `回复@${random.pick(names)}：谢谢`,
  (random) => `می\u200cخواهم ${random.digits(4)} کتاب`,
  () => 'family 👨\u200d👩\u200d👧 and 👩🏽\u200d💻',
  (random) => `Donau\u00addampf\u00adschiff ${random.digits(4)}`,
  (random) => `${random.number(2)}\u00a0${random.digits(3)}\u202f${random.digits(3)} €`,
  (random) => `v${random.number(1)}.${random.digits(4)}.${random.digits(4)}.${random.digits(4)}`,
];

const labels = ['card ', 'Visa: ', 'Karte ', 'My number is ', 'tarjeta: ', 'to: '];

/** As many look-alikes as values. */
export function disguises(random: Random, rounds: number): readonly Disguised[] {
  const all: Disguised[] = [];
  for (let round = 0; round < rounds; round++)
    for (const [i, make] of values.entries()) {
      const { kind, value } = make(random);
      // A number that is written in several lines needs a word.
      const before = value.includes('\n') ? random.pick(['card ', 'Visa: ', 'Karte ']) : random.pick(labels);
      all.push({ kind, value, before });
      const other = lookAlikes[(round * values.length + i) % lookAlikes.length]!;
      all.push({ kind: null, value: other(random), before: random.pick(labels) });
    }
  return all;
}
