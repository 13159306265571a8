import { isPlain } from '../../request/values.js';
import { eachText, partnerCheck, records, slicesOf } from '../partner.js';
import { askAzure } from './azure.js';

interface AzurePii {
  readonly domain: string;
  readonly apiVersion: string;
  readonly modelVersion: string;
  readonly language: string;
  readonly redact: boolean;
}

/** Of one synchronous call. */
const maxDocuments = 5;
const maxLength = 5000;

interface Document {
  readonly text: string;
  /** Index of the text that it is a slice of. */
  readonly of: number;
}

const blank = /^\s*$/;

/**
 * Azure AI Language, PiiEntityRecognition. A long text is asked about in slices.
 * learn.microsoft.com/azure/ai-services/language-service/personally-identifiable-information
 */
export const azurePii = partnerCheck({
  id: 'azure.pii',
  redacts: ['redact'],
  async judge(ask, parameters) {
    const { domain, apiVersion, modelVersion, language, redact } = parameters as unknown as AzurePii;
    const documents = ask.context.texts.flatMap((text, of) =>
      slicesOf(text, maxLength).map((slice): Document => ({ text: slice, of })),
    );
    const redacted = documents.map(({ text }) => text);
    const counts: Record<string, number> = {};
    // An empty document is an error there.
    const asked = [...documents.keys()].filter((i) => !blank.test(documents[i]!.text));
    const batches = Array.from({ length: Math.ceil(asked.length / maxDocuments) }, (_, i) =>
      asked.slice(i * maxDocuments, (i + 1) * maxDocuments),
    );
    await eachText(batches.map(String), async (batch) => {
      const ids = batch.split(',');
      const answer = await askAzure(ask, 'pii', '/language/:analyze-text', apiVersion, {
        kind: 'PiiEntityRecognition',
        parameters: { domain, modelVersion },
        analysisInput: { documents: ids.map((id) => ({ id, language, text: documents[Number(id)]!.text })) },
      });
      const results = isPlain(answer['results']) ? answer['results'] : {};
      const found = records(results['documents']);
      // One that could not be analysed is listed as an error in place of its result.
      if (found.length !== ids.length) throw ask.unexpected();
      for (const { id, redactedText, entities } of found) {
        const at = Number(id);
        if (!Number.isInteger(at) || typeof redactedText !== 'string' || !(at in redacted))
          throw ask.unexpected();
        const all = records(entities);
        for (const { category } of all) counts[String(category)] = (counts[String(category)] ?? 0) + 1;
        if (all.length > 0) redacted[at] = redactedText;
      }
    });
    const isFound = Object.keys(counts).length > 0;
    const data = { found: counts };
    if (!isFound || !redact) return { verdict: !isFound, data };
    const transformed = ask.context.texts.map((_, of) =>
      redacted.filter((_text, i) => documents[i]!.of === of).join(''),
    );
    return { verdict: true, data, transformed };
  },
});
