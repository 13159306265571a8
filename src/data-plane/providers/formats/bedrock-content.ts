import { createHash } from 'node:crypto';
import type { JsonObject } from '../../../common/core/exchange.js';
import type { InnerJson } from '../inner-json.js';
import { invalid, toolId, toolInput, unsupported } from './anthropic-content.js';
import { audioBlock, DocumentNames, fileBlock, imageUrlBlock } from './bedrock-media.js';
import type { BedrockTraits } from './bedrock-models.js';
import { asArray, asObject, asString, contentOrRefusal, shortJson } from './json-shape.js';

/** The conversation as Converse has it: system apart, user and assistant in turn. */
export interface BedrockConversation {
  readonly system: JsonObject[];
  readonly messages: BedrockMessage[];
}

export interface BedrockMessage {
  readonly role: 'user' | 'assistant';
  readonly content: JsonObject[];
}

/**
 * OpenAI messages → Converse. Neighbours of one role become one message, since Converse wants them in turn. Blocks
 * that it refuses for being empty are left out; anything else that cannot be expressed is refused by its path.
 */
export function toConversation(
  messages: readonly unknown[],
  traits: BedrockTraits,
  dropped: string[],
  inner: InnerJson,
): BedrockConversation {
  return new BedrockTurnWriter(traits, dropped, inner).write(messages);
}

/** Blocks of Converse itself, from clients that know whom they talk to. */
const ownBlocks = new Set([
  'image',
  'document',
  'video',
  'audio',
  'guardContent',
  'searchResult',
  'cachePoint',
  'citationsContent',
]);

class BedrockTurnWriter {
  readonly #system: JsonObject[] = [];
  readonly #messages: BedrockMessage[] = [];
  readonly #names = new DocumentNames();
  /** Id of the last deprecated `function_call`, which has none of its own. */
  #functionCallId = '';
  #functionCalls = 0;

  constructor(
    readonly traits: BedrockTraits,
    readonly dropped: string[],
    readonly inner: InnerJson,
  ) {}

  write(messages: readonly unknown[]): BedrockConversation {
    messages.forEach((value, i) => {
      const path = `messages[${i}]`;
      const message = asObject(value);
      if (message === null) throw invalid(path, 'must be an object with a role and content.');
      this.#message(message, path);
    });
    return { system: this.#system, messages: this.#messages };
  }

  #message(message: JsonObject, path: string): void {
    switch (message['role']) {
      case 'system':
      case 'developer':
        return this.#systemBlocks(message, path);
      case 'user':
        return this.#add('user', this.#content(message, path), path);
      case 'assistant':
        return this.#add('assistant', this.#assistant(message, path), path);
      case 'tool':
        return this.#add('user', this.#toolResult(message, message['tool_call_id'], path), path);
      case 'function':
        return this.#add('user', this.#toolResult(message, this.#functionCallId, path), path);
      default:
        throw invalid(`${path}.role`, 'must be system, developer, user, assistant, tool or function.');
    }
  }

