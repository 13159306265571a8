import type { JsonObject } from '../../../common/core/exchange.js';
import type { CanonicalRequest, WireRequest } from '../provider.js';
import { invalid, unsupported } from './anthropic-content.js';
import { asArray, asObject, asString } from './json-shape.js';

/** Fields of the canonical shape that are not OpenAI's own: its API refuses a request that has them. */
const foreign = new Set(['thinking', 'show_thinking', 'top_k', 'cache_control']);

/** Models that think, and then take `max_completion_tokens` alone (platform.openai.com/docs/guides/reasoning). */
const thinks = /(?:^|\/)(?:o\d|gpt-(?:[5-9]|\d\d|oss))/;

/** Served in OpenAI's format by Google or a gateway, which take Google's signatures; all others may refuse the field. */
const signs = /gemini/;

/** OpenAI refuses a longer `user` (seen by maximhq/bifrost#1000), and Anthropic's clients send longer ones. */
const maxUserLength = 64;

/**
 * A canonical request that another format's client has made → what OpenAI's API, and those that follow it, take.
 * (An OpenAI client's own request never comes here: its bytes go on as they are.)
 */
export function toOpenAiRequest(request: CanonicalRequest): WireRequest {
  return convert(request, false);
}

/** The same for those that need the thinking of earlier answers. */
export function toOpenAiRequestWithThinking(request: CanonicalRequest): WireRequest {
  return convert(request, true);
}

function convert(request: CanonicalRequest, withThinking: boolean): WireRequest {
  const dropped: string[] = [];
  const body: JsonObject = {};
  for (const key in request) {
    if (!foreign.has(key)) body[key] = request[key];
    else if (key !== 'thinking' && key !== 'show_thinking') dropped.push(key);
  }
  body['messages'] = toMessages(request, withThinking, dropped);
  const tools = asArray(request['tools']);
  if (tools !== null) body['tools'] = tools.map((tool, i) => uncached(tool, `tools[${i}]`, dropped));
  addReasoning(request, body, dropped);
  if ((asString(request['user']) ?? '').length > maxUserLength) {
    delete body['user'];
    dropped.push('user');
  }
  return { body, dropped };
}

function addReasoning(request: CanonicalRequest, body: JsonObject, dropped: string[]): void {
  const reasons = thinks.test(asString(request['model']) ?? '');
  if (reasons && body['max_tokens'] !== undefined) {
    body['max_completion_tokens'] ??= body['max_tokens'];
    delete body['max_tokens'];
  }
  if (!reasons && body['verbosity'] !== undefined) {
    delete body['verbosity'];
    dropped.push('verbosity');
  }
  const thinking = asObject(request['thinking']);
  const effort = request['reasoning_effort'];
  if (effort === undefined) {
    if (thinking === null || thinking['type'] === 'disabled') return;
    if (reasons) body['reasoning_effort'] = effortOf(thinking['budget_tokens']);
    else dropped.push('thinking');
    return;
  }
  if (!reasons) {
    delete body['reasoning_effort'];
    dropped.push('reasoning_effort');
    if (thinking !== null) dropped.push('thinking');
  } else if (effort === 'max') body['reasoning_effort'] = 'xhigh';
}

/** Tokens of thinking that were allowed, as an effort; without a number, what models do by themselves. */
function effortOf(budget: unknown): string {
  if (typeof budget !== 'number') return 'medium';
  if (budget < 4096) return 'low';
  return budget < 16_384 ? 'medium' : 'high';
}

function uncached(value: unknown, path: string, dropped: string[]): unknown {
  const object = asObject(value);
  if (object === null || object['cache_control'] === undefined) return value;
  const { cache_control: _, ...rest } = object;
  dropped.push(`${path}.cache_control`);
  return rest;
}

