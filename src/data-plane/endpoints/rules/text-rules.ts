import type { JsonObject } from '../../../common/core/exchange.js';
import { isJsonInteger, numberOf } from '../../../common/json/json.js';
import { againstLimit, bareModel, embeddingLimit, overLimit } from '../embedding-tokens.js';
import {
  type BodyRules,
  boolean,
  type FieldCheck,
  integer,
  list,
  logitBias,
  model,
  number,
  orNull,
  refuse,
  seed,
  stop,
  streamOptions,
  streamOptionsNeedStream,
  string,
} from './rules.js';

const inputForms = 'a string, a list of strings, a list of tokens, or a list of token lists';

/** Checks the items of a list of strings, of tokens, or of token lists; the first item decides which of them it is. */
function textItems(items: readonly unknown[], path: string, minTokens: number): void {
  const first = items[0];
  const kind =
    typeof first === 'string'
      ? 'a string'
      : Array.isArray(first)
        ? 'a list of tokens'
        : 'a token (an integer)';
  for (let i = 0; i < items.length; i++) {
    const item = items[i];
    if (kind === 'a string') {
      if (typeof item !== 'string') refuse(`${path}[${i}]`, `must be ${kind}, as the first item is`);
    } else if (kind === 'a list of tokens') {
      if (!Array.isArray(item)) refuse(`${path}[${i}]`, `must be ${kind}, as the first item is`);
      if (item.length < minTokens) refuse(`${path}[${i}]`, `must have at least ${minTokens} token`);
      for (let j = 0; j < item.length; j++) {
        if (!isJsonInteger(item[j])) refuse(`${path}[${i}][${j}]`, 'must be an integer');
      }
    } else if (!isJsonInteger(item)) {
      refuse(
        `${path}[${i}]`,
        i === 0
          ? 'must be a string, an integer or a list of integers'
          : `must be ${kind}, as the first item is`,
      );
    }
  }
}

const prompt: FieldCheck = (value, path) => {
  if (typeof value === 'string') return;
  if (!Array.isArray(value)) refuse(path, `must be ${inputForms}`);
  textItems(value, path, 0);
};

function acrossCompletion(body: JsonObject): void {
  streamOptionsNeedStream(body);
  const bestOf = numberOf(body['best_of']);
  if (bestOf === null) return;
  const n = numberOf(body['n']);
  if (n !== null && bestOf <= n) refuse('best_of', 'must be greater than n');
  if (body['stream'] === true && bestOf > 1)
    refuse('best_of', 'cannot be streamed: leave it out or set stream to false');
}

/** A text completion request. */
export const completionRules: BodyRules = {
  required: ['model', 'prompt'],
  open: true,
  across: acrossCompletion,
  fields: new Map<string, FieldCheck>([
    ['model', model],
    ['prompt', prompt],
    ['best_of', orNull(integer(0, 20))],
    ['echo', orNull(boolean)],
    ['frequency_penalty', orNull(number(-2, 2))],
    ['presence_penalty', orNull(number(-2, 2))],
    ['logit_bias', orNull(logitBias)],
    ['logprobs', orNull(integer(0, 5))],
    ['max_tokens', orNull(integer(0))],
    ['n', orNull(integer(1, 128))],
    ['seed', orNull(seed)],
    ['stop', stop],
    ['stream', orNull(boolean)],
    ['stream_options', orNull(streamOptions)],
    ['suffix', orNull(string)],
    ['temperature', orNull(number(0, 2))],
    ['top_p', orNull(number(0, 1))],
    ['user', string],
  ]),
};

const maxItems = 2048;
const input: FieldCheck = (value, path) => {
  if (typeof value === 'string') {
    if (value.length === 0) refuse(path, 'must not be an empty string');
    return;
  }
  if (!Array.isArray(value)) refuse(path, `must be ${inputForms}`);
  list(value, path, 1, maxItems);
  textItems(value, path, 1);
};

/** The only embedding model of OpenAI's whose vectors have one size. */
const olderModel = 'text-embedding-ada-002';

function acrossEmbedding(body: JsonObject): void {
  const model = body['model'] as string;
  if (Object.hasOwn(body, 'dimensions') && bareModel(model) === olderModel) {
    refuse('dimensions', `is not supported by ${olderModel}: only by text-embedding-3 and later models`);
  }
  const limit = embeddingLimit(model);
  // A text that may be too long is counted later, in another thread.
  if (limit !== null && againstLimit(body['input'], limit) === 'exceeds')
    refuse('input', overLimit(limit, model));
}

/** An embedding request: the only one that takes no fields beyond its own. */
export const embeddingRules: BodyRules = {
  required: ['input', 'model'],
  open: false,
  across: acrossEmbedding,
  fields: new Map<string, FieldCheck>([
    ['input', input],
    ['model', model],
    [
      'encoding_format',
      (value, path) => {
        if (value !== 'float' && value !== 'base64') refuse(path, 'must be float or base64');
      },
    ],
    ['dimensions', integer(1)],
    ['user', string],
  ]),
};

/** A moderation request. */
export const moderationRules: BodyRules = {
  required: ['input'],
  open: true,
  fields: new Map<string, FieldCheck>([
    [
      'input',
      (value, path) => {
        if (typeof value === 'string') return;
        if (!Array.isArray(value)) refuse(path, 'must be a string or a list of strings');
        for (let i = 0; i < value.length; i++) {
          if (typeof value[i] !== 'string') refuse(`${path}[${i}]`, 'must be a string');
        }
      },
    ],
    ['model', model],
  ]),
};
