import type { JsonObject } from '../../../common/core/exchange.js';
import { stringifyJson } from '../../../common/json/json.js';
import { invalid, unsupported } from '../formats/anthropic-content.js';
import { asArray, asObject, asString } from '../formats/json-shape.js';
import type { InnerJson } from '../inner-json.js';
import { member } from './gemini-names.js';
import { openThinking } from './sealed-thinking.js';

/** A message in the canonical shape, and where in the client's body it and each of its pieces stood. */
export interface ContentMessage {
  readonly message: JsonObject;
  readonly path: string;
  readonly parts: readonly string[];
  readonly calls: readonly string[];
}

/** `contents` → canonical messages. Calls without an id get one; results without one answer the first such call. */
export class ContentReader {
  readonly #out: ContentMessage[] = [];
  /** Calls that have no result yet, oldest first. */
  readonly #open: { readonly id: string; readonly name: string }[] = [];
  #made = 0;

  constructor(
    readonly dropped: string[],
    readonly inner: InnerJson,
  ) {}

  read(contents: unknown): ContentMessage[] {
    const list = typeof contents === 'string' ? [{ parts: [{ text: contents }] }] : asArray(contents);
    if (list === null) throw invalid('contents', 'must be a list of contents.');
    list.forEach((value, i) => {
      const path = `contents[${i}]`;
      const content = asObject(value);
      const parts = asArray(content?.['parts']);
      if (content === null || parts === null) throw invalid(`${path}.parts`, 'must be a list of parts.');
      if (content['role'] === 'model') this.#model(parts, path);
      else this.#user(parts, path);
    });
    return this.#out;
  }

  #user(parts: readonly unknown[], path: string): void {
    const said: JsonObject[] = [];
    const places: string[] = [];
    parts.forEach((value, j) => {
      const at = `${path}.parts[${j}]`;
      const part = partAt(value, at);
      const response = asObject(member(part, 'functionResponse'));
      if (response !== null) {
        this.#out.push({ message: this.#result(response, at), path: at, parts: [], calls: [] });
        return;
      }
      said.push(readPart(part, at));
      places.push(at);
    });
    if (said.length === 0) return;
    this.#out.push({ message: { role: 'user', content: plain(said) }, path, parts: places, calls: [] });
  }

  #model(parts: readonly unknown[], path: string): void {
    const said: JsonObject[] = [];
    const places: string[] = [];
    const toolCalls: JsonObject[] = [];
    const calls: string[] = [];
    const blocks: JsonObject[] = [];
    let thought = false;
    parts.forEach((value, j) => {
      const at = `${path}.parts[${j}]`;
      const part = partAt(value, at);
      const signature = member(part, 'thoughtSignature');
      const sealed = openThinking(signature, this.inner);
      // One of Google's own has no meaning for other providers.
      if (sealed === null && signature !== undefined) this.dropped.push(`${at}.thoughtSignature`);
      if (sealed !== null) {
        thought = true;
        blocks.push(sealed);
      } else if (part['thought'] === true) this.dropped.push(at);
      const call = asObject(member(part, 'functionCall'));
      if (call !== null) {
        toolCalls.push(this.#call(call, at));
        calls.push(at);
      } else if (part['thought'] !== true) {
        const read = readPart(part, at);
        said.push(read);
        places.push(at);
        blocks.push(read);
      }
    });
    const message: JsonObject = { role: 'assistant', content: plain(said) };
    if (said.length === 0) message['content'] = toolCalls.length > 0 ? null : '';
    if (toolCalls.length > 0) message['tool_calls'] = toolCalls;
    if (thought) message['content_blocks'] = blocks;
    this.#out.push({ message, path, parts: places, calls });
  }

  #call(call: JsonObject, path: string): JsonObject {
    const name = asString(call['name']);
    if (name === null) throw invalid(`${path}.functionCall.name`, 'must be a string.');
    const id = asString(call['id']) ?? `call_${this.#made++}`;
    this.#open.push({ id, name });
    return { id, type: 'function', function: { name, arguments: stringifyJson(call['args'] ?? {}) } };
  }

  #result(result: JsonObject, path: string): JsonObject {
    const { id, name } = result;
    const at = this.#open.findIndex((call) => (typeof id === 'string' ? call.id === id : call.name === name));
    if (at < 0) {
      throw invalid(
        `${path}.functionResponse.${typeof id === 'string' ? 'id' : 'name'}`,
        'must be that of a functionCall in an earlier content of the model that has no response yet.',
      );
    }
    const [call] = this.#open.splice(at, 1);
    const response = asObject(result['response']) ?? {};
    const text = stringifyJson(response);
    const media = (asArray(result['parts']) ?? []).map((part, k) =>
      readPart(partAt(part, `${path}.functionResponse.parts[${k}]`), `${path}.functionResponse.parts[${k}]`),
    );
    const message: JsonObject = {
      role: 'tool',
      tool_call_id: call?.id,
      content: media.length === 0 ? text : [{ type: 'text', text }, ...media],
    };
    if (response['error'] !== undefined && Object.keys(response).length === 1) message['is_error'] = true;
    return message;
  }
}

