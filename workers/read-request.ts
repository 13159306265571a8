import type { Format } from '../src/common/core/endpoint.js';

type Count = (text: string) => number;
type Json = Record<string, unknown>;

// Tokens around a chat message, after OpenAI's cookbook ("How to count tokens with Tiktoken").
const perMessage = 3;
const perName = 1;
const primesAnswer = 3;
// Tokens around a tool's definition, from the same page (gpt-4o and later).
const tool = { start: 7, properties: 3, property: 3, enumStart: -3, enumItem: 3, end: 12 };
/** A 1024×1024 picture at high detail. The real number depends on the picture's size, which is not decoded here. */
const perImage = 765;

/** Input tokens of a request; 0 for one that cannot be read. */
export function readRequest(format: Format, bytes: Uint8Array, count: Count): number {
  let body: unknown;
  try {
    body = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return 0;
  }
  if (!isObject(body)) return 0;
  if (format === 'openai-embeddings') return ofInput(body['input'], count);
  if (format === 'openai-completions') return ofInput(body['prompt'], count);
  if (format.startsWith('gemini-')) return ofGemini(body, count);
  let tokens = primesAnswer;
  // Anthropic's instructions are beside the messages.
  if (body['system'] !== undefined) tokens += perMessage + ofContent(body['system'], count);
  for (const message of list(body['messages'])) if (isObject(message)) tokens += ofMessage(message, count);
  if (format === 'openai-responses') tokens += ofItems(body, count);
  const tools = list(body['tools']);
  for (const each of tools) if (isObject(each)) tokens += ofTool(each, count);
  return tokens + (tools.length > 0 ? tool.end : 0);
}

/** The Responses API's instructions and input, a text or items: messages, calls and their results. */
function ofItems(body: Json, count: Count): number {
  const { instructions, input } = body;
  let tokens = typeof instructions === 'string' ? perMessage + count(instructions) : 0;
  if (typeof input === 'string') return tokens + perMessage + count(input);
  for (const item of list(input)) {
    if (!isObject(item)) continue;
    tokens += perMessage + ofContent(item['content'] ?? item['output'], count);
    tokens += text(item['name'], count) + text(item['arguments'], count);
  }
  return tokens;
}

/** Gemini's contents, instruction and tools; also in the wrappers of `countTokens` and of the embedding calls. */
function ofGemini(body: Json, count: Count): number {
  const wrapped = body['generateContentRequest'];
  if (isObject(wrapped)) return ofGemini(wrapped, count);
  const requests = list(body['requests']);
  if (requests.length > 0) {
    return requests.reduce<number>((sum, each) => sum + (isObject(each) ? ofGemini(each, count) : 0), 0);
  }
  let tokens = 0;
  for (const content of [body['systemInstruction'], body['content'], ...list(body['contents'])]) {
    if (!isObject(content)) continue;
    tokens += perMessage;
    for (const part of list(content['parts'])) if (isObject(part)) tokens += ofGeminiPart(part, count);
  }
  for (const each of list(body['tools'])) {
    for (const declaration of isObject(each) ? list(each['functionDeclarations']) : []) {
      if (isObject(declaration)) tokens += ofTool(declaration, count);
    }
  }
  return tokens;
}

function ofGeminiPart(part: Json, count: Count): number {
  if (part['inlineData'] !== undefined || part['fileData'] !== undefined) return perImage;
  const call = part['functionCall'] ?? part['functionResponse'];
  return call === undefined ? text(part['text'], count) : perMessage + count(JSON.stringify(call));
}

/** A text, several, or tokens already. */
function ofInput(input: unknown, count: Count): number {
  if (typeof input === 'string') return count(input);
  let tokens = 0;
  for (const each of list(input)) {
    if (typeof each === 'number') tokens++;
    else tokens += ofInput(each, count);
  }
  return tokens;
}

function ofMessage(message: Json, count: Count): number {
  let tokens = perMessage + text(message['role'], count) + ofContent(message['content'], count);
  if (typeof message['name'] === 'string') tokens += perName + count(message['name']);
  for (const call of list(message['tool_calls'])) {
    const called = isObject(call) && isObject(call['function']) ? call['function'] : {};
    tokens += perMessage + text(called['name'], count) + text(called['arguments'], count);
  }
  return tokens;
}

/** A string, or parts: text, pictures, tool calls and their results. */
function ofContent(content: unknown, count: Count): number {
  if (typeof content === 'string') return count(content);
  let tokens = 0;
  for (const part of list(content)) {
    if (!isObject(part)) continue;
    switch (part['type']) {
      case 'image_url':
      case 'input_image':
      case 'image':
        tokens += perImage;
        break;
      case 'tool_use':
        tokens += perMessage + text(part['name'], count) + count(JSON.stringify(part['input'] ?? {}));
        break;
      case 'tool_result':
        tokens += perMessage + ofContent(part['content'], count);
        break;
      default:
        tokens += text(part['text'] ?? part['thinking'] ?? part['refusal'], count);
    }
  }
  return tokens;
}

function ofTool(given: Json, count: Count): number {
  const definition = isObject(given['function']) ? given['function'] : given;
  const schema = definition['parameters'] ?? definition['input_schema'];
  let tokens = tool.start + count(`${definition['name'] ?? ''}:${definition['description'] ?? ''}`);
  const properties =
    isObject(schema) && isObject(schema['properties']) ? Object.entries(schema['properties']) : [];
  if (properties.length > 0) tokens += tool.properties;
  for (const [name, property] of properties) {
    if (!isObject(property)) continue;
    const { type, description, enum: choices, ...nested } = property;
    tokens += tool.property + count(`${name}:${String(type ?? '')}:${String(description ?? '')}`);
    const items = list(choices);
    if (items.length > 0) tokens += tool.enumStart;
    for (const item of items) tokens += tool.enumItem + count(String(item));
    // The cookbook does not cover deeper levels: they are counted as text.
    if (Object.keys(nested).length > 0) tokens += count(JSON.stringify(nested));
  }
  return tokens;
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const text = (value: unknown, count: Count): number => (typeof value === 'string' ? count(value) : 0);
