import type { JsonObject } from '../../../common/core/exchange.js';
import { invalid, unsupported } from '../formats/anthropic-content.js';
import { asArray, asObject, asString, shortJson } from '../formats/json-shape.js';
import type { InnerJson } from '../inner-json.js';
import { ReturnedBlocks } from './google-signatures.js';
import { openThinking } from './sealed-thinking.js';

/** A message in the canonical shape, and where in the client's body it and each of its pieces stood. */
export interface InputMessage {
  readonly message: JsonObject;
  readonly path: string;
  /** Of each content part; none where the content is one text. */
  readonly parts: readonly string[];
  /** Of each tool call. */
  readonly calls: readonly string[];
}

/** One turn of the assistant: its reasoning, text and calls, which are separate items here. */
class Turn {
  readonly content: JsonObject[] = [];
  readonly parts: string[] = [];
  readonly toolCalls: JsonObject[] = [];
  readonly calls: string[] = [];
  readonly returned = new ReturnedBlocks();

  constructor(readonly path: string) {}

  whole(): InputMessage {
    const { content, toolCalls, returned, path, parts, calls } = this;
    const message: JsonObject = { role: 'assistant', content: plain(content) };
    if (content.length === 0) message['content'] = toolCalls.length > 0 ? null : '';
    if (toolCalls.length > 0) message['tool_calls'] = toolCalls;
    return { message: returned.finish(message), path, parts, calls };
  }
}

/** `input`, a text or a list of items → canonical messages. */
export function readInput(input: unknown, dropped: string[], inner: InnerJson): InputMessage[] {
  if (typeof input === 'string') {
    return [{ message: { role: 'user', content: input }, path: 'input', parts: [], calls: [] }];
  }
  const items = asArray(input);
  if (items === null) throw invalid('input', 'must be a string or a list of items.');
  const reader = new ItemReader(lastOutputs(items), dropped, inner);
  for (const [i, value] of items.entries()) reader.read(value, i);
  return reader.end();
}

/** The place of the last output of each call. */
function lastOutputs(items: readonly unknown[]): ReadonlyMap<unknown, number> {
  const places = new Map<unknown, number>();
  items.forEach((value, i) => {
    const item = asObject(value);
    if (item?.['type'] === 'function_call_output') places.set(item['call_id'], i);
  });
  return places;
}

/**
 * In chat, the results of a turn's calls follow it at once; in this format anything may come between. A text of the
 * model after its calls joins their turn, and other messages are moved to after the results.
 */
class ItemReader {
  readonly #out: InputMessage[] = [];
  /** Messages that wait for results. */
  readonly #held: InputMessage[] = [];
  /** Calls whose results are still to come. */
  readonly #open = new Set<unknown>();
  #turn: Turn | null = null;

  constructor(
    readonly outputs: ReadonlyMap<unknown, number>,
    readonly dropped: string[],
    readonly inner: InnerJson,
  ) {}

