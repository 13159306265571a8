import { eachText, partnerCheck, records, slicesOf } from '../partner.js';
import { askAzure } from './azure.js';

interface ContentSafety {
  readonly apiVersion: string;
  readonly severity: number;
  readonly categories?: readonly string[];
  readonly blocklistNames?: readonly string[];
}

/** Characters of one call. */
export const maxSafetyLength = 10_000;
const allCategories = ['Hate', 'SelfHarm', 'Sexual', 'Violence'];

/**
 * Azure AI Content Safety, text:analyze: a severity by category, 0 to 6.
 * learn.microsoft.com/rest/api/contentsafety/text-operations/analyze-text
 */
export const contentSafety = partnerCheck({
  id: 'azure.contentSafety',
  async judge(ask, parameters) {
    const {
      apiVersion,
      severity,
      categories = allCategories,
      blocklistNames = [],
    } = parameters as unknown as ContentSafety;
    const severities: Record<string, number> = {};
    const blocklists = new Set<unknown>();
    await eachText(slicesOf(ask.context.text, maxSafetyLength), async (text) => {
      const body = { text, categories: categories.length > 0 ? categories : allCategories, blocklistNames };
      const answer = await askAzure(ask, 'contentSafety', '/contentsafety/text:analyze', apiVersion, body);
      if (!Array.isArray(answer['categoriesAnalysis'])) throw ask.unexpected();
      for (const { category, severity: found } of records(answer['categoriesAnalysis']))
        severities[String(category)] = Math.max(severities[String(category)] ?? 0, Number(found ?? 0));
      for (const { blocklistName } of records(answer['blocklistsMatch'])) blocklists.add(blocklistName);
    });
    const found = Object.keys(severities).filter((category) => severities[category]! >= severity);
    return {
      verdict: found.length === 0 && blocklists.size === 0,
      data: { found, severities, blocklists: [...blocklists] },
    };
  },
});
