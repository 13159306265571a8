import type { JsonObject } from '../../../common/core/exchange.js';
import { unsupported } from '../formats/anthropic-content.js';
import { asArray, asObject, asString, shortJson } from '../formats/json-shape.js';
import type { InnerJson } from '../inner-json.js';
import type { CallOptions, CanonicalIn } from './client-format.js';
import { type ContentMessage, ContentReader, readInstruction } from './gemini-content.js';
import { camel, member } from './gemini-names.js';
import { toJsonSchema } from './gemini-schema.js';
import { readToolConfig, readTools } from './gemini-tools.js';

/** Read below, one by one. */
const read = new Set([
  'model',
  'contents',
  'systemInstruction',
  'tools',
  'toolConfig',
  'generationConfig',
  'cachedContent',
]);

/** Without a counterpart in chat, or chat's own for what is elsewhere here: in `contents`, and by the path. */
const without = new Set([
  'safetySettings',
  'labels',
  'serviceTier',
  'store',
  'messages',
  'stream',
  'streamOptions',
]);

/** Members of `generationConfig` that chat has under another name. */
const settings: Readonly<Record<string, string>> = {
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  seed: 'seed',
  maxOutputTokens: 'max_tokens',
  candidateCount: 'n',
  presencePenalty: 'presence_penalty',
  frequencyPenalty: 'frequency_penalty',
  responseLogprobs: 'logprobs',
  logprobs: 'top_logprobs',
};

/** Read below, one by one. */
const settingsRead = new Set([
  'stopSequences',
  'responseMimeType',
  'responseSchema',
  'responseJsonSchema',
  'thinkingConfig',
  'responseModalities',
]);

/**
 * The body of `models/{model}:generateContent` → an OpenAI chat request. Fields that are of neither go on under their
 * own names: a config may add them for its target.
 */
export function readGenerateContent(body: JsonObject, asked: CallOptions, inner: InnerJson): CanonicalIn {
  if ((member(body, 'cachedContent') ?? null) !== null) {
    throw unsupported('cachedContent', 'names content that lies with Google: send the content itself.');
  }
  const dropped: string[] = [];
  const conversation = new ContentReader(dropped, inner).read(body['contents']);
  const instruction = readInstruction(member(body, 'systemInstruction'));
  if (instruction !== null) conversation.unshift(instruction);
  const request: JsonObject = {
    model: asked.model,
    messages: conversation.map(({ message }) => message),
  };
  for (const key in body) {
    const value = body[key];
    if (read.has(camel(key)) || value === null || value === undefined) continue;
    if (!without.has(camel(key))) request[key] = value;
    else if (!Array.isArray(value) || value.length > 0) dropped.push(key);
  }
  const tools = readTools(body['tools'], dropped);
  readToolConfig(member(body, 'toolConfig'), tools.tools, request);
  readSettings(asObject(member(body, 'generationConfig')) ?? {}, request, dropped);
  // Usage is part of every answer in this format, and chat streams report it only on request.
  if (asked.stream) Object.assign(request, { stream: true, stream_options: { include_usage: true } });
  return { request, dropped, clientPath: (path) => clientPath(path, conversation, tools.paths) };
}

function readSettings(config: JsonObject, request: JsonObject, dropped: string[]): void {
  for (const key in config) {
    const value = config[key];
    const name = camel(key);
    if (value === null || value === undefined || settingsRead.has(name)) continue;
    const field = Object.hasOwn(settings, name) ? settings[name] : undefined;
    if (field === undefined) dropped.push(`generationConfig.${key}`);
    else request[field] = value;
  }
  const stop = asArray(member(config, 'stopSequences')) ?? [];
  if (stop.length > 0) request['stop'] = stop;
  const modalities = (asArray(member(config, 'responseModalities')) ?? []).map((each) =>
    String(each).toLowerCase(),
  );
  if (modalities.some((each) => each !== 'text')) request['modalities'] = modalities;
  readFormat(config, request, dropped);
  readThinking(asObject(member(config, 'thinkingConfig')), request);
}

function readFormat(config: JsonObject, request: JsonObject, dropped: string[]): void {
  const type = asString(member(config, 'responseMimeType')) ?? 'text/plain';
  if (type === 'text/plain') return;
  if (type !== 'application/json') {
    throw unsupported(
      'generationConfig.responseMimeType',
      `an answer of type ${shortJson(type)} can only be asked of a provider with this endpoint.`,
    );
  }
  const own = member(config, 'responseSchema');
  const schema =
    member(config, 'responseJsonSchema') ??
    (own === undefined ? undefined : toJsonSchema(own, 'generationConfig.responseSchema', dropped));
  request['response_format'] =
    schema === undefined
      ? { type: 'json_object' }
      : { type: 'json_schema', json_schema: { name: 'answer', schema } };
}

/** The least that a provider takes as a budget; less is sent as an effort. */
const leastBudget = 1024;

function readThinking(config: JsonObject | null, request: JsonObject): void {
  if (member(config, 'includeThoughts') === true) request['show_thinking'] = true;
  const level = asString(member(config, 'thinkingLevel'));
  if (level !== null && level !== 'THINKING_LEVEL_UNSPECIFIED') {
    request['reasoning_effort'] = level.toLowerCase();
    return;
  }
  const budget = member(config, 'thinkingBudget');
  // -1 leaves it to the model.
  if (typeof budget !== 'number' || budget < 0) return;
  if (budget === 0) request['thinking'] = { type: 'disabled' };
  else if (budget < leastBudget) request['reasoning_effort'] = 'low';
  else request['thinking'] = { type: 'enabled', budget_tokens: budget };
}

const inMessage = /^messages\[(\d+)\](?:\.(content|content_blocks|tool_calls)\[(\d+)\])?(.*)$/s;
const inTool = /^tools\[(\d+)\](?:\.function)?(.*)$/s;

/** Fields whose names here and in the canonical shape differ. */
const named: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(settings).map(([own, field]) => [field, `generationConfig.${own}`])),
  max_completion_tokens: 'generationConfig.maxOutputTokens',
  stop: 'generationConfig.stopSequences',
  modalities: 'generationConfig.responseModalities',
  thinking: 'generationConfig.thinkingConfig.thinkingBudget',
  reasoning_effort: 'generationConfig.thinkingConfig.thinkingLevel',
  response_format: 'generationConfig.responseSchema',
  tool_choice: 'toolConfig.functionCallingConfig',
  messages: 'contents',
};

function clientPath(path: string, conversation: readonly ContentMessage[], tools: readonly string[]): string {
  const message = inMessage.exec(path);
  const from = message === null ? undefined : conversation[Number(message[1])];
  if (message !== null && from !== undefined) {
    const [, , list, at] = message;
    const place = Number(at);
    if (list === 'tool_calls') return from.calls[place] ?? from.path;
    return list === 'content' ? (from.parts[place] ?? from.path) : from.path;
  }
  const tool = inTool.exec(path);
  const declared = tool === null ? undefined : tools[Number(tool[1])];
  if (tool !== null && declared !== undefined) return `${declared}${tool[2]}`;
  const field = path.split(/[.[]/, 1)[0] as string;
  return Object.hasOwn(named, field) ? (named[field] as string) : path;
}
