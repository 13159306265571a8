import { GatewayError } from '../../../common/core/errors.js';
import type { JsonObject } from '../../../common/core/exchange.js';
import type { InnerJson } from '../inner-json.js';
import { asArray, asObject, asString, contentOrRefusal, shortJson } from './json-shape.js';

/** The conversation as the Messages API has it: system apart, tool results inside user messages. */
export interface AnthropicConversation {
  readonly system: JsonObject[];
  readonly messages: JsonObject[];
}

/**
 * OpenAI messages → Messages API. Blocks that Anthropic refuses for being empty are left out; anything else that
 * cannot be expressed is refused by its path, since a conversation with a hole means something else.
 */
export function toConversation(
  messages: readonly unknown[],
  dropped: string[],
  inner: InnerJson,
): AnthropicConversation {
  const system: JsonObject[] = [];
  const out: JsonObject[] = [];
  /** The user message that collects the results of one turn's tools. */
  let results: JsonObject[] | null = null;
  /** Id of the last deprecated `function_call`, which has none of its own. */
  let functionCallId = '';
  for (let i = 0; i < messages.length; i++) {
    const path = `messages[${i}]`;
    const message = asObject(messages[i]);
    if (message === null) throw invalid(path, 'must be an object with a role and content.');
    const role = message['role'];
    if (role === 'tool' || role === 'function') {
      if (results === null) {
        results = [];
        out.push({ role: 'user', content: results });
      }
      results.push(
        toolResult(message, role === 'function' ? functionCallId : message['tool_call_id'], path, dropped),
      );
      continue;
    }
    if (role === 'system' || role === 'developer') {
      systemBlocks(message, path, system);
      continue;
    }
    results = null;
    if (role === 'user') {
      out.push({ role, content: userContent(message['content'], path, dropped) });
    } else if (role === 'assistant') {
      functionCallId = `call_function_${i}`;
      const content = assistantContent(message, functionCallId, path, dropped, inner);
      if (content.length === 0) dropped.push(path);
      else out.push({ role, content });
    } else {
      throw invalid(`${path}.role`, 'must be system, developer, user, assistant, tool or function.');
    }
  }
  return { system, messages: out };
}

function systemBlocks(message: JsonObject, path: string, system: JsonObject[]): void {
  const content = message['content'];
  if (typeof content === 'string') {
    if (content !== '') system.push(withCacheControl({ type: 'text', text: content }, message));
    return;
  }
  const parts = asArray(content);
  if (parts === null) throw invalid(`${path}.content`, 'must be a string or a list of text parts.');
  parts.forEach((part, j) => {
    const text = asString(asObject(part)?.['text']);
    if (text === null)
      throw unsupported(`${path}.content[${j}]`, 'only text parts can stand in a system message.');
    if (text !== '') system.push(withCacheControl({ type: 'text', text }, part as JsonObject));
  });
}

function userContent(content: unknown, path: string, dropped: string[]): string | JsonObject[] {
  if (typeof content === 'string') return content;
  const parts = asArray(content);
  if (parts === null) throw invalid(`${path}.content`, 'must be a string or a list of content parts.');
  return contentBlocks(parts, path, dropped);
}

function contentBlocks(parts: readonly unknown[], path: string, dropped: string[]): JsonObject[] {
  const blocks: JsonObject[] = [];
  parts.forEach((part, j) => {
    const at = `${path}.content[${j}]`;
    const object = asObject(part);
    if (object === null) throw invalid(at, 'must be an object with a type.');
    if (object['type'] === 'text' && object['text'] === '') return;
    blocks.push(withCacheControl(contentBlock(object, at, dropped), object));
  });
  return blocks;
}

function contentBlock(part: JsonObject, path: string, dropped: string[]): JsonObject {
  switch (part['type']) {
    case 'text': {
      const text = asString(part['text']);
      if (text === null) throw invalid(`${path}.text`, 'must be a string.');
      return { type: 'text', text };
    }
    case 'refusal':
      return { type: 'text', text: asString(part['refusal']) ?? '' };
    case 'image_url':
      return imageBlock(part, path, dropped);
    case 'file':
      return fileBlock(part, path);
    // Anthropic's own blocks, from clients that know whom they talk to.
    case 'image':
    case 'document':
    case 'search_result':
    case 'container_upload':
      return { ...part };
    default:
      throw unsupported(
        `${path}.type`,
        `a content part of type ${shortJson(part['type'])} cannot be sent to this provider.`,
      );
  }
}

