import { partnerCheck, records } from './partner.js';

interface Exa {
  readonly prefix?: string;
  readonly suffix?: string;
  readonly numResults: number;
  readonly includeDomains?: readonly string[];
  readonly excludeDomains?: readonly string[];
}

/** Characters of a question, and of a page that is put into the request. */
const maxQuestion = 2000;
const maxPage = 4000;

/** Results of a search of the web, put after the last message. docs.exa.ai, POST /search */
export const exa = {
  ...partnerCheck({
    id: 'exa.online',
    redacts: [],
    async judge(ask, parameters) {
      const { prefix = '\n<web_search_context>', suffix = '</web_search_context>' } =
        parameters as unknown as Exa;
      const { numResults, includeDomains = [], excludeDomains = [] } = parameters as unknown as Exa;
      const { texts, text } = ask.context;
      const base = ask.base(() => 'https://api.exa.ai');
      const answer = await ask.post(
        `${base}/search`,
        { 'x-api-key': ask.key },
        {
          query: text.slice(0, maxQuestion),
          numResults,
          contents: { text: { maxCharacters: maxPage } },
          ...(includeDomains.length > 0 && { includeDomains }),
          ...(excludeDomains.length > 0 && { excludeDomains }),
        },
      );
      if (!Array.isArray(answer['results'])) throw ask.unexpected();
      const pages = records(answer['results']).slice(0, numResults);
      if (pages.length === 0) return { verdict: true, data: { results: 0 } };
      const lines = pages.map(
        ({ title, url, text: page }, i) =>
          `[${i + 1}] "${String(title ?? '')}"\nURL: ${String(url ?? '')}\n${String(page ?? '').slice(0, maxPage)}\n`,
      );
      const found = `${prefix}\n${lines.join('')}${suffix}`;
      const transformed = texts.map((one, i) => (i === texts.length - 1 ? `${one}${found}` : one));
      return { verdict: true, data: { results: pages.length }, transformed };
    },
  }),
  judgedOnly: true as const,
};
