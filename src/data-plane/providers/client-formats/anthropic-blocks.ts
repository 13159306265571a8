import type { JsonObject } from '../../../common/core/exchange.js';
import { stringifyJson } from '../../../common/json/json.js';
import { invalid, unsupported, withCacheControl } from '../formats/anthropic-content.js';
import { asArray, asObject, asString, shortJson } from '../formats/json-shape.js';
import { ReturnedBlocks } from './google-signatures.js';

/** A message in the canonical shape, and where in the client's body each of its pieces stood. */
export interface ReadMessage {
  readonly message: JsonObject;
  /** The client's path of the message; of a tool's result, which is a message here and a block there. */
  readonly path: string;
  /** Index of a content part → index of the client's block. */
  readonly parts?: readonly number[];
  /** Index of a tool call → index of the client's block. */
  readonly calls?: readonly number[];
}

/** A user message: each tool result in it becomes a message of its own, before the rest of the user's message. */
export function readUser(content: unknown, path: string, dropped: string[]): ReadMessage[] {
  if (typeof content === 'string') return [{ message: { role: 'user', content }, path }];
  const blocks = asArray(content);
  if (blocks === null) throw invalid(`${path}.content`, 'must be a string or a list of content blocks.');
  const out: ReadMessage[] = [];
  const said: JsonObject[] = [];
  const parts: number[] = [];
  blocks.forEach((value, j) => {
    const at = `${path}.content[${j}]`;
    const block = objectAt(value, at);
    if (block['type'] === 'tool_result') {
      out.push({ message: toolMessage(block, at, dropped), path: at });
      return;
    }
    for (const part of readBlock(block, at, dropped)) {
      said.push(part);
      parts.push(j);
    }
  });
  if (said.length > 0 || out.length === 0)
    out.push({ message: { role: 'user', content: said }, path, parts });
  return out;
}

/** An assistant message. Where it thought, all of its blocks are kept in `content_blocks`, signatures included. */
export function readAssistant(content: unknown, path: string, dropped: string[]): ReadMessage {
  if (typeof content === 'string') return { message: { role: 'assistant', content }, path };
  const blocks = asArray(content);
  if (blocks === null) throw invalid(`${path}.content`, 'must be a string or a list of content blocks.');
  const said: JsonObject[] = [];
  const parts: number[] = [];
  const toolCalls: JsonObject[] = [];
  const calls: number[] = [];
  const returned = new ReturnedBlocks();
  blocks.forEach((value, j) => {
    const at = `${path}.content[${j}]`;
    const block = objectAt(value, at);
    if (block['type'] === 'thinking' || block['type'] === 'redacted_thinking') {
      returned.thinking(block);
      return;
    }
    returned.blocks.push(block);
    if (block['type'] === 'tool_use') {
      toolCalls.push(returned.call(toolCall(block, at)));
      calls.push(j);
    } else {
      for (const part of readBlock(block, at, dropped)) {
        said.push(part);
        parts.push(j);
      }
    }
  });
  const message: JsonObject = { role: 'assistant', content: said.length === 0 ? null : said };
  if (toolCalls.length > 0) message['tool_calls'] = toolCalls;
  else if (said.length === 0) message['content'] = '';
  return { message: returned.finish(message), path, parts, calls };
}

function objectAt(value: unknown, path: string): JsonObject {
  const block = asObject(value);
  if (block === null) throw invalid(path, 'must be an object with a type.');
  return block;
}

function toolCall(block: JsonObject, path: string): JsonObject {
  const { id, name, input } = block;
  if (typeof id !== 'string') throw invalid(`${path}.id`, 'must be a string.');
  if (typeof name !== 'string') throw invalid(`${path}.name`, 'must be a string.');
  const call = { id, type: 'function', function: { name, arguments: stringifyJson(input ?? {}) } };
  return withCacheControl(call, block);
}

function toolMessage(block: JsonObject, path: string, dropped: string[]): JsonObject {
  const { tool_use_id: id, content } = block;
  if (typeof id !== 'string') throw invalid(`${path}.tool_use_id`, 'must be a string.');
  const message: JsonObject = { role: 'tool', tool_call_id: id, content: '' };
  if (typeof content === 'string') message['content'] = content;
  else if (content !== undefined && content !== null) {
    const blocks = asArray(content);
    if (blocks === null) throw invalid(`${path}.content`, 'must be a string or a list of content blocks.');
    message['content'] = blocks.flatMap((value, j) => {
      const at = `${path}.content[${j}]`;
      return readBlock(objectAt(value, at), at, dropped);
    });
  }
  if (block['is_error'] === true) message['is_error'] = true;
  return withCacheControl(message, block);
}