function toMessages(request: CanonicalRequest, withThinking: boolean, dropped: string[]): JsonObject[] {
  const messages = asArray(request['messages']) ?? [];
  const isSigned = signs.test(asString(request['model']) ?? '');
  const out: JsonObject[] = [];
  /** Pictures that tools gave back: a tool's message holds text alone, so they follow the last of them. */
  let pictures: JsonObject[] = [];
  for (const [i, value] of messages.entries()) {
    const message = asObject(value);
    if (message === null) throw invalid(`messages[${i}]`, 'must be an object with a role and content.');
    if (message['role'] !== 'tool' && pictures.length > 0) {
      out.push({ role: 'user', content: pictures });
      pictures = [];
    }
    const path = `messages[${i}]`;
    const written = toMessage(message, path, isSigned, pictures, dropped);
    const thinking = thinkingOf(message, path, withThinking, dropped);
    if (thinking !== '') written['reasoning_content'] = thinking;
    out.push(written);
  }
  if (pictures.length > 0) out.push({ role: 'user', content: pictures });
  return out;
}

function toMessage(
  message: JsonObject,
  path: string,
  isSigned: boolean,
  pictures: JsonObject[],
  dropped: string[],
): JsonObject {
  const out: JsonObject = {};
  for (const key in message) {
    const value = message[key];
    if (key === 'content_blocks') continue;
    if (key === 'extra_content' && !isSigned) continue;
    if (key === 'cache_control' || key === 'is_error') dropped.push(`${path}.${key}`);
    else if (key === 'tool_calls') {
      out[key] = (asArray(value) ?? []).map((call, j) =>
        toCall(call, `${path}.tool_calls[${j}]`, isSigned, dropped),
      );
    } else out[key] = value;
  }
  const parts = asArray(message['content']);
  if (parts === null) return out;
  const written = parts.map((part, j) => toPart(part, `${path}.content[${j}]`, dropped));
  if (message['role'] !== 'tool') {
    out['content'] = joined(written);
    return out;
  }
  const texts = written.filter((part) => part['type'] === 'text');
  const others = written.filter((part) => part['type'] !== 'text');
  if (others.length > 0) {
    const call = String(message['tool_call_id']);
    pictures.push({ type: 'text', text: `What the tool call ${call} gave back:` }, ...others);
  }
  out['content'] = joined(texts);
  return out;
}

/** What brought a signature is listed as dropped already: its thinking block. */
function toCall(value: unknown, path: string, isSigned: boolean, dropped: string[]): unknown {
  const call = uncached(value, path, dropped) as JsonObject;
  if (isSigned || call['extra_content'] === undefined) return call;
  const { extra_content: _, ...rest } = call;
  return rest;
}

/** Text alone becomes one string: of those that follow OpenAI's format, not all take a list. */
function joined(parts: readonly JsonObject[]): unknown {
  if (!parts.every((part) => part['type'] === 'text')) return parts;
  return parts.map((part) => part['text']).join('\n\n');
}

function toPart(value: unknown, path: string, dropped: string[]): JsonObject {
  const part = uncached(value, path, dropped) as JsonObject;
  const file = part['type'] === 'file' ? asObject(part['file']) : null;
  if (file === null) return part;
  if (file['file_url'] !== undefined) {
    throw unsupported(
      `${path}.file.file_url`,
      'this provider takes no files by their address: send the data itself.',
    );
  }
  const data = asString(file['file_data']) ?? '';
  // Files are PDFs here; a text can as well be sent as text.
  const text = /^data:text\/[\w.+-]+(?:;charset=[\w-]+)?;base64,/.exec(data.slice(0, 128));
  if (text !== null) {
    const content = Buffer.from(data.slice(text[0].length), 'base64').toString('utf8');
    const title = asString(file['filename']);
    return { type: 'text', text: title === null ? content : `${title}\n\n${content}` };
  }
  return { ...part, file: { filename: 'document.pdf', ...file } };
}

/** What the model thought in this message, as far as the provider can be sent it; signatures are of other providers. */
function thinkingOf(message: JsonObject, path: string, isWanted: boolean, dropped: string[]): string {
  let thinking = '';
  (asArray(message['content_blocks']) ?? []).forEach((value, j) => {
    const block = asObject(value);
    const text = asString(block?.['thinking']) ?? '';
    if (block?.['type'] === 'thinking' && isWanted) thinking += text;
    else if (block?.['type'] === 'thinking' || block?.['type'] === 'redacted_thinking')
      dropped.push(`${path}.content_blocks[${j}]`);
  });
  return thinking;
}
