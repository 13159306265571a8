import type { JsonObject } from '../../../common/core/exchange.js';
import { isJsonObject } from '../../../common/json/json.js';
import {
  type BodyRules,
  boolean,
  type FieldCheck,
  integer,
  list,
  model,
  number,
  object,
  orNull,
  refuse,
  string,
} from './rules.js';

const has = Object.hasOwn;

/** Content: a string, or blocks. */
function content(value: unknown, path: string): void {
  if (typeof value === 'string') return;
  if (value === undefined) refuse(path, 'is required');
  if (!Array.isArray(value)) refuse(path, 'must be a string or a list of content blocks');
  for (let i = 0; i < value.length; i++) block(value[i], `${path}[${i}]`);
}

/** Unknown kinds pass: providers add new ones without notice. */
function block(value: unknown, path: string): void {
  if (!isJsonObject(value)) refuse(path, 'must be an object');
  switch (value['type']) {
    case 'text':
      return string(value['text'], `${path}.text`);
    case 'image':
    case 'document':
      return source(value['source'], `${path}.source`);
    case 'tool_use':
      string(value['id'], `${path}.id`);
      string(value['name'], `${path}.name`);
      return object(value['input'], `${path}.input`);
    case 'tool_result':
      string(value['tool_use_id'], `${path}.tool_use_id`);
      if (value['content'] !== undefined && value['content'] !== null)
        content(value['content'], `${path}.content`);
      if (has(value, 'is_error')) boolean(value['is_error'], `${path}.is_error`);
      return;
    case 'thinking':
      string(value['thinking'], `${path}.thinking`);
      return string(value['signature'], `${path}.signature`);
    case 'redacted_thinking':
      return string(value['data'], `${path}.data`);
    default:
      string(value['type'], `${path}.type`);
  }
}

function source(value: unknown, path: string): void {
  if (!isJsonObject(value)) refuse(path, 'must be an object');
  switch (value['type']) {
    case 'base64':
    case 'text':
      string(value['media_type'], `${path}.media_type`);
      return string(value['data'], `${path}.data`);
    case 'url':
      return string(value['url'], `${path}.url`);
    case 'content':
      return content(value['content'], `${path}.content`);
    default:
      string(value['type'], `${path}.type`);
  }
}

const messages: FieldCheck = (value, path) => {
  list(value, path, 1, Number.POSITIVE_INFINITY);
  for (let i = 0; i < value.length; i++) {
    const message = value[i];
    if (!isJsonObject(message)) refuse(`${path}[${i}]`, 'must be an object');
    const { role } = message;
    if (role !== 'user' && role !== 'assistant' && role !== 'system') {
      refuse(`${path}[${i}].role`, 'must be user, assistant or system');
    }
    content(message['content'], `${path}[${i}].content`);
  }
};

const system: FieldCheck = (value, path) => {
  if (typeof value === 'string') return;
  if (!Array.isArray(value)) refuse(path, 'must be a string or a list of text blocks');
  for (let i = 0; i < value.length; i++) {
    const part: unknown = value[i];
    if (!isJsonObject(part)) refuse(`${path}[${i}]`, 'must be an object');
    if (part['type'] !== 'text') refuse(`${path}[${i}].type`, 'must be text');
    string(part['text'], `${path}[${i}].text`);
  }
};

const stopSequences: FieldCheck = (value, path) => {
  list(value, path, 0, Number.POSITIVE_INFINITY);
  for (let i = 0; i < value.length; i++) string(value[i], `${path}[${i}]`);
};

const tools: FieldCheck = (value, path) => {
  list(value, path, 0, Number.POSITIVE_INFINITY);
  for (let i = 0; i < value.length; i++) {
    const tool: unknown = value[i];
    const at = `${path}[${i}]`;
    if (!isJsonObject(tool)) refuse(at, 'must be an object');
    const type = tool['type'] ?? 'custom';
    string(type, `${at}.type`);
    // What the provider runs itself has no schema, and not always a name.
    if (type !== 'custom') continue;
    string(tool['name'], `${at}.name`);
    if (tool['description'] !== undefined) string(tool['description'], `${at}.description`);
    object(tool['input_schema'], `${at}.input_schema`);
  }
};

const toolChoice: FieldCheck = (value, path) => {
  if (!isJsonObject(value)) refuse(path, 'must be an object with a type');
  const { type } = value;
  if (type !== 'auto' && type !== 'any' && type !== 'tool' && type !== 'none') {
    refuse(`${path}.type`, 'must be auto, any, tool or none');
  }
  if (type === 'tool') string(value['name'], `${path}.name`);
  if (has(value, 'disable_parallel_tool_use')) {
    boolean(value['disable_parallel_tool_use'], `${path}.disable_parallel_tool_use`);
  }
};

const budget = integer(1024);
const thinking: FieldCheck = (value, path) => {
  if (!isJsonObject(value)) refuse(path, 'must be an object with a type');
  string(value['type'], `${path}.type`);
  if (value['type'] === 'enabled') budget(value['budget_tokens'], `${path}.budget_tokens`);
};

const metadata: FieldCheck = (value, path) => {
  if (!isJsonObject(value)) refuse(path, 'must be an object');
  if (has(value, 'user_id')) orNull(string)(value['user_id'], `${path}.user_id`);
};

const outputConfig: FieldCheck = (value, path) => {
  if (!isJsonObject(value)) refuse(path, 'must be an object');
  const { format } = value;
  if (has(value, 'effort')) orNull(string)(value['effort'], `${path}.effort`);
  if (format === undefined || format === null) return;
  if (!isJsonObject(format)) refuse(`${path}.format`, 'must be an object');
  if (format['type'] !== 'json_schema') refuse(`${path}.format.type`, 'must be json_schema');
  object(format['schema'], `${path}.format.schema`);
};

function across(body: JsonObject): void {
  const choice = body['tool_choice'];
  const given = Array.isArray(body['tools']) && body['tools'].length > 0;
  if (isJsonObject(choice) && (choice['type'] === 'any' || choice['type'] === 'tool') && !given) {
    refuse('tool_choice', 'is only allowed with tools');
  }
}

const counted: readonly (readonly [string, FieldCheck])[] = [
  ['model', model],
  ['messages', messages],
  ['system', orNull(system)],
  ['tools', orNull(tools)],
  ['tool_choice', orNull(toolChoice)],
  ['thinking', orNull(thinking)],
  ['output_config', orNull(outputConfig)],
];

/** A request of the Messages API. */
export const messagesRules: BodyRules = {
  required: ['model', 'messages', 'max_tokens'],
  open: true,
  across,
  fields: new Map<string, FieldCheck>([
    ...counted,
    // 0 fills the prompt cache and answers nothing.
    ['max_tokens', integer(0)],
    ['temperature', orNull(number(0, 1))],
    ['top_p', orNull(number(0, 1))],
    ['top_k', orNull(integer(0))],
    ['stop_sequences', orNull(stopSequences)],
    ['stream', orNull(boolean)],
    ['metadata', orNull(metadata)],
  ]),
};

/** The same, only to be counted. */
export const countTokensRules: BodyRules = {
  required: ['model', 'messages'],
  open: true,
  across,
  fields: new Map<string, FieldCheck>(counted),
};