/** One block of content as canonical parts: several where a document is made of blocks itself. */
function readBlock(block: JsonObject, path: string, dropped: string[]): JsonObject[] {
  switch (block['type']) {
    case 'text': {
      const text = asString(block['text']);
      if (text === null) throw invalid(`${path}.text`, 'must be a string.');
      return [withCacheControl({ type: 'text', text }, block)];
    }
    case 'image':
      return [withCacheControl(imagePart(objectAt(block['source'], `${path}.source`), path), block)];
    case 'document':
      return documentParts(block, path, dropped);
    case 'search_result':
      return [withCacheControl({ type: 'text', text: searchResultText(block, path, dropped) }, block)];
    default:
      throw unsupported(
        `${path}.type`,
        `a block of type ${shortJson(block['type'])} can only be sent to a provider with this endpoint.`,
      );
  }
}

function imagePart(source: JsonObject, path: string): JsonObject {
  if (source['type'] === 'url') {
    const url = asString(source['url']);
    if (url === null) throw invalid(`${path}.source.url`, 'must be a string.');
    return { type: 'image_url', image_url: { url } };
  }
  if (source['type'] === 'base64') return { type: 'image_url', image_url: { url: dataUrl(source, path) } };
  throw elsewhere(source, path);
}

function dataUrl(source: JsonObject, path: string): string {
  const { media_type: type, data } = source;
  if (typeof type !== 'string') throw invalid(`${path}.source.media_type`, 'must be a string.');
  if (typeof data !== 'string') throw invalid(`${path}.source.data`, 'must be a string.');
  return `data:${type};base64,${data}`;
}

/** A file that lies with Anthropic, or a kind of source that is new. */
function elsewhere(source: JsonObject, path: string): Error {
  return unsupported(
    `${path}.source.type`,
    `a source of type ${shortJson(source['type'])} can only be sent to a provider with this endpoint: send the data itself.`,
  );
}

function documentParts(block: JsonObject, path: string, dropped: string[]): JsonObject[] {
  const source = objectAt(block['source'], `${path}.source`);
  const title = asString(block['title']);
  const named = title === null ? {} : { filename: title };
  noteCitations(block, path, dropped);
  const context = asString(block['context']);
  const before = context === null ? [] : [{ type: 'text', text: context }];
  const file = (given: JsonObject): JsonObject[] => [
    ...before,
    withCacheControl({ type: 'file', file: { ...given, ...named } }, block),
  ];
  switch (source['type']) {
    case 'base64':
      return file({ file_data: dataUrl(source, path) });
    case 'url':
      return file({ file_url: source['url'], mime_type: 'application/pdf' });
    case 'text': {
      const text = asString(source['data']);
      if (text === null) throw invalid(`${path}.source.data`, 'must be a string.');
      return file({ file_data: `data:text/plain;base64,${Buffer.from(text).toString('base64')}` });
    }
    case 'content': {
      const { content } = source;
      const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : asArray(content);
      if (blocks === null) throw invalid(`${path}.source.content`, 'must be a string or a list of blocks.');
      const heading = title === null ? [] : [{ type: 'text', text: title }];
      const parts = blocks.flatMap((value, j) => {
        const at = `${path}.source.content[${j}]`;
        return readBlock(objectAt(value, at), at, dropped);
      });
      return [...before, ...heading, ...parts];
    }
    default:
      throw elsewhere(source, path);
  }
}

function searchResultText(block: JsonObject, path: string, dropped: string[]): string {
  noteCitations(block, path, dropped);
  const texts = (asArray(block['content']) ?? []).map((part) => asString(asObject(part)?.['text']) ?? '');
  return [asString(block['title']) ?? '', asString(block['source']) ?? '', ...texts].join('\n');
}

function noteCitations(block: JsonObject, path: string, dropped: string[]): void {
  if (asObject(block['citations'])?.['enabled'] === true) dropped.push(`${path}.citations`);
}
