import type { Format } from '../../../../../common/core/endpoint.js';
import type { JsonObject } from '../../../../../common/core/exchange.js';
import type { PluginFormat } from '../../../../../common/vocabulary/plugin-format.js';
import { embeddingList } from '../../../../providers/formats/embedding-list.js';
import { asArray, asObject } from '../../../../providers/formats/json-shape.js';
import { openAiEmbeddings } from '../../../../providers/formats/openai-embeddings.js';
import { openAiUsage } from '../../../../providers/formats/openai-usage.js';
import type { CanonicalReply, ConversionContext, EmbeddingFormat } from '../../../../providers/provider.js';
import type { Watched } from '../watched.js';
import { errorBy, OwnReplies, writtenBy } from './own-answers.js';

/** An embeddings format of a plugin. */
export function ownEmbeddings(name: Format, own: PluginFormat, run: Watched): EmbeddingFormat {
  const replies = new OwnReplies(own, run, list);
  return {
    name,
    toWire: (request, inner) => writtenBy(own, run, openAiEmbeddings.toWire(request, inner)),
    fromWire: (body, context) => replies.of(body, context),
    errorFromWire: errorBy(own, run),
    usage: (body, context) => openAiUsage(replies.of(body, context!)),
  };
}

/** Completes the object that a plugin returned to a list of embeddings: numbers, or base64 if the client requests that. */
function list(reply: JsonObject, context: ConversionContext): CanonicalReply {
  const data = asArray(reply['data']);
  if (data === null) throw new TypeError('data of its answer must be a list of { embedding }.');
  const vectors = data.map((item: unknown, index) => {
    const embedding = asArray(asObject(item)?.['embedding']);
    if (embedding === null) throw new TypeError(`data[${index}].embedding must be a list of numbers.`);
    return embedding;
  });
  const whole = embeddingList(vectors, 0, context);
  const { usage: _, ...rest } = whole;
  const usage = asObject(reply['usage']);
  return usage === null ? rest : { ...rest, usage };
}
