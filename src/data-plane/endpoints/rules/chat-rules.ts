import type { JsonObject } from '../../../common/core/exchange.js';
import { isJsonObject } from '../../../common/json/json.js';
import {
  type BodyRules,
  boolean,
  type FieldCheck,
  integer,
  list,
  logitBias,
  model,
  number,
  object,
  orNull,
  refuse,
  seed,
  stop,
  streamOptions,
  streamOptionsNeedStream,
  string,
} from './rules.js';

const has = Object.hasOwn;
const isString = (value: unknown): value is string => typeof value === 'string';

/** `{name, arguments}`, both strings: a call that the model made. */
function functionCall(value: unknown, path: string): void {
  if (!isJsonObject(value)) refuse(path, 'must be an object');
  if (!isString(value['name'])) refuse(`${path}.name`, 'must be a string');
  if (!isString(value['arguments'])) refuse(`${path}.arguments`, 'must be a string');
}

function toolCalls(value: unknown, path: string): void {
  if (!Array.isArray(value)) refuse(path, 'must be a list');
  for (let i = 0; i < value.length; i++) {
    const call: unknown = value[i];
    const at = `${path}[${i}]`;
    if (!isJsonObject(call)) refuse(at, 'must be an object');
    if (!isString(call['id'])) refuse(`${at}.id`, 'must be a string');
    if (call['type'] !== 'function') refuse(`${at}.type`, 'must be function');
    functionCall(call['function'], `${at}.function`);
  }
}

/** Content parts: text and images are checked, unknown kinds (input_audio, file, …) pass. */
function contentParts(parts: readonly unknown[], path: string): void {
  if (parts.length === 0) refuse(path, 'must have at least one part');
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i];
    if (!isJsonObject(part)) refuse(`${path}[${i}]`, 'must be an object');
    const type = part['type'];
    if (type === 'text') {
      if (!isString(part['text'])) refuse(`${path}[${i}].text`, 'must be a string');
    } else if (type === 'image_url') {
      const image = part['image_url'];
      if (!isJsonObject(image)) refuse(`${path}[${i}].image_url`, 'must be an object');
      if (!isString(image['url'])) refuse(`${path}[${i}].image_url.url`, 'must be a string');
      const detail = image['detail'];
      if (detail !== undefined && detail !== 'auto' && detail !== 'low' && detail !== 'high') {
        refuse(`${path}[${i}].image_url.detail`, 'must be auto, low or high');
      }
    } else if (!isString(type)) {
      refuse(`${path}[${i}].type`, 'must be a string');
    }
  }
}

const roles = 'system, developer, user, assistant, tool or function';

function message(value: unknown, i: number): void {
  if (!isJsonObject(value)) refuse(`messages[${i}]`, 'must be an object');
  const { role, content } = value;
  let contentMayBeNull = false;
  switch (role) {
    case 'user':
    case 'system':
    case 'developer':
      break;
    case 'assistant':
      contentMayBeNull = true;
      if (has(value, 'tool_calls')) toolCalls(value['tool_calls'], `messages[${i}].tool_calls`);
      if (has(value, 'function_call') && value['function_call'] !== null) {
        functionCall(value['function_call'], `messages[${i}].function_call`);
      }
      break;
    case 'tool':
      if (!isString(value['tool_call_id'])) refuse(`messages[${i}].tool_call_id`, 'must be a string');
      break;
    case 'function':
      contentMayBeNull = true;
      if (!isString(value['name'])) refuse(`messages[${i}].name`, 'must be a string');
      if (content === undefined) refuse(`messages[${i}].content`, 'is required');
      break;
    default:
      refuse(`messages[${i}].role`, `must be ${roles}`);
  }
  if (typeof content !== 'string') {
    if (Array.isArray(content)) contentParts(content, `messages[${i}].content`);
    else if (content === undefined || content === null) {
      if (!contentMayBeNull) {
        refuse(`messages[${i}].content`, content === null ? 'must not be null' : 'is required');
      }
    } else refuse(`messages[${i}].content`, 'must be a string or a list of content parts');
  }
  const { name } = value;
  if (name !== undefined && !isString(name)) refuse(`messages[${i}].name`, 'must be a string');
}

const messages: FieldCheck = (value, path) => {
  if (!Array.isArray(value)) refuse(path, 'must be a list');
  if (value.length === 0) refuse(path, 'must have at least one item');
  for (let i = 0; i < value.length; i++) message(value[i], i);
};

