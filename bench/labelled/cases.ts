import { disguises } from './disguises.js';
import { lookAlikes } from './look-alikes.js';
import { type Maker, makers } from './personal-values.js';
import { Random } from './random.js';
import { type SecretMaker, secretMakers } from './secret-values.js';

export interface Case {
  readonly text: string;
  /** The value in the text; null: there is none to be found. */
  readonly value: { readonly kind: string; readonly start: number; readonly end: number } | null;
}

export interface KindFacts {
  readonly isChecked: boolean;
  readonly isPatterned: boolean;
}

/** What is known of each kind that has cases. */
export const kindFacts: ReadonlyMap<string, KindFacts> = new Map<string, KindFacts>([
  ...makers.map(({ kind, isChecked, isPatterned }) => [kind, { isChecked, isPatterned }] as const),
  ...secretMakers.map(({ kind }) => [kind, { isChecked: false, isPatterned: true }] as const),
]);

const perPersonal = 16;
const perSecret = 10;
const disguiseRounds = 8;

/** Sentences of several languages and forms, around what is judged. */
const frames: readonly (readonly [string, string])[] = [
  ['', ''],
  ['Hello, ', ', thanks a lot.'],
  ['Please update my record: ', '.'],
  ['Hallo, ', ' - können Sie das bitte prüfen?'],
  ['Bonjour, ', '. Merci de vérifier.'],
  ['Hola, ', '; gracias por su ayuda.'],
  ['Buongiorno, ', ' - grazie mille!'],
  ['Dzień dobry, ', ', proszę o pomoc.'],
  ['Goedemorgen, ', ', alvast bedankt.'],
  ['Olá, ', '. Obrigado!'],
  ['{"note": "', '"}'],
  ['| row 7 | ', ' | done |'],
  ['Summarise the following message.\n\n', '\n\nKeep it short.'],
  ['(', ')'],
  ['<p>', '</p>'],
];

const joined = (label: string, value: string): string =>
  /[\s="/]$/.test(label) ? label + value : `${label} ${value}`;

function framed(random: Random, label: string, value: string, ending = ''): { text: string; start: number } {
  const [before, after] = random.pick(frames);
  const start = before.length + joined(label, value).length - value.length;
  return { text: before + joined(label, value) + ending + after, start };
}

function positive(random: Random, maker: Maker | SecretMaker): Case {
  const { kind, labels, value: make } = maker;
  const value = make(random);
  const after = 'after' in maker ? (maker.after ?? '') : '';
  const { text, start } = framed(random, random.pick(labels), value, after);
  return { text, value: { kind, start, end: start + value.length } };
}

/** The same words around a value of which one character is wrong. */
function broken(random: Random, { labels, value: make, checkAt }: Maker): Case {
  const value = make(random);
  const at = checkAt?.(value) ?? value.length - 1;
  const last = value[at]!;
  const wrong = /\d/.test(last)
    ? String((Number(last) + random.between(1, 8)) % 10)
    : String.fromCharCode(
        ((last.toLowerCase().charCodeAt(0) - 97 + random.between(1, 24)) % 26) + (last < 'a' ? 65 : 97),
      );
  return {
    text: framed(random, random.pick(labels), value.slice(0, at) + wrong + value.slice(at + 1)).text,
    value: null,
  };
}

/** Values of which digits, spaces or letters are written in another way. */
const disguisedCases = (random: Random): Case[] =>
  disguises(random, disguiseRounds).map(({ kind, before, value }) => {
    const { text, start } = framed(random, before, value);
    return { text, value: kind === null ? null : { kind, start, end: start + value.length } };
  });

/** Half of the cases hold a value; the rest look like one. The same for the same seed. */
export function makeCases(seed: number): readonly Case[] {
  const random = new Random(seed);
  const found: Case[] = [];
  for (const maker of makers) for (let i = 0; i < perPersonal; i++) found.push(positive(random, maker));
  for (const maker of secretMakers) for (let i = 0; i < perSecret; i++) found.push(positive(random, maker));
  const none: Case[] = [];
  const checked = makers.filter(({ kind, isChecked }) => isChecked && kind !== 'CRYPTO_ADDRESS');
  for (const maker of checked) for (let i = 0; i < 8; i++) none.push(broken(random, maker));
  while (none.length < found.length) {
    const make = lookAlikes[none.length % lookAlikes.length]!;
    none.push({ text: framed(random, '', make(random)).text, value: null });
  }
  return [...found, ...none, ...disguisedCases(new Random(seed + 1000))];
}
