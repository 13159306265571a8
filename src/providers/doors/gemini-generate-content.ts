import type { Door } from './door.js';
import { geminiErrors } from './gemini-errors.js';
import { writeGenerateContent } from './gemini-reply.js';
import { readGenerateContent } from './gemini-request.js';
import { GeminiStreamWriter } from './gemini-stream.js';

/**
 * generateContent and countTokens of the Gemini API as a client's format (v1beta, ai.google.dev/api; field by field
 * after the types of @google/genai 2.32).
 */
export const geminiGenerateContentDoor: Door = {
  ...geminiErrors,
  name: 'gemini-generate-content',
  readRequest: readGenerateContent,
  writeReply: writeGenerateContent,
  streamWriter: (context) => new GeminiStreamWriter(context),
  writeCount: (tokens) => ({ totalTokens: tokens }),
};
