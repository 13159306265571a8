import { digits, type SearchKind, type TokenKind } from '../detect/kind.js';
import { classOf } from '../detect/tokens.js';

const word = String.raw`(?:[A-Z][a-z.'’-]{1,20}|\d{1,3}(?:st|nd|rd|th)|[NSEW]{1,2}\.?)`;
const englishStreet =
  '(?:Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Place|Pl|Square|Sq|Terrace|Way|Parkway|Pkwy|Circle|Cir|Highway|Hwy|Crescent|Close|Gardens|Grove|Mews|Row|Hill)';
const unit = String.raw`(?:,? (?:Apt|Apartment|Suite|Ste|Unit|Flat|Floor|#)\.? ?\w{1,6})?`;
const ukPostcode = String.raw`[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}`;
const city = String.raw`(?:[A-Z][\p{L}.'’-]{1,20}(?: [A-Z][\p{L}.'’-]{1,20}){0,2})`;

/** `742 Evergreen Terrace, Springfield, OR 97403`, `10 Downing Street, London SW1A 2AA`. */
export const englishAddress: TokenKind = {
  id: 'LOCATION_ADDRESS',
  title:
    'street address in English: number, name and kind of street, then city and postcode where they are there',
  example: '742 Evergreen Terrace, Springfield, OR 97403',
  longest: 200,
  first: [digits(1, 5)],
  next: ' ',
  pattern: new RegExp(
    String.raw`\d{1,5}(?: ${word}){1,4} ${englishStreet}\b\.?${unit}(?:,? ${city},? (?:[A-Z]{2} \d{5}(?:-\d{4})?|${ukPostcode})(?![A-Za-z0-9])|, ${city}(?:, [A-Z]{2}\b)?)?(?!\w)`,
    'uy',
  ),
};

/** `P.O. Box 1234`. */
export const postBox: TokenKind = {
  id: 'LOCATION_ADDRESS',
  title: 'post office box',
  example: 'P.O. Box 1234',
  longest: 40,
  first: [],
  words: ['p', 'po', 'postfach'],
  pattern: /(?:P\. ?O\. ?Box|PO Box|Postfach) \d{1,3} ?\d{1,4}/iy,
};

const streetEnding = /(?:tra(?:ß|ss)e|tr\.|[wW]eg|latz|llee|asse|[rR]ing|amm|fer|haussee) (?=\d)/g;
const bareEnding = /^(?:Stra(?:ß|ss)e|Str\.|Weg|Platz|Allee|Gasse|Ring|Damm|Ufer|Chaussee) $/;
const houseNumber =
  /\d{1,4} ?[a-h]?(?![A-Za-z0-9])(?:(?:-|–)\d{1,4}[a-h]?)?(?:,? (?:D-)?\d{4,5} \p{Lu}[\p{L}.-]{1,30}(?: (?:am|an der|im|ob der|bei) \p{Lu}\p{L}{1,20})?)?/uy;

/** `Lindenstraße 12, 10969 Berlin`. */
export const germanAddress: SearchKind = {
  id: 'LOCATION_ADDRESS',
  title: 'street address in German: street, number, then postcode and city where they are there',
  example: 'Lindenstraße 12, 10969 Berlin',
  longest: 120,
  open(text, from) {
    const begins = text.slice(-120).search(germanOpen);
    return begins === -1 ? text.length : Math.max(from, text.length - Math.min(120, text.length) + begins);
  },
  search(text, from, to, found) {
    // A regular expression cannot be given the place where to stop.
    for (const match of text.slice(from, to + 42).matchAll(streetEnding)) {
      const number = from + match.index + match[0].length;
      let start = number - 1;
      while (start > 0 && number - start < 42 && isNamePart(text.charCodeAt(start - 1))) start--;
      if (start > 0 && isNamePart(text.charCodeAt(start - 1))) continue;
      // `Am Alten Ring` and `Lange Straße` have their first words before the ending.
      if (/^\p{L}+\.? $/u.test(text.slice(start, number)) && number - start <= 9)
        start -= firstWords(text, start);
      // The kind of street alone is no name of one.
      if (bareEnding.test(text.slice(start, number))) continue;
      if (!/^\p{Lu}/u.test(text.slice(start, start + 2)) || start < from || start >= to) continue;
      houseNumber.lastIndex = number;
      if (houseNumber.test(text)) found(start, houseNumber.lastIndex);
    }
  },
};

