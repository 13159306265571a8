import type { JsonObject } from '../../../common/core/exchange.js';
import type { InnerJson } from '../inner-json.js';
import { invalid, toolInput, unsupported } from './anthropic-content.js';
import { audioPart, filePart, urlPart } from './gemini-media.js';
import type { GeminiTraits } from './gemini-models.js';
import { googleSignature } from './google-signature.js';
import { asArray, asObject, asString, contentOrRefusal, shortJson } from './json-shape.js';

/** The conversation as generateContent has it: the system's word apart, user and model in turn. */
export interface GeminiConversation {
  readonly system: JsonObject[];
  readonly contents: Content[];
}

export interface Content {
  readonly role: 'user' | 'model';
  readonly parts: JsonObject[];
}

/** The placeholder for a missing signature, as Google documents it (ai.google.dev/gemini-api/docs/thought-signatures). */
const noSignature = 'skip_thought_signature_validator';

/**
 * OpenAI messages → contents. Neighbours of one role become one content. What cannot be expressed is refused by its path,
 * since a conversation with a hole means something else.
 */
export function toConversation(
  messages: readonly unknown[],
  traits: GeminiTraits,
  dropped: string[],
  inner: InnerJson,
): GeminiConversation {
  return new GeminiTurnWriter(traits, dropped, inner).write(messages);
}

class GeminiTurnWriter {
  readonly #system: JsonObject[] = [];
  readonly #contents: Content[] = [];
  /** Names of called functions by the ids of their calls: an answer must contain the name. */
  readonly #called = new Map<string, string>();
  /** Pictures that tools gave back: they follow the results of their turn. */
  #pictures: JsonObject[] = [];
  /** Where the turn under way began. */
  #turn = 0;

  constructor(
    readonly traits: GeminiTraits,
    readonly dropped: string[],
    readonly inner: InnerJson,
  ) {}

  write(messages: readonly unknown[]): GeminiConversation {
    messages.forEach((value, i) => {
      const path = `messages[${i}]`;
      const message = asObject(value);
      if (message === null) throw invalid(path, 'must be an object with a role and content.');
      this.#noteCaching(message, path);
      this.#message(message, path);
    });
    this.#showPictures();
    if (this.traits.signsCalls) this.#signCalls();
    return { system: this.#system, contents: this.#contents };
  }

  #message(message: JsonObject, path: string): void {
    const role = message['role'];
    if (role === 'tool' || role === 'function') return this.#add('user', [this.#result(message, path)]);
    this.#showPictures();
    switch (role) {
      case 'system':
      case 'developer':
        this.#system.push(...this.#systemParts(message, path));
        return;
      case 'user': {
        const parts = this.#parts(message['content'], path);
        if (parts.length === 0) parts.push({ text: '' });
        this.#add('user', parts);
        this.#turn = this.#contents.length;
        return;
      }
      case 'assistant': {
        const parts = this.#assistantParts(message, path);
        if (parts.length === 0) this.dropped.push(path);
        else this.#add('model', parts);
        return;
      }
      default:
        throw invalid(`${path}.role`, 'must be system, developer, user, assistant, tool or function.');
    }
  }

