import type { JsonObject } from '../core/exchange.js';
import type { Usage } from '../core/usage.js';
import { anthropicUsage, mergeCounts } from './formats/anthropic-usage.js';
import { geminiUsage } from './formats/gemini-usage.js';
import { asObject } from './formats/json-shape.js';
import { openAiUsage } from './formats/openai-usage.js';

export type TailFormat =
  | 'openai-chat'
  | 'openai-completions'
  | 'openai-responses'
  | 'anthropic-messages'
  | 'gemini-generate-content';

/** What a passed-through stream said of itself. */
export interface TailFindings {
  /** Was the format's own end there (`[DONE]`, `message_stop`)? */
  readonly done: boolean;
  readonly usage: Usage | null;
  readonly model: string | null;
}

/** Enough for the last chunks of a chat, their usage and the end marker; the one before may be cut. */
const tailBytes = 16 * 1024;
/** Enough for `message_start`, where Anthropic reports the input. */
const headBytes = 8 * 1024;

/**
 * Watches a stream whose bytes go to the client unchanged. Per chunk it only keeps a reference; the last few KiB are
 * decoded once, at the end.
 */
export class StreamTail {
  readonly #head: Buffer[] = [];
  #headLength = 0;
  #ring: Buffer[] = [];
  /** Index of the oldest chunk still needed; what lies before is cut off now and then, not at every chunk. */
  #oldest = 0;
  #ringLength = 0;

  constructor(readonly format: TailFormat) {}

  push(chunk: Buffer): void {
    if (this.#headLength < headBytes) {
      const part = chunk.length > headBytes ? chunk.subarray(0, headBytes) : chunk;
      this.#head.push(part);
      this.#headLength += part.length;
    }
    const part = chunk.length > tailBytes ? chunk.subarray(chunk.length - tailBytes) : chunk;
    this.#ring.push(part);
    this.#ringLength += part.length;
    while (this.#ringLength - this.#ring[this.#oldest]!.length >= tailBytes) {
      this.#ringLength -= this.#ring[this.#oldest]!.length;
      this.#ring[this.#oldest++] = empty;
    }
    if (this.#oldest > 256) {
      this.#ring = this.#ring.slice(this.#oldest);
      this.#oldest = 0;
    }
  }