/** `{name!, description, parameters, strict}`: a function that the model may call. */
function functionShape(value: unknown, path: string): void {
  if (!isJsonObject(value)) refuse(path, 'must be an object');
  if (!isString(value['name'])) refuse(`${path}.name`, 'must be a string');
  if (has(value, 'description')) string(value['description'], `${path}.description`);
  if (has(value, 'parameters')) object(value['parameters'], `${path}.parameters`);
  if (has(value, 'strict') && value['strict'] !== null) boolean(value['strict'], `${path}.strict`);
}

const tools: FieldCheck = (value, path) => {
  list(value, path, 0, 128);
  for (let i = 0; i < value.length; i++) {
    const tool: unknown = value[i];
    if (!isJsonObject(tool)) refuse(`${path}[${i}]`, 'must be an object');
    if (tool['type'] !== 'function') refuse(`${path}[${i}].type`, 'must be function');
    functionShape(tool['function'], `${path}[${i}].function`);
  }
};

const functions: FieldCheck = (value, path) => {
  list(value, path, 1, 128);
  for (let i = 0; i < value.length; i++) functionShape(value[i], `${path}[${i}]`);
};

const toolChoice: FieldCheck = (value, path) => {
  if (value === 'none' || value === 'auto' || value === 'required') return;
  if (!isJsonObject(value)) refuse(path, 'must be none, auto, required, or an object that names a function');
  if (value['type'] !== 'function') refuse(`${path}.type`, 'must be function');
  const chosen = value['function'];
  if (!isJsonObject(chosen)) refuse(`${path}.function`, 'must be an object');
  if (!isString(chosen['name'])) refuse(`${path}.function.name`, 'must be a string');
};

const functionChoice: FieldCheck = (value, path) => {
  if (value === 'none' || value === 'auto') return;
  if (!isJsonObject(value)) refuse(path, 'must be none, auto, or an object that names a function');
  if (!isString(value['name'])) refuse(`${path}.name`, 'must be a string');
};

const responseFormat: FieldCheck = (value, path) => {
  if (!isJsonObject(value)) refuse(path, 'must be an object');
  const { type } = value;
  if (type === 'text' || type === 'json_object') return;
  if (type !== 'json_schema') refuse(`${path}.type`, 'must be text, json_object or json_schema');
  const schema = value['json_schema'];
  if (!isJsonObject(schema)) refuse(`${path}.json_schema`, 'must be an object');
  if (!isString(schema['name'])) refuse(`${path}.json_schema.name`, 'must be a string');
  if (has(schema, 'schema')) object(schema['schema'], `${path}.json_schema.schema`);
  if (has(schema, 'description')) string(schema['description'], `${path}.json_schema.description`);
  if (has(schema, 'strict') && schema['strict'] !== null) {
    boolean(schema['strict'], `${path}.json_schema.strict`);
  }
};

const budget = integer(1);
const thinking: FieldCheck = (value, path) => {
  if (!isJsonObject(value)) refuse(path, 'must be an object');
  if (value['type'] !== 'enabled' && value['type'] !== 'disabled') {
    refuse(`${path}.type`, 'must be enabled or disabled');
  }
  if (has(value, 'budget_tokens')) budget(value['budget_tokens'], `${path}.budget_tokens`);
};

function across(body: JsonObject): void {
  if (body['stream_options'] !== undefined) streamOptionsNeedStream(body);
  const top = body['top_logprobs'];
  if (top !== undefined && top !== null && body['logprobs'] !== true) {
    refuse('top_logprobs', 'is only allowed when logprobs is true');
  }
}

/** A chat completion request. */
export const chatRules: BodyRules = {
  required: ['messages', 'model'],
  open: true,
  across,
  fields: new Map<string, FieldCheck>([
    ['messages', messages],
    ['model', model],
    ['frequency_penalty', orNull(number(-2, 2))],
    ['presence_penalty', orNull(number(-2, 2))],
    ['logit_bias', orNull(logitBias)],
    ['logprobs', orNull(boolean)],
    ['top_logprobs', orNull(integer(0, 20))],
    ['max_tokens', orNull(integer(0))],
    ['max_completion_tokens', orNull(integer(0))],
    ['n', orNull(integer(1, 128))],
    ['response_format', responseFormat],
    ['seed', orNull(seed)],
    ['stop', stop],
    ['stream', orNull(boolean)],
    ['stream_options', orNull(streamOptions)],
    ['thinking', orNull(thinking)],
    ['temperature', orNull(number(0, 2))],
    ['top_p', orNull(number(0, 1))],
    ['tools', tools],
    ['tool_choice', toolChoice],
    ['parallel_tool_calls', boolean],
    ['user', string],
    ['function_call', functionChoice],
    ['functions', functions],
  ]),
};