  read(value: unknown, i: number): void {
    const path = `input[${i}]`;
    const item = asObject(value);
    if (item === null) throw invalid(path, 'must be an object.');
    const type = item['type'] ?? 'message';
    if (type === 'message' && item['role'] === 'assistant') {
      if (this.#turn?.toolCalls.length === 0 && this.#turn.content.length > 0) this.#close();
      this.#turn ??= new Turn(path);
      readAnswer(item, path, this.#turn);
    } else if (type === 'function_call') {
      this.#turn ??= new Turn(path);
      this.#turn.toolCalls.push(this.#turn.returned.call(toolCall(item, path)));
      this.#turn.calls.push(path);
      if ((this.outputs.get(item['call_id']) ?? -1) > i) this.#open.add(item['call_id']);
    } else if (type === 'reasoning') {
      this.#turn ??= new Turn(path);
      this.#reasoning(item, path, this.#turn);
    } else if (type === 'item_reference') {
      refer(item, path, this.dropped);
    } else {
      this.#close();
      if (type === 'message') this.#add(readMessage(item, path));
      else if (type === 'function_call_output') {
        this.#out.push(toolMessage(item, path));
        this.#open.delete(item['call_id']);
        if (this.#open.size === 0) this.#release();
      } else throw hosted(`${path}.type`, `an item of type ${shortJson(type)}`);
    }
  }

  /** Thinking goes back to the provider that signed it; a summary alone is for people. */
  #reasoning(item: JsonObject, path: string, turn: Turn): void {
    const block = openThinking(item['encrypted_content'], this.inner);
    if (block === null) {
      this.dropped.push(path);
      return;
    }
    turn.returned.thinking(block);
  }

  end(): InputMessage[] {
    this.#close();
    this.#release();
    return this.#out;
  }

  #add(message: InputMessage): void {
    (this.#open.size > 0 ? this.#held : this.#out).push(message);
  }

  #release(): void {
    for (const message of this.#held) this.#out.push(message);
    this.#held.length = 0;
  }

  #close(): void {
    const turn = this.#turn;
    this.#turn = null;
    if (turn === null) return;
    if (turn.toolCalls.length > 0) this.#out.push(turn.whole());
    else if (turn.returned.thought || turn.content.length > 0) this.#add(turn.whole());
  }
}

/** What only a provider with this endpoint has: tools that it runs, answers that it keeps. */
export function hosted(path: string, what: string): Error {
  return unsupported(path, `${what} can only be sent to a provider that has the Responses API itself.`);
}

function refer(item: JsonObject, path: string, dropped: string[]): void {
  // The conversation keeps its meaning without the reasoning.
  if (asString(item['id'])?.startsWith('rs_') === true) {
    dropped.push(path);
    return;
  }
  throw unsupported(
    `${path}.id`,
    'this provider keeps no items that one could refer to: send the item itself (clients do so with store: false).',
  );
}

function readMessage(item: JsonObject, path: string): InputMessage {
  const role = item['role'];
  if (role !== 'user' && role !== 'system' && role !== 'developer') {
    throw invalid(`${path}.role`, 'must be user, assistant, system or developer.');
  }
  const { content, parts } = readContent(item['content'], `${path}.content`);
  // The word that every chat API understands.
  const said = role === 'developer' ? 'system' : role;
  return { message: { role: said, content }, path, parts, calls: [] };
}

function readContent(value: unknown, path: string): { content: unknown; parts: string[] } {
  if (typeof value === 'string') return { content: value, parts: [] };
  const list = asArray(value);
  if (list === null) throw invalid(path, 'must be a string or a list of content parts.');
  const parts = list.map((_, j) => `${path}[${j}]`);
  return { content: plain(list.map((part, j) => contentPart(part, parts[j] as string))), parts };
}

/** A single text is sent as text: not every chat API takes lists. */
function plain(parts: readonly JsonObject[]): unknown {
  const only = parts.length === 1 ? parts[0] : undefined;
  return only?.['type'] === 'text' ? only['text'] : parts;
}

function contentPart(value: unknown, path: string): JsonObject {
  const part = asObject(value);
  if (part === null) throw invalid(path, 'must be an object with a type.');
  switch (part['type']) {
    case 'input_text':
    case 'output_text':
      return { type: 'text', text: text(part['text'], `${path}.text`) };
    case 'refusal':
      return { type: 'text', text: text(part['refusal'], `${path}.refusal`) };
    case 'input_image':
      return imagePart(part, path);
    case 'input_file':
      return filePart(part, path);
    case 'input_audio':
      return { type: 'input_audio', input_audio: part['input_audio'] };
    default:
      throw hosted(`${path}.type`, `a content part of type ${shortJson(part['type'])}`);
  }
}

function text(value: unknown, path: string): string {
  if (typeof value !== 'string') throw invalid(path, 'must be a string.');
  return value;
}

function imagePart(part: JsonObject, path: string): JsonObject {
  const { image_url: url, file_id: id, detail } = part;
  if (typeof url === 'string') {
    return { type: 'image_url', image_url: { url, ...(typeof detail === 'string' ? { detail } : {}) } };
  }
  if (typeof id === 'string') throw stored(`${path}.file_id`);
  throw invalid(`${path}.image_url`, 'must be a data: or http(s) URL.');
}

function filePart(part: JsonObject, path: string): JsonObject {
  const { file_data: data, file_url: url, file_id: id, filename } = part;
  const named = typeof filename === 'string' ? { filename } : {};
  if (typeof data === 'string') return { type: 'file', file: { file_data: data, ...named } };
  if (typeof url === 'string') return { type: 'file', file: { file_url: url, ...named } };
  if (typeof id === 'string') throw stored(`${path}.file_id`);
  throw invalid(path, 'must have file_data or file_url.');
}

function stored(path: string): Error {
  return unsupported(path, 'names a file that lies with another provider: send the data itself.');
}

function readAnswer(item: JsonObject, path: string, turn: Turn): void {
  const value = item['content'];
  const list = typeof value === 'string' ? [{ type: 'output_text', text: value }] : asArray(value);
  if (list === null) throw invalid(`${path}.content`, 'must be a string or a list of content parts.');
  list.forEach((given, j) => {
    const at = typeof value === 'string' ? `${path}.content` : `${path}.content[${j}]`;
    const part = contentPart(given, at);
    turn.content.push(part);
    turn.parts.push(at);
    turn.returned.blocks.push(part);
  });
}

function toolCall(item: JsonObject, path: string): JsonObject {
  const { call_id: id, name, arguments: given } = item;
  if (typeof id !== 'string') throw invalid(`${path}.call_id`, 'must be a string.');
  if (typeof name !== 'string') throw invalid(`${path}.name`, 'must be a string.');
  if (typeof given !== 'string') throw invalid(`${path}.arguments`, 'must be the text of a JSON object.');
  return { id, type: 'function', function: { name, arguments: given } };
}

function toolMessage(item: JsonObject, path: string): InputMessage {
  const id = item['call_id'];
  if (typeof id !== 'string') throw invalid(`${path}.call_id`, 'must be a string.');
  const { content, parts } = readContent(item['output'], `${path}.output`);
  return { message: { role: 'tool', tool_call_id: id, content }, path, parts, calls: [] };
}
