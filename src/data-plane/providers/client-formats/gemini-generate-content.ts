import { asObject } from '../formats/json-shape.js';
import type { ClientFormat } from './client-format.js';
import { geminiErrors } from './gemini-errors.js';
import { geminiRenamed } from './gemini-model.js';
import { member } from './gemini-names.js';
import { writeGenerateContent } from './gemini-reply.js';
import { readGenerateContent } from './gemini-request.js';
import { GeminiStreamWriter } from './gemini-stream.js';

/**
 * generateContent and countTokens of the Gemini API as a client's format (v1beta, ai.google.dev/api; field by field
 * after the types of @google/genai 2.32).
 */
export const geminiGenerateContentClientFormat: ClientFormat = {
  ...geminiErrors,
  name: 'gemini-generate-content',
  renamed: geminiRenamed,
  readRequest: readGenerateContent,
  writeReply: writeGenerateContent,
  streamWriter: (context) => new GeminiStreamWriter(context),
  writeCount: (tokens) => ({ totalTokens: tokens }),
  countedRequest: (body) => asObject(member(body, 'generateContentRequest')) ?? body,
};