  end(): TailFindings {
    const text = Buffer.concat(this.#ring).toString('utf8');
    const tail = eventData(text);
    if (this.format === 'openai-chat' || this.format === 'openai-completions') return openAiFindings(tail);
    if (this.format === 'gemini-generate-content') return geminiFindings(tail, text);
    const head = eventData(Buffer.concat(this.#head).toString('utf8'));
    return this.format === 'anthropic-messages'
      ? anthropicFindings(head, tail)
      : responsesFindings(head, tail, text);
  }
}

const empty = Buffer.alloc(0);

/** The `data` of each event; one that lost its start to the ring simply will not parse. */
function eventData(text: string): string[] {
  const found: string[] = [];
  for (const line of text.split(/\r\n|\r|\n/)) {
    if (line.startsWith('data:')) found.push(line.slice(line.charCodeAt(5) === 0x20 ? 6 : 5));
  }
  return found;
}

function parseObject(text: string): JsonObject | null {
  if (text.charCodeAt(0) !== 0x7b) return null;
  try {
    return JSON.parse(text) as JsonObject;
  } catch {
    return null;
  }
}

function openAiFindings(tail: readonly string[]): TailFindings {
  let done = false;
  let usage: Usage | null = null;
  let model: string | null = null;
  for (let i = tail.length - 1; i >= 0 && (usage === null || model === null); i--) {
    const data = tail[i]!;
    if (data.trimEnd() === '[DONE]') {
      done = true;
      continue;
    }
    const chunk = parseObject(data);
    if (chunk === null) continue;
    if (model === null && typeof chunk['model'] === 'string' && chunk['model'] !== '') model = chunk['model'];
    usage ??= openAiUsage(chunk);
  }
  return { done, usage, model };
}

function anthropicFindings(head: readonly string[], tail: readonly string[]): TailFindings {
  let done = false;
  let model: string | null = null;
  let raw: JsonObject | null = null;
  for (const data of head) {
    const event = parseObject(data);
    if (event?.['type'] !== 'message_start') continue;
    const message = event['message'] as JsonObject | undefined;
    if (typeof message?.['model'] === 'string') model = message['model'];
    raw = asObject(message?.['usage']);
    break;
  }
  for (let i = tail.length - 1; i >= 0; i--) {
    const event = parseObject(tail[i]!);
    if (event?.['type'] === 'message_stop') done = true;
    if (event?.['type'] !== 'message_delta') continue;
    const last = asObject(event['usage']);
    if (last !== null) raw = mergeCounts(raw, last);
    break;
  }
  return { done, usage: raw === null ? null : anthropicUsage(raw), model };
}

/** The last event but an end marker; null where its start was lost to the ring. */
function lastEvent(tail: readonly string[]): JsonObject | null {
  return parseObject(tail.findLast((data) => data.trimEnd() !== '[DONE]') ?? '');
}

/** The object under a name at the end of an event whose start was lost; within a text its quotes would be escaped. */
function lastObject(text: string, name: string): JsonObject | null {
  if (!/[}\]]$/.test(text.trimEnd())) return null;
  const objects = text.matchAll(new RegExp(`"${name}":\\s*(\\{(?:[^{}]|\\{[^{}]*\\})*\\})`, 'g'));
  return parseObject([...objects].at(-1)?.[1] ?? '');
}

/** Each event is a whole answer with the next parts: the last has its usage, and why it ended. */
function geminiFindings(tail: readonly string[], text: string): TailFindings {
  const last = lastEvent(tail);
  const usage =
    asObject(last?.['usageMetadata']) ?? (last === null ? lastObject(text, 'usageMetadata') : null);
  const candidates = last?.['candidates'];
  const ended = Array.isArray(candidates)
    ? candidates.some((candidate) => asObject(candidate)?.['finishReason'])
    : last === null && /"finishReason":\s*"/.test(text);
  return {
    done: ended || asObject(last?.['promptFeedback'])?.['blockReason'] !== undefined,
    usage: usage === null ? null : geminiUsage(usage),
    model: typeof last?.['modelVersion'] === 'string' ? last['modelVersion'] : null,
  };
}

const responseEnds: ReadonlySet<unknown> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
]);

/** The last event repeats the whole answer, so of a long one only the end is there: its usage tells it. */
function responsesFindings(head: readonly string[], tail: readonly string[], text: string): TailFindings {
  const first = asObject(parseObject(head[0] ?? '')?.['response']);
  let model = typeof first?.['model'] === 'string' ? first['model'] : null;
  const last = lastEvent(tail);
  const response = asObject(last?.['response']);
  if (response !== null && responseEnds.has(last?.['type'])) {
    if (typeof response['model'] === 'string') model = response['model'];
    return { done: true, usage: openAiUsage(response), model };
  }
  const usage = last === null ? openAiUsage({ usage: lastObject(text, 'usage') }) : null;
  return { done: usage !== null, usage, model };
}

const fieldStart = /^(?:data|event|id|retry)(?:[:\r\n])|^:/;
const fieldPrefixes = ['data:', 'event:', 'retry:', 'id:'];

/**
 * Can a body that begins with these bytes be server-sent events? null: too few bytes to tell. Looks at the start of
 * the first line that is not blank; a JSON or HTML body under a `text/event-stream` label is told at its first byte.
 */
export function looksLikeEvents(chunk: Buffer): boolean | null {
  const text = chunk.toString('latin1', 0, 4096);
  let at = 0;
  if (text.startsWith('\u00ef\u00bb\u00bf')) at = 3;
  else if (text.length < 3 && '\u00ef\u00bb\u00bf'.startsWith(text)) return null;
  while (at < text.length && (text.charCodeAt(at) === 10 || text.charCodeAt(at) === 13)) at++;
  // A body of nothing but blank lines will not become an answer.
  if (at === text.length) return text.length >= 4096 ? false : null;
  const line = text.slice(at, at + 8);
  if (fieldStart.test(line)) return true;
  return fieldPrefixes.some((prefix) => prefix.startsWith(line)) ? null : false;
}
