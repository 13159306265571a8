import type { Format } from '../../../common/core/endpoint.js';
import type { ChatFormat, EmbeddingFormat, WireFormat } from '../provider.js';
import { anthropicMessages } from './anthropic-messages.js';
import { bedrockConverse } from './bedrock-converse.js';
import { bedrockEmbeddings } from './bedrock-embeddings.js';
import { cohereChat } from './cohere-chat.js';
import { cohereEmbed } from './cohere-embed.js';
import {
  geminiBatchEmbedContents,
  vertexEmbedContent,
  vertexPredictEmbeddings,
} from './gemini-embeddings.js';
import { geminiGenerateContent } from './gemini-generate-content.js';
import { nomicEmbed } from './nomic-embed.js';
import { openAiChat } from './openai-chat.js';
import { openAiEmbeddings } from './openai-embeddings.js';
import { cohereRerank, jinaRerank, voyageRerank } from './rerank.js';

/** The wire shapes of chat, by name. */
export const formats: ReadonlyMap<Format, ChatFormat> = new Map(
  [openAiChat, anthropicMessages, bedrockConverse, cohereChat, geminiGenerateContent].map((format) => [
    format.name,
    format,
  ]),
);

const embeddings: readonly EmbeddingFormat[] = [
  openAiEmbeddings,
  bedrockEmbeddings,
  cohereEmbed,
  nomicEmbed,
  geminiBatchEmbedContents,
  vertexPredictEmbeddings,
  vertexEmbedContent,
];

/** Other wire shapes of endpoints that are answered whole, by the client's format. */
export const plainFormats: ReadonlyMap<Format, readonly WireFormat[]> = new Map([
  ['openai-embeddings', embeddings],
  ['rerank', [cohereRerank, jinaRerank, voyageRerank]],
]);
