import type { JsonObject } from '../../../common/core/exchange.js';
import type { EmbeddingFormat } from '../provider.js';
import { openAiUsage } from './openai-usage.js';
import { readProviderError } from './provider-error.js';

/** Of another API's clients, and refused here. */
const foreign = new Set(['task_type', 'title']);

/** OpenAI's embeddings (platform.openai.com/docs/api-reference/embeddings), for requests of other formats' clients. */
export const openAiEmbeddings: EmbeddingFormat = {
  name: 'openai-embeddings',
  toWire(request) {
    const dropped = Object.keys(request).filter((key) => foreign.has(key));
    const body: JsonObject = { ...request };
    for (const key of dropped) delete body[key];
    return { body, dropped };
  },
  fromWire: (body) => body,
  errorFromWire: readProviderError,
  usage: openAiUsage,
};