function imageBlock(part: JsonObject, path: string, dropped: string[]): JsonObject {
  const image = asObject(part['image_url']);
  const url = image === null ? asString(part['image_url']) : asString(image['url']);
  if (url === null) throw invalid(`${path}.image_url.url`, 'must be a data: or http(s) URL.');
  const detail = image?.['detail'];
  if (detail !== undefined && detail !== null && detail !== 'auto') dropped.push(`${path}.image_url.detail`);
  if (url.startsWith('data:')) return dataBlock(url, null, `${path}.image_url.url`);
  if (!isWebUrl(url)) throw invalid(`${path}.image_url.url`, 'must be a data: or http(s) URL.');
  return { type: 'image', source: { type: 'url', url } };
}

function fileBlock(part: JsonObject, path: string): JsonObject {
  const file = asObject(part['file']);
  if (file === null) throw invalid(`${path}.file`, 'must be an object with file_data, file_url or file_id.');
  const title = asString(file['filename']) ?? asString(file['file_name']);
  const mime = asString(file['mime_type']);
  const id = asString(file['file_id']);
  const url = asString(file['file_url']);
  const data = asString(file['file_data']);
  let block: JsonObject;
  if (id !== null) {
    const type = mime?.startsWith('image/') ? 'image' : 'document';
    block = { type, source: { type: 'file', file_id: id } };
  } else if (url !== null) {
    if (!isWebUrl(url)) throw invalid(`${path}.file.file_url`, 'must be an http(s) URL.');
    block = { type: mime?.startsWith('image/') ? 'image' : 'document', source: { type: 'url', url } };
  } else if (data !== null) {
    block = dataBlock(data, mime, `${path}.file.file_data`);
  } else {
    throw invalid(`${path}.file`, 'must have file_data, file_url or file_id.');
  }
  return title === null || block['type'] !== 'document' ? block : { ...block, title };
}

const imageTypes = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp']);

/** Bytes in the request itself: a `data:` URL, or bare base64 of a stated type, PDF by default. */
function dataBlock(data: string, mime: string | null, path: string): JsonObject {
  let type = mime ?? 'application/pdf';
  let base64 = data;
  if (data.startsWith('data:')) {
    const comma = data.indexOf(',');
    // Only the head is cut out: what follows the comma may be megabytes.
    const head = comma < 0 || comma > 256 ? null : data.slice(5, comma).split(';');
    if (head === null || head[head.length - 1]?.trim() !== 'base64') {
      throw invalid(path, 'must be a data URL of the form data:<type>;base64,<data>.');
    }
    type = head[0] === '' ? type : (head[0] as string).toLowerCase();
    base64 = data.slice(comma + 1);
  }
  if (type === 'image/jpg') type = 'image/jpeg';
  if (imageTypes.has(type))
    return { type: 'image', source: { type: 'base64', media_type: type, data: base64 } };
  if (type === 'application/pdf')
    return { type: 'document', source: { type: 'base64', media_type: type, data: base64 } };
  if (type.startsWith('text/')) {
    const text = Buffer.from(base64, 'base64').toString('utf8');
    return { type: 'document', source: { type: 'text', media_type: 'text/plain', data: text } };
  }
  throw unsupported(
    path,
    `data of type ${JSON.stringify(type.slice(0, 80))} cannot be sent to this provider: use PDF, text, JPEG, PNG, GIF or WebP.`,
  );
}

function isWebUrl(url: string): boolean {
  return /^https?:\/\//i.test(url);
}

function assistantContent(
  message: JsonObject,
  functionCallId: string,
  path: string,
  dropped: string[],
  inner: InnerJson,
): JsonObject[] {
  const blocks = assistantText(message, path, dropped);
  const known = new Set(blocks.map((block) => block['id']));
  const calls = asArray(message['tool_calls']) ?? [];
  calls.forEach((value, j) => {
    const at = `${path}.tool_calls[${j}]`;
    const call = asObject(value);
    const fn = asObject(call?.['function']);
    if (call === null || fn === null)
      throw unsupported(at, 'only calls of type function can be sent to this provider.');
    const id = toolId(call['id'], `${at}.id`);
    if (!known.has(id)) blocks.push(withCacheControl(toolUse(id, fn, `${at}.function`, inner), call));
  });
  const legacy = asObject(message['function_call']);
  if (legacy !== null) blocks.push(toolUse(functionCallId, legacy, `${path}.function_call`, inner));
  return blocks;
}