  #add(role: BedrockMessage['role'], blocks: JsonObject[], path: string): void {
    if (blocks.length === 0) {
      this.dropped.push(path);
      return;
    }
    const last = this.#messages[this.#messages.length - 1];
    if (last?.role === role) last.content.push(...blocks);
    else this.#messages.push({ role, content: blocks });
  }

  #systemBlocks(message: JsonObject, path: string): void {
    const content = message['content'];
    if (typeof content === 'string') {
      if (content !== '') this.#system.push({ text: content }, ...cachePoint(message));
      return;
    }
    const parts = asArray(content);
    if (parts === null) throw invalid(`${path}.content`, 'must be a string or a list of text parts.');
    parts.forEach((value, j) => {
      const part = asObject(value);
      if (part?.['guardContent'] !== undefined || part?.['cachePoint'] !== undefined) {
        this.#system.push({ ...part });
        return;
      }
      const text = asString(part?.['text']);
      if (text === null)
        throw unsupported(`${path}.content[${j}]`, 'only text parts can stand in a system message.');
      if (text !== '') this.#system.push({ text }, ...cachePoint(part as JsonObject));
    });
  }

  #content(message: JsonObject, path: string): JsonObject[] {
    const content = message['content'];
    if (typeof content === 'string') return content === '' ? [] : [{ text: content }, ...cachePoint(message)];
    const parts = asArray(content);
    if (parts === null) throw invalid(`${path}.content`, 'must be a string or a list of content parts.');
    return this.#parts(parts, path);
  }

  #parts(parts: readonly unknown[], path: string): JsonObject[] {
    return parts.flatMap((value, j) => {
      const at = `${path}.content[${j}]`;
      const part = asObject(value);
      if (part === null) throw invalid(at, 'must be an object with a type.');
      const block = this.#part(part, at);
      return block['text'] === '' ? [] : [block, ...cachePoint(part)];
    });
  }

  #part(part: JsonObject, path: string): JsonObject {
    switch (part['type']) {
      case 'text': {
        const text = asString(part['text']);
        if (text === null) throw invalid(`${path}.text`, 'must be a string.');
        return { text };
      }
      case 'refusal':
        return { text: asString(part['refusal']) ?? '' };
      case 'image_url':
        return imageUrlBlock(part, path, this.#names, this.dropped);
      case 'file':
        return fileBlock(part, path, this.#names);
      case 'input_audio':
        return audioBlock(part, path);
      default: {
        const own = Object.keys(part).find((key) => ownBlocks.has(key));
        if (part['type'] === undefined && own !== undefined) return { [own]: part[own] };
        throw unsupported(
          `${path}.type`,
          `a content part of type ${shortJson(part['type'])} cannot be sent to this provider.`,
        );
      }
    }
  }

  #assistant(message: JsonObject, path: string): JsonObject[] {
    const blocks = this.#assistantText(message, path);
    const known = new Set(blocks.map((block) => asObject(block['toolUse'])?.['toolUseId']));
    (asArray(message['tool_calls']) ?? []).forEach((value, j) => {
      const at = `${path}.tool_calls[${j}]`;
      const call = asObject(value);
      const fn = asObject(call?.['function']);
      if (call === null || fn === null)
        throw unsupported(at, 'only calls of type function can be sent to this provider.');
      const id = shortId(call['id'], `${at}.id`);
      if (!known.has(id)) blocks.push(toolUse(id, fn, `${at}.function`, this.inner), ...cachePoint(call));
    });
    const legacy = asObject(message['function_call']);
    if (legacy !== null) {
      this.#functionCallId = `call_function_${this.#functionCalls++}`;
      blocks.push(toolUse(this.#functionCallId, legacy, `${path}.function_call`, this.inner));
    }
    return blocks;
  }

  /** `content_blocks`, as answers carried them, before `content`: only they bring thinking back with its signature. */
  #assistantText(message: JsonObject, path: string): JsonObject[] {
    const own = asArray(message['content_blocks']);
    if (own !== null && own.length > 0) {
      return own.flatMap((value, j) => this.#ownBlock(value, `${path}.content_blocks[${j}]`));
    }
    const content = contentOrRefusal(message);
    if (content === null || content === undefined) return [];
    return this.#content({ ...message, content }, path);
  }

  /** Thinking is signed by Claude, whose signatures other models refuse; the id of a profile does not show its model. */
  get #takesSigned(): boolean {
    return this.traits.claude !== null || this.traits.vendor === null;
  }

  #ownBlock(value: unknown, path: string): JsonObject[] {
    const block = asObject(value);
    if (block === null) throw invalid(path, 'must be an object with a type.');
    switch (block['type']) {
      case 'text':
        return block['text'] === '' ? [] : [{ text: block['text'] }, ...cachePoint(block)];
      case 'thinking': {
        const { thinking: text, signature } = block;
        // Unsigned thinking is refused by the API: it was not this model that thought it.
        if (this.#takesSigned && typeof signature === 'string' && signature !== '') {
          return [{ reasoningContent: { reasoningText: { text, signature } } }];
        }
        break;
      }
      case 'redacted_thinking':
        if (!this.#takesSigned) break;
        return [{ reasoningContent: { redactedContent: block['data'] } }];
      case 'tool_use': {
        const { id, name, input } = block;
        return [{ toolUse: { toolUseId: shortId(id, `${path}.id`), name, input: input ?? {} } }];
      }
      case undefined: {
        // As an answer of Converse had it.
        const key = Object.keys(block).find((name) => ownBlocks.has(name));
        if (key !== undefined) return [{ [key]: block[key] }];
      }
    }
    this.dropped.push(path);
    return [];
  }

  #toolResult(message: JsonObject, id: unknown, path: string): JsonObject[] {
    const result: JsonObject = { toolUseId: shortId(id, `${path}.tool_call_id`) };
    const content = message['content'];
    if (content === null || content === undefined || content === '') result['content'] = [];
    else if (typeof content === 'string') result['content'] = [{ text: content }];
    else if (asArray(content) !== null) {
      // Cache points are beside results, not within them.
      result['content'] = this.#parts(content as unknown[], path).filter((block) => !('cachePoint' in block));
    } else throw invalid(`${path}.content`, 'must be a string or a list of content parts.');
    if (message['is_error'] === true) result['status'] = 'error';
    return [{ toolResult: result }, ...cachePoint(message)];
  }
}

function toolUse(toolUseId: string, fn: JsonObject, path: string, inner: InnerJson): JsonObject {
  const name = asString(fn['name']);
  if (name === null) throw invalid(`${path}.name`, 'must be a string.');
  return { toolUse: { toolUseId, name, input: toolInput(fn['arguments'], `${path}.arguments`, inner) } };
}

const longestId = 64;

/** Ids of other providers may be longer than Converse takes. The same id always becomes the same id. */
function shortId(id: unknown, path: string): string {
  const clean = toolId(id, path);
  if (clean.length <= longestId) return clean;
  return `${clean.slice(0, 40)}_${createHash('sha256').update(clean).digest('hex').slice(0, 20)}`;
}

/** `cache_control` marks the end of what is to be cached; Converse puts a block of its own after it. */
export function cachePoint(from: JsonObject): JsonObject[] {
  const control = asObject(from['cache_control']);
  if (control === null) return [];
  const { ttl } = control;
  return [{ cachePoint: typeof ttl === 'string' ? { type: 'default', ttl } : { type: 'default' } }];
}