/** `systemInstruction`, a content or a text, as one message; null where there is none. */
export function readInstruction(value: unknown): ContentMessage | null {
  const path = 'systemInstruction';
  if (value === undefined || value === null) return null;
  const parts = typeof value === 'string' ? [{ text: value }] : asArray(asObject(value)?.['parts']);
  if (parts === null) throw invalid(`${path}.parts`, 'must be a list of parts.');
  const places = parts.map((_, j) => `${path}.parts[${j}]`);
  const texts = parts.map((part, j) => {
    const text = asString(asObject(part)?.['text']);
    if (text === null) throw unsupported(places[j] as string, 'only text can stand here.');
    return { type: 'text', text };
  });
  if (texts.length === 0) return null;
  return { message: { role: 'system', content: plain(texts) }, path, parts: places, calls: [] };
}

/** A single text is sent as text: not every chat API takes lists. */
function plain(parts: readonly JsonObject[]): unknown {
  const only = parts.length === 1 ? parts[0] : undefined;
  return only?.['type'] === 'text' ? only['text'] : parts;
}

function partAt(value: unknown, path: string): JsonObject {
  const part = asObject(value);
  if (part === null) throw invalid(path, 'must be an object.');
  return part;
}

function readPart(part: JsonObject, path: string): JsonObject {
  if (typeof part['text'] === 'string') return { type: 'text', text: part['text'] };
  const inline = asObject(member(part, 'inlineData'));
  if (inline !== null) return inlinePart(inline, `${path}.inlineData`);
  const file = asObject(member(part, 'fileData'));
  if (file !== null) return filePart(file, `${path}.fileData`);
  const kind = Object.keys(part)[0] ?? 'nothing';
  throw unsupported(
    `${path}.${kind}`,
    'a part of this kind can only be sent to a provider with this endpoint.',
  );
}

function inlinePart(blob: JsonObject, path: string): JsonObject {
  const mime = asString(member(blob, 'mimeType'));
  const data = asString(blob['data']);
  if (mime === null) throw invalid(`${path}.mimeType`, 'must be a string.');
  if (data === null) throw invalid(`${path}.data`, 'must be base64 text.');
  if (mime.startsWith('audio/')) {
    const format = mime.slice(6).replace(/^(?:x-|mpeg$)/, (start) => (start === 'mpeg' ? 'mp3' : ''));
    return { type: 'input_audio', input_audio: { data, format } };
  }
  const url = `data:${mime};base64,${data}`;
  if (mime.startsWith('image/')) return { type: 'image_url', image_url: { url } };
  const name = asString(member(blob, 'displayName'));
  return { type: 'file', file: { file_data: url, ...(name === null ? {} : { filename: name }) } };
}

function filePart(file: JsonObject, path: string): JsonObject {
  const uri = asString(member(file, 'fileUri'));
  const mime = asString(member(file, 'mimeType'));
  if (uri === null) throw invalid(`${path}.fileUri`, 'must be a string.');
  if (!/^https?:\/\//i.test(uri) || /^https:\/\/generativelanguage\.googleapis\.com\//i.test(uri)) {
    throw unsupported(
      `${path}.fileUri`,
      'names a file that lies with Google: send the data itself, in inlineData.',
    );
  }
  if (mime?.startsWith('image/') === true) return { type: 'image_url', image_url: { url: uri } };
  return { type: 'file', file: { file_url: uri, ...(mime === null ? {} : { mime_type: mime }) } };
}
