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

const roles: ReadonlySet<unknown> = new Set(['user', 'assistant', 'system', 'developer']);

/** Unknown kinds of parts pass: providers add new ones without notice. */
function content(value: unknown, path: string): void {
  if (typeof value === 'string') return;
  if (value === undefined) refuse(path, 'is required');
  if (!Array.isArray(value)) refuse(path, 'must be a string or a list of content parts');
  for (let i = 0; i < value.length; i++) {
    const part: unknown = value[i];
    const at = `${path}[${i}]`;
    if (!isJsonObject(part)) refuse(at, 'must be an object');
    string(part['type'], `${at}.type`);
    if (part['type'] === 'input_text' || part['type'] === 'output_text') string(part['text'], `${at}.text`);
  }
}

function item(value: unknown, path: string): void {
  if (!isJsonObject(value)) refuse(path, 'must be an object');
  const { type } = value;
  if (type !== undefined && type !== null) string(type, `${path}.type`);
  switch (type ?? 'message') {
    case 'message':
      if (!roles.has(value['role'])) refuse(`${path}.role`, 'must be user, assistant, system or developer');
      return content(value['content'], `${path}.content`);
    case 'function_call':
      string(value['call_id'], `${path}.call_id`);
      string(value['name'], `${path}.name`);
      return string(value['arguments'], `${path}.arguments`);
    case 'function_call_output':
      string(value['call_id'], `${path}.call_id`);
      return content(value['output'], `${path}.output`);
    case 'item_reference':
      return string(value['id'], `${path}.id`);
  }
}

const input: FieldCheck = (value, path) => {
  if (typeof value === 'string') return;
  if (!Array.isArray(value)) refuse(path, 'must be a string or a list of items');
  for (let i = 0; i < value.length; i++) item(value[i], `${path}[${i}]`);
};

const tools: FieldCheck = (value, path) => {
  list(value, path, 0, 128);
  for (let i = 0; i < value.length; i++) {
    const tool: unknown = value[i];
    const at = `${path}[${i}]`;
    if (!isJsonObject(tool)) refuse(at, 'must be an object');
    string(tool['type'], `${at}.type`);
    if (tool['type'] !== 'function') continue;
    string(tool['name'], `${at}.name`);
    orNull(object)(tool['parameters'] ?? null, `${at}.parameters`);
    orNull(boolean)(tool['strict'] ?? null, `${at}.strict`);
  }
};

const toolChoice: FieldCheck = (value, path) => {
  if (value === 'none' || value === 'auto' || value === 'required') return;
  if (!isJsonObject(value)) refuse(path, 'must be none, auto, required, or an object that names a tool');
  string(value['type'], `${path}.type`);
  if (value['type'] === 'function') string(value['name'], `${path}.name`);
};

const text: FieldCheck = (value, path) => {
  if (!isJsonObject(value)) refuse(path, 'must be an object');
  const format = value['format'];
  if (format === undefined || format === null) return;
  if (!isJsonObject(format)) refuse(`${path}.format`, 'must be an object');
  string(format['type'], `${path}.format.type`);
  if (format['type'] !== 'json_schema') return;
  string(format['name'], `${path}.format.name`);
  object(format['schema'], `${path}.format.schema`);
};

const strings: FieldCheck = (value, path) => {
  if (!Array.isArray(value)) refuse(path, 'must be a list of strings');
  for (let i = 0; i < value.length; i++) string(value[i], `${path}[${i}]`);
};

/** State that the provider keeps may replace the input. */
function across(body: JsonObject): void {
  const kept = ['prompt', 'previous_response_id', 'conversation'].some(
    (field) => (body[field] ?? null) !== null,
  );
  if (kept) return;
  if (body['input'] === undefined) refuse('input', 'is required');
  if (body['model'] === undefined) refuse('model', 'is required');
}

/** A request of the Responses API. */
export const responsesRules: BodyRules = {
  required: [],
  open: true,
  across,
  fields: new Map<string, FieldCheck>([
    ['model', model],
    ['input', input],
    ['instructions', orNull(string)],
    ['max_output_tokens', orNull(integer(1))],
    ['temperature', orNull(number(0, 2))],
    ['top_p', orNull(number(0, 1))],
    ['top_logprobs', orNull(integer(0, 20))],
    ['stream', orNull(boolean)],
    ['store', orNull(boolean)],
    ['background', orNull(boolean)],
    ['parallel_tool_calls', orNull(boolean)],
    ['tools', orNull(tools)],
    ['tool_choice', orNull(toolChoice)],
    ['text', orNull(text)],
    ['reasoning', orNull(object)],
    ['metadata', orNull(object)],
    ['include', orNull(strings)],
    ['previous_response_id', orNull(string)],
    ['user', orNull(string)],
  ]),
};