  #add(role: Content['role'], parts: readonly JsonObject[]): void {
    const last = this.#contents.at(-1);
    if (last?.role === role) last.parts.push(...parts);
    else this.#contents.push({ role, parts: [...parts] });
  }

  #systemParts(message: JsonObject, path: string): JsonObject[] {
    return this.#parts(message['content'], path).map((part, j) => {
      if (part['text'] === undefined)
        throw unsupported(`${path}.content[${j}]`, 'only text parts can stand in a system message.');
      return part;
    });
  }

  /** Text of nothing is left out: Gemini refuses an empty part. */
  #parts(content: unknown, path: string): JsonObject[] {
    if (typeof content === 'string') return content === '' ? [] : [{ text: content }];
    const parts = asArray(content);
    if (parts === null) throw invalid(`${path}.content`, 'must be a string or a list of content parts.');
    return parts.flatMap((value, j) => {
      const at = `${path}.content[${j}]`;
      const part = asObject(value);
      if (part === null) throw invalid(at, 'must be an object with a type.');
      this.#noteCaching(part, at);
      const out = this.#part(part, at);
      return out['text'] === '' ? [] : [out];
    });
  }

  #part(part: JsonObject, path: string): JsonObject {
    const { type } = part;
    if (type === 'text') {
      const text = asString(part['text']);
      if (text === null) throw invalid(`${path}.text`, 'must be a string.');
      return { text };
    }
    if (type === 'refusal') return { text: asString(part['refusal']) ?? '' };
    if (type === 'image_url' || type === 'video_url') return urlPart(part, type, path, this.dropped);
    if (type === 'input_audio') return audioPart(part, path);
    if (type === 'file') return filePart(part, path, this.dropped);
    // As Gemini itself writes it, from clients that know whom they talk to.
    if (type === undefined && ['text', 'inlineData', 'fileData'].some((key) => key in part))
      return { ...part };
    throw unsupported(
      `${path}.type`,
      `a content part of type ${shortJson(type)} cannot be sent to this provider.`,
    );
  }

  #assistantParts(message: JsonObject, path: string): JsonObject[] {
    const blocks = asArray(message['content_blocks']);
    const content = contentOrRefusal(message);
    const parts =
      blocks !== null && blocks.length > 0
        ? this.#blockParts(blocks, path)
        : content === null || content === undefined
          ? []
          : this.#parts(content, path);
    (asArray(message['tool_calls']) ?? []).forEach((value, j) => {
      const at = `${path}.tool_calls[${j}]`;
      const call = asObject(value);
      const fn = asObject(call?.['function']);
      if (call === null || fn === null)
        throw unsupported(at, 'only calls of type function can be sent to this provider.');
      const id = asString(call['id']);
      if (id === null) throw invalid(`${at}.id`, 'must be the id of a tool call.');
      parts.push(this.#call(fn, id, googleSignature(call), `${at}.function`));
    });
    const legacy = asObject(message['function_call']);
    if (legacy !== null) parts.push(this.#call(legacy, null, null, `${path}.function_call`));
    const own = googleSignature(message);
    if (own !== null) signMessage(parts, own);
    return parts;
  }

  /** `content_blocks`, as answers carried them, in place of `content`: they bring signatures and pictures back. */
  #blockParts(blocks: readonly unknown[], path: string): JsonObject[] {
    return blocks.flatMap((value, j) => {
      const at = `${path}.content_blocks[${j}]`;
      const block = asObject(value);
      if (block === null) throw invalid(at, 'must be an object with a type.');
      switch (block['type']) {
        case 'text': {
          const text = asString(block['text']) ?? '';
          const signature = asString(block['thought_signature']);
          if (signature !== null) return [{ text, thoughtSignature: signature }];
          return text === '' ? [] : [{ text }];
        }
        case 'image_url': {
          const part = urlPart(block, 'image_url', at, this.dropped);
          const signature = asString(block['thought_signature']);
          return [signature === null ? part : { ...part, thoughtSignature: signature }];
        }
        case 'thinking': {
          const text = asString(block['thinking']) ?? '';
          const signature = asString(block['thought_signature']);
          if (signature !== null) return [{ text, thought: true, thoughtSignature: signature }];
          // An empty block that carried a signature, which is now with its call or text.
          if (text === '' && !block['signature']) return [];
          this.dropped.push(at);
          return [];
        }
        // Repeated beside them.
        case 'tool_use':
          return [];
        // Thoughts are not sent back: what a model needs of them is in its signatures.
        default:
          this.dropped.push(at);
          return [];
      }
    });
  }

  #call(fn: JsonObject, id: string | null, signature: string | null, path: string): JsonObject {
    const name = asString(fn['name']);
    if (name === null) throw invalid(`${path}.name`, 'must be a string.');
    if (id !== null) this.#called.set(id, name);
    const part: JsonObject = {
      functionCall: { name, args: toolInput(fn['arguments'], `${path}.arguments`, this.inner) },
    };
    if (signature !== null) part['thoughtSignature'] = signature;
    return part;
  }

  #result(message: JsonObject, path: string): JsonObject {
    const id = asString(message['tool_call_id']);
    const name = (id === null ? undefined : this.#called.get(id)) ?? asString(message['name']);
    if (name === null) {
      throw invalid(
        `${path}.tool_call_id`,
        'must be the id of a tool call in an earlier assistant message: this provider wants the name of the function, which is found there.',
      );
    }
    const { content } = message;
    const parts = content === null || content === undefined ? [] : this.#parts(content, path);
    const media = parts.filter((part) => part['text'] === undefined);
    const text = parts.flatMap((part) => asString(part['text']) ?? []).join('\n');
    const said = responseOf(this.inner.readText(text), message['is_error'] === true);
    const response: JsonObject = { name, response: said };
    if (media.length > 0 && this.traits.signsCalls) response['parts'] = media;
    else this.#pictures.push(...media);
    return { functionResponse: response };
  }

  #showPictures(): void {
    if (this.#pictures.length > 0) this.#add('user', this.#pictures);
    this.#pictures = [];
  }

  /** The first call of each answer in the turn under way must have a signature; it may come from another provider. */
  #signCalls(): void {
    for (const { role, parts } of this.#contents.slice(this.#turn)) {
      const first = role === 'model' ? parts.find((part) => part['functionCall'] !== undefined) : undefined;
      if (first !== undefined) first['thoughtSignature'] ??= noSignature;
    }
  }

  #noteCaching(object: JsonObject, path: string): void {
    if (object['cache_control'] !== undefined && object['cache_control'] !== null)
      this.dropped.push(`${path}.cache_control`);
  }
}

/** A message's own signature is that of its last text, of its first call if it has no text, or else of an empty one. */
function signMessage(parts: JsonObject[], signature: string): void {
  // Its block has it already.
  if (parts.some((part) => part['thoughtSignature'] === signature)) return;
  const text = parts.findLast((part) => part['text'] !== undefined && part['thought'] === undefined);
  const signed = text ?? parts.find((part) => part['functionCall'] !== undefined);
  if (signed !== undefined) signed['thoughtSignature'] ??= signature;
  else parts.push({ text: '', thoughtSignature: signature });
}

/** A function's answer is an object: what is one already goes as it is, anything else as its `output`. */
function responseOf(value: unknown, failed: boolean): JsonObject {
  if (failed) return { error: value };
  return asObject(value) ?? { output: value };
}
