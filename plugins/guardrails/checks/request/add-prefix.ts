import type { JsonObject } from '../../../../src/common/core/exchange.js';
import type { RequestCheck, RequestContext } from '../../check.js';
import { isPlain } from './values.js';

interface Prefix {
  readonly prefix: string;
  readonly applyToRole: 'user' | 'system' | 'assistant';
  /** false: in a message of its own before the first one of the role. */
  readonly addToExisting: boolean;
  /** Only to a message without text. */
  readonly onlyIfEmpty: boolean;
}

/** How a format writes messages. */
interface Shape {
  /** The key of the list of messages. */
  readonly list: string;
  /** The key of a message's content. */
  readonly content: string;
  readonly roleName: (role: Prefix['applyToRole']) => string;
  readonly part: (text: string) => JsonObject;
  readonly isText: (part: unknown) => boolean;
  /** A message's content may be a text. */
  readonly plain: boolean;
  /** Instructions of the system are beside the messages, under this key. */
  readonly system: string | null;
}

const typed =
  (type: string) =>
  (text: string): JsonObject => ({ type, text });
const isTyped = (part: unknown): boolean => isPlain(part) && typeof part['text'] === 'string';
const sameRole = (role: string): string => role;

const chat: Shape = {
  list: 'messages',
  content: 'content',
  roleName: sameRole,
  part: typed('text'),
  isText: isTyped,
  plain: true,
  system: null,
};

const shapes: Partial<Record<RequestContext['format'], Shape>> = {
  'openai-chat': chat,
  'anthropic-messages': { ...chat, system: 'system' },
  'openai-responses': { ...chat, list: 'input', part: typed('input_text'), system: 'instructions' },
  'gemini-generate-content': {
    list: 'contents',
    content: 'parts',
    roleName: (role) => (role === 'assistant' ? 'model' : role),
    part: (text) => ({ text }),
    isText: isTyped,
    plain: false,
    system: 'systemInstruction',
  },
};

const isEmpty = (content: unknown): boolean =>
  content == null ||
  (typeof content === 'string' ? content.trim() === '' : Array.isArray(content) && content.length === 0);

/** The content with the prefix before its first text. */
function prefixed(content: unknown, prefix: string, { part, isText, plain }: Shape): unknown {
  if (typeof content === 'string' || (content == null && plain)) return `${prefix}${content ?? ''}`;
  const parts = Array.isArray(content) ? content : [];
  const [first, ...rest] = parts;
  if (!isText(first)) return [part(prefix), ...parts];
  return [{ ...(first as JsonObject), text: `${prefix}${(first as { text: string }).text}` }, ...rest];
}

function inMessages(body: JsonObject, options: Prefix, shape: Shape): JsonObject {
  const { prefix, applyToRole, addToExisting, onlyIfEmpty } = options;
  const given = body[shape.list];
  // The Responses API takes a text in place of messages: it is the user's.
  if (typeof given === 'string') {
    if (applyToRole !== 'user')
      return inMessages({ ...body, [shape.list]: [{ role: 'user', content: given }] }, options, shape);
    return onlyIfEmpty && !isEmpty(given) ? body : { ...body, [shape.list]: `${prefix}${given}` };
  }
  const messages: unknown[] = Array.isArray(given) ? given : [];
  const role = shape.roleName(applyToRole);
  const message = { role, [shape.content]: shape.plain ? prefix : [shape.part(prefix)] };
  const index = messages.findIndex((each) => isPlain(each) && (each['role'] ?? 'user') === role);
  if (index === -1) {
    const all = applyToRole === 'system' ? [message, ...messages] : [...messages, message];
    return { ...body, [shape.list]: all };
  }
  const found = messages[index] as JsonObject;
  if (onlyIfEmpty && !isEmpty(found[shape.content])) return body;
  const changed = { ...found, [shape.content]: prefixed(found[shape.content], prefix, shape) };
  const all = addToExisting ? messages.with(index, changed) : messages.toSpliced(index, 0, message);
  return { ...body, [shape.list]: all };
}

/** Instructions beside the messages; Gemini's are an object with parts. */
function inSystem(body: JsonObject, options: Prefix, key: string, shape: Shape): JsonObject {
  const { prefix, onlyIfEmpty } = options;
  const given = body[key];
  if (shape.plain) {
    if (onlyIfEmpty && !isEmpty(given)) return body;
    return { ...body, [key]: prefixed(given, prefix, shape) };
  }
  const parts = isPlain(given) ? given['parts'] : undefined;
  if (onlyIfEmpty && !isEmpty(parts)) return body;
  return { ...body, [key]: { ...(isPlain(given) ? given : {}), parts: prefixed(parts, prefix, shape) } };
}

function inPrompt(body: JsonObject, { prefix, onlyIfEmpty }: Prefix): JsonObject {
  const { prompt } = body;
  const [first] = Array.isArray(prompt) ? prompt : [prompt];
  // Tokens have no place for a text.
  if (typeof first !== 'string' || (onlyIfEmpty && first.trim() !== '')) return body;
  return {
    ...body,
    prompt: Array.isArray(prompt) ? [`${prefix}${first}`, ...prompt.slice(1)] : `${prefix}${first}`,
  };
}

/** Puts a text before the first message of a role, or before the prompt. Always true. */
export const addPrefix: RequestCheck = {
  id: 'default.addPrefix',
  runs: 'request',
  transforms: true,
  run({ phase, body, format }, parameters) {
    const options = parameters as unknown as Prefix;
    const shape = shapes[format];
    let changed = body;
    if (phase === 'before' && body !== null) {
      if (format === 'openai-completions') changed = inPrompt(body, options);
      else if (shape !== undefined) {
        const { system } = shape;
        changed =
          system !== null && options.applyToRole === 'system'
            ? inSystem(body, options, system, shape)
            : inMessages(body, options, shape);
      }
    }
    const isChanged = changed !== body && changed !== null;
    const explanation = isChanged ? 'The prefix was added.' : 'There was no place for the prefix.';
    const data = { applyToRole: options.applyToRole, explanation };
    return isChanged ? { verdict: true, data, body: changed as JsonObject } : { verdict: true, data };
  },
};
