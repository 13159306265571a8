import type { SearchKind } from '../detect/kind.js';
import { eachOccurrence } from '../detect/occurrences.js';
import { classOf } from '../detect/tokens.js';

/** Of an address before its @. Other signs are allowed too, and are those of templates and paths. */
const local = /[A-Za-z0-9%&'*+=_~.-]/;
const maxLocal = 64;

/** Letters that are written beside ASCII ones, with their marks. */
const latin = '[A-Za-z0-9\\p{Script=Latin}\\p{Script=Greek}\\p{Script=Cyrillic}\\u0300-\\u036f]';
/** Those of other scripts, such as Chinese, which may follow an ASCII address without a space. */
const foreign = `(?!${latin})[\\p{L}\\p{M}\\p{Nd}]`;
const label = `(?:${latin}(?:(?:${latin}|-){0,62}${latin})?|(?:${foreign})(?:(?:${foreign}|[0-9-]){0,62}(?:${foreign}))?)`;
// What follows the point after an ASCII name may be the next sentence.
const top = `[A-Za-z]{2,24}|xn--[A-Za-z0-9-]{2,40}|(?<=[^\\0-\\x7f]\\.)(?:${latin}{2,24}|(?:${foreign}){1,24})`;
const domain = new RegExp(`((?:${label}\\.){1,8})(${top})(?![A-Za-z0-9-])`, 'yu');
/** The beginning of a domain, up to the end of the text. A point ends each of its labels but the last: there is one way to match. */
const domainOpen = /^(?:[\p{L}\p{M}\p{Nd}-]{1,64}(?:\.|$)){0,9}$/u;

/** Ends of file names that follow an @, as in `icon@2x.png`. */
const fileName = /^(?:png|jpe?g|gif|svg|webp|css|js|ts|tsx|jsx|json|html?|md|txt|py|so|dll|zip|gz)$/i;

const localCodes = new Uint8Array(128);
for (let each = 33; each < 127; each++) if (local.test(String.fromCharCode(each))) localCodes[each] = 1;
const isMark = (code: number): boolean => code >= 0x300 && code <= 0x36f;
const isLocal = (code: number): boolean =>
  code < 128 ? localCodes[code] === 1 : classOf(code) !== 0 || isMark(code);
const isForeign = (code: number): boolean =>
  code >= 128 && !isLocal(code) && /[\p{L}\p{M}\p{Nd}]/u.test(String.fromCharCode(code));

/** Where the name before the @ at `at` begins. `ofAny`: letters of all scripts belong to it. */
function localStart(text: string, at: number, ofAny: boolean): number {
  let start = at;
  while (start > 0 && at - start < maxLocal) {
    const code = text.charCodeAt(start - 1);
    if (!isLocal(code) && !(ofAny && isForeign(code))) break;
    start--;
  }
  while (start < at && (text[start] === '.' || text[start] === "'" || isMark(text.charCodeAt(start))))
    start++;
  return start;
}

/** Addresses that belong to no one: those of examples stay found, those that are names of remotes do not. */
export const email: SearchKind = {
  id: 'EMAIL_ADDRESS',
  title: 'e-mail address',
  example: 'jo.smith@mail.example.org',
  longest: 320,
  open(text, from) {
    const end = text.slice(-(320 - maxLocal));
    const begun = end.lastIndexOf('@');
    const isOpen = begun !== -1 && domainOpen.test(end.slice(begun + 1));
    const at = isOpen ? text.length - end.length + begun : text.length;
    const start = localStart(text, at, true);
    return start === at ? text.length : Math.max(from, start);
  },
  search(text, from, to, found) {
    eachOccurrence(text, '@', from, to + maxLocal, (at) => {
      const start = localStart(text, at, isForeign(text.charCodeAt(at - 1)));
      if (start === at || start < from || start >= to || text[at - 1] === '.') return;
      domain.lastIndex = at + 1;
      const match = domain.exec(text);
      if (match === null || fileName.test(match[2]!)) return;
      const end = at + 1 + match[0].length;
      // The name of a repository: `git@host.org:team/project`.
      if (
        text[end] === ':' &&
        classOf(text.charCodeAt(end + 1)) !== 0 &&
        /^git$/i.test(text.slice(start, at))
      )
        return;
      // The user of a URL, and its password.
      if (/\/\/(?:[^\s/@:]{0,64}:)?$/.test(text.slice(Math.max(0, start - 68), start))) return;
      found(start, end);
    });
  },
};