/** A street, perhaps with its number, postcode and city so far, up to the end of the text. */
const germanOpen =
  /(?<![\p{L}\d.-])(?:(?:\p{Lu}\p{L}{1,20}[ -]){0,2}\p{Lu}[\p{L}\d.-]{0,40}|(?:\p{Lu}\p{L}{1,20}[ -]){1,2}\p{L}{1,8}\.?) ?(?:(?<=(?:tra(?:ß|ss)e|tr\.|[wW]eg|latz|llee|asse|[rR]ing|amm|fer|haussee) )\d[^\n]{0,60})?$/u;

const firstWords = (text: string, start: number): number =>
  /(?<![\p{L}\d.-])(?:\p{Lu}\p{L}{1,20}[ -]){1,2}$/u.exec(text.slice(Math.max(0, start - 43), start))?.[0]
    .length ?? 0;

const isNamePart = (code: number): boolean => classOf(code) !== 0 || code === 45 || code === 46;

const name = String.raw`\p{Lu}[\p{Ll}'’]{1,20}(?:-\p{Lu}\p{Ll}{1,20})?`;
const fullName = String.raw`(?<value>${name}(?: (?:de|da|di|van|von|der|la|le|del|bin|al|\p{Lu}\.)){0,2}(?: ${name}){0,2})(?![\p{L}\d])`;

/** Words after a title or a greeting that are no names. */
const notNames =
  /^(?:The|This|That|Sir|Madam|All|Team|Customer|Support|Not|So|Very|From|In|On|At|A|An|Your|My|Our|Hiring|Manager|Colleague|Colleagues|Friend|Friends|Everyone|Speaker|God|Watson|Monday|Tuesday|Wednesday|Thursday|Friday|English|German|French|Spanish|American|Indian)\b/;

const nameAfter = (title: string, example: string, words: readonly string[], before: string): TokenKind => ({
  id: 'NAME',
  title,
  example,
  longest: 110,
  first: [],
  words,
  pattern: new RegExp(before + fullName, 'uy'),
  valid: (value) => !notNames.test(value),
});

export const nameKinds: readonly TokenKind[] = [
  nameAfter(
    'name of a person after a title such as “Mrs”',
    'Mrs Jane Carter',
    [
      'mr',
      'mrs',
      'ms',
      'miss',
      'dr',
      'prof',
      'herr',
      'herrn',
      'frau',
      'madame',
      'monsieur',
      'mme',
      'señor',
      'señora',
      'signor',
      'signora',
    ],
    String.raw`(?:[Mm]rs?|[Mm]s|[Mm]iss|[Dd]r|[Pp]rof|Herrn?|Frau|Madame|Monsieur|Mme|[Ss]eñora?|[Ss]ignora?)\.? (?:(?:Dr|Prof)\. )?`,
  ),
  nameAfter(
    'name of a person after words such as “my name is”',
    'My name is Jane Carter',
    ['my', 'mein', 'ich', 'je', 'me', 'mi', 'meu', 'mijn'],
    `(?:[Mm]y name is|[Mm]ein Name ist|[Ii]ch hei(?:ß|ss)e|[Jj]e m['’]appelle|[Mm]e llamo|[Mm]i nombre es|[Mm]i chiamo|[Mm]eu nome é|[Mm]ijn naam is) `,
  ),
  nameAfter(
    'name of a person in a form',
    'Patient: Jane Carter',
    [
      'name',
      'patient',
      'customer',
      'employee',
      'cardholder',
      'surname',
      'applicant',
      'nom',
      'nombre',
      'nome',
      'naam',
      'kunde',
    ],
    `(?:(?:[Ff]ull |[Ff]irst |[Ll]ast )?[Nn]ame|[Pp]atient|[Cc]ustomer|[Ee]mployee|[Cc]ardholder|[Ss]urname|[Aa]pplicant|[Nn]om|[Nn]ombre|[Nn]ome|[Nn]aam|[Kk]unde): `,
  ),
];

export const addressKinds = [englishAddress, postBox, germanAddress];
