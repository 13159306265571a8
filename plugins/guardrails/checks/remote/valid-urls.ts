import type { RemoteCheck, RemoteContext } from '../../check.js';
import { headersFor } from './calls.js';

const url = /https?:\/\/[^\s,"'{}[\]<>`|\\^]{1,2048}/g;
/** URLs that are asked, and how many at a time. */
const maxUrls = 20;
const batch = 5;

/** The URLs of a text, each once, without the marks of the sentence around them. */
export function urlsIn(text: string): readonly string[] {
  const found = new Set<string>();
  for (const [written] of text.matchAll(url)) {
    // The bracket after a link in Markdown is not part of it, that of an article's address is.
    const trimmed = written.replace(/[.;:!?*]+$/, '');
    const bare =
      trimmed.endsWith(')') && !trimmed.includes('(') ? trimmed.replace(/[).;:!?*]+$/, '') : trimmed;
    if (URL.canParse(bare)) found.add(bare);
    if (found.size > maxUrls) break;
  }
  return [...found];
}

/** Does a server answer? With `onlyDNS` any answer will do, else it must be a success. */
async function isValid({ send }: RemoteContext, target: string, onlyDNS: boolean): Promise<boolean> {
  try {
    const { status } = await send({ method: 'HEAD', url: target, headers: headersFor(), body: null });
    return onlyDNS || (status >= 200 && status < 400);
  } catch {
    return false;
  }
}

/** Without user, password and query, which may be secret. */
const shown = (text: string): string => {
  const { origin, pathname } = new URL(text);
  return `${origin}${pathname}`.slice(0, 200);
};

/** Do all URLs of the text lead to something? At most 20 are asked; a text with more is not decided. */
export const validUrls: RemoteCheck = {
  id: 'default.validUrls',
  runs: 'remote',
  async run(context, parameters) {
    const { onlyDNS, not } = parameters as unknown as { readonly onlyDNS: boolean; readonly not: boolean };
    const urls = urlsIn(context.text);
    if (urls.length === 0) return { verdict: false, data: { not, explanation: 'The text has no URLs.' } };
    if (urls.length > maxUrls) {
      const error = { name: 'TooManyUrls', message: `The text has more than ${maxUrls} URLs.` };
      return { verdict: false, data: { not, explanation: error.message }, error };
    }
    const validity: boolean[] = [];
    for (let at = 0; at < urls.length; at += batch)
      validity.push(
        ...(await Promise.all(urls.slice(at, at + batch).map((each) => isValid(context, each, onlyDNS)))),
      );
    const invalidUrls = urls.filter((_, index) => !validity[index]);
    const explanation = `${invalidUrls.length} of ${urls.length} URLs lead nowhere.`;
    const data = {
      not,
      explanation,
      urls: urls.length,
      invalidUrls: invalidUrls.slice(0, 10).map(shown),
    };
    return { verdict: (invalidUrls.length === 0) !== not, data };
  },
};
