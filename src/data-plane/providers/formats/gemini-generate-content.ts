import type { ChatFormat } from '../provider.js';
import { geminiError } from './gemini-error.js';
import { fromGenerateContent } from './gemini-reply.js';
import { toGenerateContent } from './gemini-request.js';
import { GeminiStream } from './gemini-stream.js';
import { geminiUsage } from './gemini-usage.js';
import { asObject } from './json-shape.js';

/**
 * generateContent of the Gemini API (v1beta, ai.google.dev/api/generate-content) and of Vertex AI, field by field after
 * the types of @google/genai 2.32. The request is in gemini-request, -content, -media, -tools, -schema and -thinking,
 * the answer in gemini-reply, -candidate, -usage and -stream.
 */
export const geminiGenerateContent: ChatFormat = {
  name: 'gemini-generate-content',
  toWire: toGenerateContent,
  fromWire: fromGenerateContent,
  errorFromWire: geminiError,
  usage(body) {
    const usage = asObject(body['usageMetadata']);
    return usage === null ? null : geminiUsage(usage);
  },
  stream: (context) => new GeminiStream(context),
};
