import type { JsonObject } from '../../../common/core/exchange.js';
import { invalid, unsupported } from './anthropic-content.js';
import { asArray, asObject, asString, contentOrRefusal, shortJson } from './json-shape.js';

/** OpenAI messages → Cohere's. What cannot be expressed is refused by its path, what is left out is reported. */
export function toCohereMessages(messages: readonly unknown[], dropped: string[]): JsonObject[] {
  /** Id of the last deprecated `function_call`, which has none of its own. */
  let functionCallId = '';
  return messages.map((value, i) => {
    const path = `messages[${i}]`;
    const message = asObject(value);
    if (message === null) throw invalid(path, 'must be an object with a role and content.');
    reportLost(message, path, dropped);
    switch (message['role']) {
      case 'system':
      case 'developer':
        return { role: 'system', content: contentOf(message, path, false, dropped) };
      case 'user':
        return { role: 'user', content: contentOf(message, path, true, dropped) };
      case 'assistant':
        functionCallId = `call_function_${i}`;
        return assistantMessage(message, functionCallId, path, dropped);
      case 'tool':
        return toolMessage(message, message['tool_call_id'], path, dropped);
      case 'function':
        return toolMessage(message, functionCallId, path, dropped);
      default:
        throw invalid(`${path}.role`, 'must be system, developer, user, assistant, tool or function.');
    }
  });
}

function reportLost(message: JsonObject, path: string, dropped: string[]): void {
  for (const key of ['name', 'cache_control', 'audio', 'is_error']) {
    // A function's name is in the call that it answers.
    if (key === 'name' && message['role'] === 'function') continue;
    const value = message[key];
    if (value !== undefined && value !== null && value !== false) dropped.push(`${path}.${key}`);
  }
}

function contentOf(
  message: JsonObject,
  path: string,
  pictures: boolean,
  dropped: string[],
): string | JsonObject[] {
  const content = message['content'];
  if (typeof content === 'string') return content;
  const parts = asArray(content);
  if (parts === null) throw invalid(`${path}.content`, 'must be a string or a list of content parts.');
  return parts.map((part, j) => contentPart(part, `${path}.content[${j}]`, pictures, dropped));
}

function contentPart(value: unknown, path: string, pictures: boolean, dropped: string[]): JsonObject {
  const part = asObject(value);
  if (part === null) throw invalid(path, 'must be an object with a type.');
  if (part['cache_control'] !== undefined) dropped.push(`${path}.cache_control`);
  switch (part['type']) {
    case 'text':
      return { type: 'text', text: textOf(part['text'], `${path}.text`) };
    case 'refusal':
      return { type: 'text', text: textOf(part['refusal'], `${path}.refusal`) };
    case 'image_url':
      if (pictures) return imagePart(part, path);
      break;
    case 'file':
      if (pictures) return textFile(part, path);
      break;
    default:
  }
  throw unsupported(
    `${path}.type`,
    `a content part of type ${shortJson(part['type'])} cannot be sent to this provider here.`,
  );
}

function textOf(value: unknown, path: string): string {
  if (typeof value !== 'string') throw invalid(path, 'must be a string.');
  return value;
}

function imagePart(part: JsonObject, path: string): JsonObject {
  const image = asObject(part['image_url']) ?? { url: part['image_url'] };
  const url = asString(image['url']);
  if (url === null || !/^(?:data:|https?:\/\/)/i.test(url)) {
    throw invalid(`${path}.image_url.url`, 'must be a data: or http(s) URL.');
  }
  const detail = image['detail'] ?? null;
  return { type: 'image_url', image_url: detail === null ? { url } : { url, detail } };
}

