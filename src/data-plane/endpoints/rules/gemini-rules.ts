import type { JsonObject } from '../../../common/core/exchange.js';
import { isJsonObject } from '../../../common/json/json.js';
import {
  type BodyRules,
  boolean,
  type FieldCheck,
  integer,
  list,
  number,
  object,
  orNull,
  refuse,
  string,
} from './rules.js';

const parts = (value: unknown, path: string): void => {
  if (!Array.isArray(value)) refuse(path, 'must be a list of parts');
  for (let i = 0; i < value.length; i++) {
    const part: unknown = value[i];
    if (!isJsonObject(part)) refuse(`${path}[${i}]`, 'must be an object');
    if (Object.hasOwn(part, 'text')) string(part['text'], `${path}[${i}].text`);
  }
};

const content: FieldCheck = (value, path) => {
  if (!isJsonObject(value)) refuse(path, 'must be an object with parts');
  parts(value['parts'], `${path}.parts`);
};

const roles: ReadonlySet<unknown> = new Set([undefined, null, '', 'user', 'model', 'function']);

const contents: FieldCheck = (value, path) => {
  list(value, path, 1, Number.POSITIVE_INFINITY);
  for (let i = 0; i < value.length; i++) {
    content(value[i], `${path}[${i}]`);
    if (!roles.has((value[i] as JsonObject)['role'])) refuse(`${path}[${i}].role`, 'must be user or model');
  }
};

const tools: FieldCheck = (value, path) => {
  list(value, path, 0, 128);
  for (let i = 0; i < value.length; i++) {
    const tool: unknown = value[i];
    if (!isJsonObject(tool)) refuse(`${path}[${i}]`, 'must be an object');
    const functions = tool['functionDeclarations'] ?? tool['function_declarations'] ?? [];
    const at = `${path}[${i}].functionDeclarations`;
    list(functions, at, 0, 512);
    for (let j = 0; j < functions.length; j++) {
      const declaration: unknown = functions[j];
      if (!isJsonObject(declaration)) refuse(`${at}[${j}]`, 'must be an object');
      string(declaration['name'], `${at}[${j}].name`);
    }
  }
};

const settings = new Map<string, FieldCheck>([
  ['temperature', number(0, 2)],
  ['topP', number(0, 1)],
  ['topK', number(0, Number.MAX_SAFE_INTEGER)],
  ['maxOutputTokens', integer(1)],
  ['candidateCount', integer(1, 128)],
  ['presencePenalty', number(-2, 2)],
  ['frequencyPenalty', number(-2, 2)],
  ['responseLogprobs', boolean],
  ['logprobs', integer(0, 20)],
  ['responseMimeType', string],
  ['responseSchema', object],
  ['thinkingConfig', object],
  [
    'stopSequences',
    (value, path) => {
      if (!Array.isArray(value)) refuse(path, 'must be a list of strings');
      for (let i = 0; i < value.length; i++) string(value[i], `${path}[${i}]`);
    },
  ],
]);

const generationConfig: FieldCheck = (value, path) => {
  if (!isJsonObject(value)) refuse(path, 'must be an object');
  for (const name in value) {
    const check = settings.get(name);
    if (check !== undefined && value[name] !== null) check(value[name], `${path}.${name}`);
  }
};

const generateFields = new Map<string, FieldCheck>([
  ['contents', contents],
  ['systemInstruction', orNull(content)],
  ['tools', orNull(tools)],
  ['toolConfig', orNull(object)],
  ['generationConfig', orNull(generationConfig)],
]);

/** A request of generateContent or streamGenerateContent (ai.google.dev/api/generate-content). */
export const generateContentRules: BodyRules = {
  required: ['contents'],
  open: true,
  fields: generateFields,
};

/** A request of countTokens: contents, or a whole request to be counted. */
export const geminiCountRules: BodyRules = {
  required: [],
  open: true,
  across(body) {
    if (body['contents'] === undefined && body['generateContentRequest'] === undefined) {
      refuse('contents', 'is required');
    }
  },
  fields: generateFields,
};

/** A request of embedContent, or of batchEmbedContents with several of them. */
export const geminiEmbedRules: BodyRules = {
  required: [],
  open: true,
  across(body) {
    if (body['content'] === undefined && body['requests'] === undefined) refuse('content', 'is required');
  },
  fields: new Map<string, FieldCheck>([
    ['content', content],
    [
      'requests',
      (value, path) => {
        list(value, path, 1, 2048);
        for (let i = 0; i < value.length; i++) {
          const request: unknown = value[i];
          if (!isJsonObject(request)) refuse(`${path}[${i}]`, 'must be an object');
          content(request['content'], `${path}[${i}].content`);
        }
      },
    ],
    ['outputDimensionality', integer(1)],
  ]),
};
