import type { Format } from '../../core/endpoint.js';
import { chatTexts, completionTexts } from './formats/chat.js';
import { geminiBatchEmbedTexts, geminiCountTexts, geminiEmbedTexts, geminiTexts } from './formats/gemini.js';
import { inputTexts, rerankTexts } from './formats/lists.js';
import { anthropicTexts } from './formats/messages.js';
import { responsesTexts } from './formats/responses.js';
import type { TextFormat } from './text-format.js';

/** Where each format that clients speak has its texts. */
export const textFormats: Partial<Record<Format, TextFormat>> = {
  'openai-chat': chatTexts,
  'openai-completions': completionTexts,
  'openai-embeddings': inputTexts,
  'openai-moderations': inputTexts,
  'openai-responses': responsesTexts,
  'anthropic-messages': anthropicTexts,
  'anthropic-count-tokens': { request: anthropicTexts.request! },
  'gemini-generate-content': geminiTexts,
  'gemini-count-tokens': geminiCountTexts,
  'gemini-embed-content': geminiEmbedTexts,
  'gemini-batch-embed-contents': geminiBatchEmbedTexts,
  rerank: rerankTexts,
  'cohere-rerank': rerankTexts,
  'jina-rerank': rerankTexts,
  'voyage-rerank': rerankTexts,
};
