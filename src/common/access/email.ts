import { domainToASCII } from 'node:url';

/**
 * The form of e-mail addresses in which look-alikes are either equal or visibly different: the local part is ASCII, the
 * domain is in its DNS form (`xn--…`, lower case), and there are no invisible characters. Addresses are compared, and
 * unique in an organisation, in lower case.
 */

const longest = 254;
const atom = "[a-z0-9!#$%&'*+/=?^_`{|}~-]+";
const local = new RegExp(`^${atom}(?:\\.${atom})*$`, 'i');
const foreignLetter = /[^ -~]/u;
/** A domain as users type it. Excludes characters that URL parsing would decode or end the host at. */
const typedDomain = /^[\p{L}\p{M}\p{N}.-]+$/u;
const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
/** The last label begins with a letter, which excludes IP addresses. */
const domain = new RegExp(`^(?=.{1,253}$)(?:${label}\\.)+(?=[a-z])${label}$`);
/** Control, format and other characters that are not displayed. */
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;

type Read = { readonly email: string } | { readonly problem: string };

const codeOf = (character: string): string =>
  `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`;

function read(text: string): Read {
  const notAnAddress = { problem: 'must be an e-mail address.' };
  if (/[\t-\r ]/.test(text)) return notAnAddress;
  const hidden = invisible.exec(text)?.[0];
  if (hidden !== undefined)
    return { problem: `contains ${codeOf(hidden)}, which is not visible: remove it.` };
  const at = text.lastIndexOf('@');
  const [name, host] = [text.slice(0, at), text.slice(at + 1)];
  if (at < 1 || name.length > 64) return notAnAddress;
  const foreign = foreignLetter.exec(name)?.[0];
  if (foreign !== undefined)
    return {
      problem: `must be ASCII before the @, and has ${codeOf(foreign)} there: other scripts have letters that look the same.`,
    };
  if (!local.test(name) || !typedDomain.test(host)) return notAnAddress;
  const ascii = domainToASCII(host);
  if (!domain.test(ascii)) return { problem: 'must be an e-mail address with a valid domain after the @.' };
  const email = `${name}@${ascii}`;
  return email.length > longest ? { problem: `must be at most ${longest} characters long.` } : { email };
}

/** The end of a sentence that begins with the field's name; null: the address is valid. */
export function emailProblem(text: string): string | null {
  const found = read(text);
  return 'problem' in found ? found.problem : null;
}

/** The address as it is stored and shown; an invalid one only without surrounding space. */
export function normalEmail(text: string): string {
  const found = read(text.trim());
  return 'email' in found ? found.email : text.trim();
}

/** A list of addresses in that form, without duplicates. */
export const normalEmails = (texts: readonly string[]): string[] => [
  ...new Map(texts.map((text) => [emailKey(text), normalEmail(text)])).values(),
];

const asciiDomain = (text: string): string => {
  const at = text.lastIndexOf('@') + 1;
  const host = text.slice(at);
  const isForeign = foreignLetter.test(host) && typedDomain.test(host);
  return isForeign ? text.slice(0, at) + (domainToASCII(host) || host) : text;
};

/**
 * The key that addresses are compared by. For addresses stored before these rules, which may be invalid by now, it is
 * their compatibility form (NFKC) without invisible characters.
 */
export function emailKey(text: string): string {
  const found = read(text.trim());
  if ('email' in found) return found.email.toLowerCase();
  const seen = text.trim().normalize('NFKC').replace(new RegExp(invisible, 'gu'), '');
  return asciiDomain(seen).toLowerCase();
}

/** A part of an address, for searching stored addresses. */
export const emailPart = (text: string): string => asciiDomain(text.trim().normalize('NFKC'));
