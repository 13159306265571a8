import type { JsonObject } from '../../../src/common/core/exchange.js';
import type { Usage } from '../../../src/common/core/usage.js';
import { isJsonObject, parseJson, stringifyJson } from '../../../src/common/json/json.js';
import type { Form } from './entry.js';

/**
 * Converts a stored chat from one form to another: OpenAI's `chat.completion` as its chunks, and chunks as the
 * completion that they add up to. null: part of it has no place in the other form.
 */
export function convertStored(bytes: Buffer, from: Form, to: Form, usage: Usage | null): Buffer | null {
  const whole = from === 'plain' ? plainOf(bytes) : completionOf(chunksOf(bytes), usage);
  if (whole === null) return null;
  if (to === 'plain') return Buffer.from(stringifyJson(whole));
  const events = chunksFrom(whole, to === 'stream-usage');
  return events === null ? null : Buffer.from(events);
}

function plainOf(bytes: Buffer): JsonObject | null {
  const json = parseJson(bytes.toString('utf8'));
  return isJsonObject(json) ? json : null;
}

/** The JSON objects of a stream's events. Throws if one is not JSON. */
export function chunksOf(bytes: Buffer, parse: (text: string) => unknown = parseJson): JsonObject[] {
  const chunks: JsonObject[] = [];
  for (const line of bytes.toString('utf8').split(/\r\n|\r|\n/)) {
    if (!line.startsWith('data:')) continue;
    const data = line.slice(5).trimStart();
    if (data.charCodeAt(0) !== 0x7b) continue;
    const chunk = parse(data);
    if (isJsonObject(chunk)) chunks.push(chunk);
  }
  return chunks;
}

/** Members of a chunk that mean the same in a completion. */
const shared = ['id', 'created', 'model', 'service_tier', 'system_fingerprint', 'provider'];
const members: ReadonlySet<string> = new Set([...shared, 'object', 'choices', 'usage', 'obfuscation']);
const choiceMembers: ReadonlySet<string> = new Set([
  'index',
  'delta',
  'message',
  'finish_reason',
  'logprobs',
]);
/** Members whose pieces are joined. */
const texts = ['content', 'refusal', 'reasoning_content', 'reasoning'];
const saidMembers: ReadonlySet<string> = new Set(['role', 'tool_calls', 'annotations', ...texts]);

interface Choice {
  readonly message: JsonObject;
  readonly calls: JsonObject[];
  readonly logprobs: { content: unknown[] | null; refusal: unknown[] | null };
  hasLogprobs: boolean;
  end: unknown;
}

function completionOf(chunks: readonly JsonObject[], usage: Usage | null): JsonObject | null {
  const choices: Choice[] = [];
  const whole: JsonObject = { id: null, object: 'chat.completion' };
  let reported: unknown = null;
  for (const chunk of chunks) {
    if (!hasOnly(chunk, members)) return null;
    for (const name of shared) if (isSet(chunk[name])) whole[name] = chunk[name];
    reported = chunk['usage'] ?? reported;
    for (const choice of listOf(chunk['choices'])) if (!add(choices, choice)) return null;
  }
  whole['choices'] = choices.map(choiceOf);
  const counted = reported ?? usageMember(usage);
  if (counted !== null) whole['usage'] = counted;
  return choices.length === 0 || choices.includes(undefined as never) ? null : whole;
}

/** false: it has unknown members. */
function add(choices: Choice[], given: JsonObject): boolean {
  const { index, delta = {}, logprobs = null } = given;
  if (!hasOnly(given, choiceMembers) || !isIndex(index, 128) || !isJsonObject(delta)) return false;
  if (!hasOnly(delta, saidMembers)) return false;
  choices[index] ??= {
    message: { role: 'assistant', content: null },
    calls: [],
    logprobs: { content: null, refusal: null },
    hasLogprobs: false,
    end: null,
  };
  const choice = choices[index];
  choice.end = given['finish_reason'] ?? choice.end;
  if (isJsonObject(logprobs)) {
    choice.hasLogprobs = true;
    for (const kind of ['content', 'refusal'] as const) {
      const more = logprobs[kind];
      if (!Array.isArray(more)) continue;
      choice.logprobs[kind] ??= [];
      for (const one of more) choice.logprobs[kind].push(one);
    }
  }
  for (const name of texts) {
    const piece = delta[name];
    if (typeof piece === 'string') choice.message[name] = `${choice.message[name] ?? ''}${piece}`;
  }
  if (Array.isArray(delta['annotations'])) choice.message['annotations'] = delta['annotations'];
  return listOf(delta['tool_calls']).every((call) => addCall(choice.calls, call));
}

function addCall(calls: JsonObject[], given: JsonObject): boolean {
  const { index, function: said, ...rest } = given;
  if (!isIndex(index, 1024)) return false;
  calls[index] ??= { function: { name: '', arguments: '' } };
  const call = calls[index];
  for (const name in rest) if (isSet(rest[name])) call[name] = rest[name];
  if (!isJsonObject(said)) return said === undefined || said === null;
  const own = call['function'] as JsonObject;
  for (const name of ['name', 'arguments']) if (typeof said[name] === 'string') own[name] += said[name];
  return true;
}

function choiceOf({ message, calls, logprobs, hasLogprobs, end }: Choice, index: number): JsonObject {
  if (calls.length > 0) message['tool_calls'] = calls.filter((call) => call !== undefined);
  return { index, message, logprobs: hasLogprobs ? logprobs : null, finish_reason: end };
}

function chunksFrom(whole: JsonObject, withUsage: boolean): string | null {
  if (!hasOnly(whole, members)) return null;
  const head: JsonObject = { object: 'chat.completion.chunk' };
  for (const name of shared) if (whole[name] !== undefined) head[name] = whole[name];
  const { id, ...rest } = head;
  let text = '';
  const write = (choices: readonly JsonObject[], usage?: unknown): void => {
    const more = withUsage ? { usage: usage ?? null } : {};
    text += `data: ${stringifyJson({ id, ...rest, choices, ...more })}\n\n`;
  };
  for (const choice of listOf(whole['choices'])) {
    const { index, message, logprobs = null, finish_reason } = choice;
    if (!hasOnly(choice, choiceMembers) || !isJsonObject(message) || !hasOnly(message, saidMembers))
      return null;
    const { role, content = null, ...said } = message;
    // In a chunk of its own, as providers do: OpenAI's client counts log probabilities of a choice's first chunk twice.
    write([
      { index, delta: { role, content: content === null ? null : '' }, logprobs: null, finish_reason: null },
    ]);
    const delta: JsonObject = {};
    if (content !== null) delta['content'] = content;
    for (const name in said) if (isSet(said[name])) delta[name] = said[name];
    if (message['tool_calls'] !== undefined)
      delta['tool_calls'] = listOf(message['tool_calls']).map((call, at) => ({ index: at, ...call }));
    write([{ index, delta, logprobs, finish_reason: null }]);
    write([{ index, delta: {}, logprobs: null, finish_reason }]);
  }
  if (withUsage) {
    if (!isSet(whole['usage'])) return null;
    write([], whole['usage']);
  }
  return `${text}data: [DONE]\n\n`;
}

function usageMember(usage: Usage | null): JsonObject | null {
  if (usage === null) return null;
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cached },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
  };
}

function hasOnly(object: JsonObject, known: ReadonlySet<string>): boolean {
  for (const name in object) if (!known.has(name) && isSet(object[name])) return false;
  return true;
}

const isIndex = (value: unknown, most: number): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most;

const isSet = (value: unknown): boolean => value !== undefined && value !== null;

const listOf = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);