/** `content_blocks`, as answers carried them, before `content`: only they bring thinking back with its signature. */
function assistantText(message: JsonObject, path: string, dropped: string[]): JsonObject[] {
  const own = asArray(message['content_blocks']);
  if (own !== null && own.length > 0) {
    return own.flatMap((value, j) => {
      const block = asObject(value);
      if (block === null) throw invalid(`${path}.content_blocks[${j}]`, 'must be an object with a type.');
      if (block['type'] === 'text' && block['text'] === '') return [];
      // Unsigned thinking is refused by the API: it was not this model that thought it.
      if (block['type'] === 'thinking' && !block['signature']) {
        dropped.push(`${path}.content_blocks[${j}]`);
        return [];
      }
      if (block['type'] === 'image_url') {
        dropped.push(`${path}.content_blocks[${j}]`);
        return [];
      }
      // Google's signature of a text.
      const { thought_signature: _, ...rest } = block;
      return [rest];
    });
  }
  const content = contentOrRefusal(message);
  if (content === null || content === undefined || content === '') return [];
  if (typeof content === 'string') return [withCacheControl({ type: 'text', text: content }, message)];
  const parts = asArray(content);
  if (parts === null) throw invalid(`${path}.content`, 'must be a string, a list of content parts or null.');
  return contentBlocks(parts, path, dropped).filter(
    (block) => block['type'] !== 'text' || block['text'] !== '',
  );
}

function toolUse(id: string, fn: JsonObject, path: string, inner: InnerJson): JsonObject {
  const name = asString(fn['name']);
  if (name === null) throw invalid(`${path}.name`, 'must be a string.');
  return { type: 'tool_use', id, name, input: toolInput(fn['arguments'], `${path}.arguments`, inner) };
}

/** The arguments of a call, as an object. */
export function toolInput(text: unknown, path: string, inner: InnerJson): JsonObject {
  if (text === undefined || text === null) return {};
  if (typeof text !== 'string') throw invalid(path, 'must be the text of a JSON object.');
  if (text.trim() === '') return {};
  let input: unknown;
  try {
    input = inner.parse(text);
  } catch (thrown) {
    if (thrown instanceof RangeError) throw invalid(path, `${thrown.message}.`);
    throw invalid(path, 'is not valid JSON: send the arguments as the model wrote them, or {}.');
  }
  const object = asObject(input);
  if (object === null) throw invalid(path, 'must be the text of a JSON object.');
  return object;
}

function toolResult(message: JsonObject, id: unknown, path: string, dropped: string[]): JsonObject {
  const block: JsonObject = { type: 'tool_result', tool_use_id: toolId(id, `${path}.tool_call_id`) };
  const content = message['content'];
  if (typeof content === 'string') block['content'] = content;
  else if (asArray(content) !== null) block['content'] = contentBlocks(content as unknown[], path, dropped);
  else if (content !== null && content !== undefined) {
    throw invalid(`${path}.content`, 'must be a string or a list of content parts.');
  }
  if (message['is_error'] === true) block['is_error'] = true;
  return withCacheControl(block, message);
}

/** Ids of other providers may hold characters that Anthropic refuses. The same id always becomes the same id. */
export function toolId(id: unknown, path: string): string {
  if (typeof id !== 'string' || id === '') throw invalid(path, 'must be the id of a tool call.');
  return id.replace(/[^a-zA-Z0-9_-]/g, (char) => `_${char.codePointAt(0)?.toString(16)}_`);
}

/** `cache_control` is not OpenAI's, but the way to mark a breakpoint through an OpenAI-shaped body; it passes whole. */
export function withCacheControl(block: JsonObject, from: JsonObject): JsonObject {
  const control = from['cache_control'];
  if (control !== undefined && control !== null) block['cache_control'] = control;
  return block;
}

export function invalid(param: string, what: string): GatewayError {
  return new GatewayError('invalid_request', `${param} ${what}`, { param });
}

export function unsupported(param: string, what: string): GatewayError {
  return new GatewayError('unsupported_by_provider', `${param}: ${what}`, { param });
}