/** There is no part for files; a text file can be sent as text. */
function textFile(part: JsonObject, path: string): JsonObject {
  const file = asObject(part['file']);
  const data = asString(file?.['file_data']) ?? '';
  const head = /^data:text\/[\w.+-]+(?:;charset=[\w-]+)?;base64,/.exec(data.slice(0, 128))?.[0];
  if (head === undefined) {
    throw unsupported(`${path}.file`, 'this provider takes files of text alone, as data:text/…;base64 URLs.');
  }
  const text = Buffer.from(data.slice(head.length), 'base64').toString('utf8');
  const title = asString(file?.['filename']);
  return { type: 'text', text: title === null ? text : `${title}\n\n${text}` };
}

function assistantMessage(
  message: JsonObject,
  functionCallId: string,
  path: string,
  dropped: string[],
): JsonObject {
  const out: JsonObject = { role: 'assistant' };
  const calls = (asArray(message['tool_calls']) ?? []).map((call, j) =>
    toolCall(call, `${path}.tool_calls[${j}]`),
  );
  const legacy = asObject(message['function_call']);
  if (legacy !== null) calls.push(callOf(functionCallId, legacy, `${path}.function_call`));
  const content = assistantContent(message, path, dropped);
  if (calls.length === 0) return { ...out, content: content ?? '' };
  out['tool_calls'] = calls;
  // Text before a call is its plan, as it was in the answer.
  const plan = asString(message['tool_plan']) ?? (typeof content === 'string' ? content : null);
  if (plan !== null && plan !== '') out['tool_plan'] = plan;
  if (content !== null && typeof content !== 'string') out['content'] = content;
  return out;
}

/** `content_blocks`, as answers carried them, before `content`: only they bring thinking back. */
function assistantContent(
  message: JsonObject,
  path: string,
  dropped: string[],
): string | JsonObject[] | null {
  const blocks = asArray(message['content_blocks']);
  if (blocks !== null && blocks.length > 0) {
    const kept = blocks.flatMap((value, j): JsonObject[] => {
      const block = asObject(value);
      // Without what Cohere refuses: signatures, cache marks, citations of other formats.
      if (block?.['type'] === 'text') return [{ type: 'text', text: block['text'] }];
      if (block?.['type'] === 'thinking') {
        const { thinking } = block;
        return thinking === '' ? [] : [{ type: 'thinking', thinking }];
      }
      // The calls among them are in `tool_calls` too.
      if (block?.['type'] !== 'tool_use') dropped.push(`${path}.content_blocks[${j}]`);
      return [];
    });
    if (kept.some((block) => block['type'] === 'thinking')) return kept;
  }
  const content = contentOrRefusal(message);
  if (content === null || content === undefined) return null;
  const out = contentOf({ ...message, content }, path, false, dropped);
  return typeof out === 'string' ? out : out.map((part) => part['text']).join('');
}

function toolCall(value: unknown, path: string): JsonObject {
  const call = asObject(value);
  const fn = asObject(call?.['function']);
  if (call === null || fn === null)
    throw unsupported(path, 'only calls of type function can be sent to this provider.');
  if (typeof call['id'] !== 'string') throw invalid(`${path}.id`, 'must be the id of a tool call.');
  return callOf(call['id'], fn, `${path}.function`);
}

function callOf(id: string, fn: JsonObject, path: string): JsonObject {
  if (typeof fn['name'] !== 'string') throw invalid(`${path}.name`, 'must be a string.');
  const given = fn['arguments'];
  if (given !== undefined && given !== null && typeof given !== 'string')
    throw invalid(`${path}.arguments`, 'must be the text of a JSON object.');
  return { id, type: 'function', function: { name: fn['name'], arguments: given || '{}' } };
}

function toolMessage(message: JsonObject, id: unknown, path: string, dropped: string[]): JsonObject {
  if (typeof id !== 'string' || id === '')
    throw invalid(`${path}.tool_call_id`, 'must be the id of a tool call.');
  const content = message['content'] ?? '';
  return {
    role: 'tool',
    tool_call_id: id,
    content: typeof content === 'string' ? content : contentOf(message, path, false, dropped),
  };
}
