import type { JsonObject } from '../../../common/core/exchange.js';
import type { Usage } from '../../../common/core/usage.js';
import { anthropicUsage, mergeCounts } from '../formats/anthropic-usage.js';
import { ChoiceEnds } from '../formats/choice-ends.js';
import { reportsError } from '../formats/error-event.js';
import { geminiUsage } from '../formats/gemini-usage.js';
import { asObject } from '../formats/json-shape.js';
import { openAiUsage } from '../formats/openai-usage.js';
import { type TailEvent, TailEvents } from './tail-events.js';

export type TailFormat =
  | 'openai-chat'
  | 'openai-completions'
  | 'openai-responses'
  | 'anthropic-messages'
  | 'gemini-generate-content';

/** The format of a stream that is passed through at this path, as far as the path shows it. */
export const tailFormatAt = (path: string): TailFormat =>
  path.endsWith('/messages') ? 'anthropic-messages' : 'openai-chat';

/** The data found in a passed-through stream. */
export interface TailFindings {
  /** Is the answer whole, by its own account: the format's end was there, or the reason why each choice ended? */
  readonly done: boolean;
  /** Was the format's own end there (`[DONE]`, `message_stop`)? */
  readonly marked: boolean;
  /** The last event, where the provider reported an error with it. */
  readonly error: JsonObject | null;
  readonly usage: Usage | null;
  readonly model: string | null;
}

type PlainFindings = Omit<TailFindings, 'error'>;

/** What a whole stream ends with; '' where its last event is the end. */
export function endOf(format: TailFormat): string {
  switch (format) {
    case 'openai-chat':
    case 'openai-completions':
      return 'data: [DONE]\n\n';
    case 'anthropic-messages':
      return 'event: message_stop\ndata: {"type":"message_stop"}\n\n';
    default:
      return '';
  }
}

/** From the first and the last bytes of a stream, which may overlap, and whose cut events are left out. */
export function findingsOf(format: TailFormat, head: Buffer, bytes: Buffer): TailFindings {
  const tail = new TailEvents(bytes);
  const found = formatFindings(format, head, tail);
  const usage = found.usage?.source === 'none' ? null : found.usage;
  return { ...found, usage, error: errorIn(tail) };
}

function formatFindings(format: TailFormat, head: Buffer, tail: TailEvents): PlainFindings {
  switch (format) {
    case 'openai-chat':
    case 'openai-completions':
      return openAiFindings(tail);
    case 'gemini-generate-content':
      return geminiFindings(tail);
    case 'anthropic-messages':
      return anthropicFindings(head, tail);
    default:
      return responsesFindings(head, tail);
  }
}

/** Are all events in these bytes complete, the closing blank line aside? */
export function areWhole(bytes: Buffer): boolean {
  const events = new TailEvents(bytes);
  for (let i = 0; ; i++) {
    const event = events.fromEnd(i);
    if (event === null) return true;
    if (!event.isEnd && event.object === null) return false;
  }
}

/** The events at the start of a stream whose first bytes these are, in their order. */
function* eventsFrom(head: Buffer): Generator<TailEvent> {
  const events = new TailEvents(head);
  let count = 0;
  while (events.fromEnd(count) !== null) count += 1;
  while (count > 0) yield events.fromEnd(--count)!;
}

/** In any of the shapes in which providers report one after their stream has begun. */
function errorIn({ last }: TailEvents): JsonObject | null {
  const event = last?.object ?? null;
  if (event === null) return null;
  // Events of the Responses API have an `error` within their `response`, and are named by their `type`.
  return reportsError(last?.name ?? '', event) || event['type'] === 'error' ? event : null;
}

function parseObject(text: string): JsonObject | null {
  if (text.charCodeAt(0) !== 0x7b) return null;
  try {
    return JSON.parse(text) as JsonObject;
  } catch {
    return null;
  }
}

/** The name under which OpenAI's format, and what resembles it, reports tokens. */
const usageName = Buffer.from('"usage"');

function openAiFindings(tail: TailEvents): PlainFindings {
  const usageAt = tail.bytes.lastIndexOf(usageName);
  let marked = false;
  let usage: Usage | null = null;
  let model: string | null = null;
  for (let i = 0; usage === null || model === null; i++) {
    const event = tail.fromEnd(i);
    if (event === null) break;
    if (event.isEnd) {
      marked = true;
      continue;
    }
    // The model is known, and no event up to this one has usage: the rest need not be parsed.
    if (model !== null && usageAt < event.line) continue;
    const chunk = event.object;
    if (chunk === null) continue;
    if (model === null && typeof chunk['model'] === 'string' && chunk['model'] !== '') model = chunk['model'];
    usage ??= openAiUsage(chunk);
  }
  return { done: marked || haveEnded(tail), marked, usage, model };
}

/** Did each choice of a stream without its end marker end? Those are asked of which there is something in its last KiB. */
function haveEnded(tail: TailEvents): boolean {
  const ends = new ChoiceEnds();
  for (let i = 0; ; i++) {
    const event = tail.fromEnd(i);
    if (event === null) return ends.all;
    ends.add(event.object?.['choices']);
  }
}

function anthropicFindings(head: Buffer, tail: TailEvents): PlainFindings {
  let marked = false;
  let ended = false;
  let model: string | null = null;
  let raw: JsonObject | null = null;
  for (const { object: event } of eventsFrom(head)) {
    if (event?.['type'] !== 'message_start') continue;
    const message = event['message'] as JsonObject | undefined;
    if (typeof message?.['model'] === 'string') model = message['model'];
    raw = asObject(message?.['usage']);
    break;
  }
  for (let i = 0; ; i++) {
    const found = tail.fromEnd(i);
    if (found === null) break;
    const event = found.object;
    if (event?.['type'] === 'message_stop') marked = true;
    if (event?.['type'] !== 'message_delta') continue;
    const last = asObject(event['usage']);
    if (last !== null) raw = mergeCounts(raw, last);
    ended = typeof asObject(event['delta'])?.['stop_reason'] === 'string';
    break;
  }
  return { done: marked || ended, marked, usage: raw === null ? null : anthropicUsage(raw), model };
}

/** The object under a name at the end of an event whose start was lost; within a text its quotes would be escaped. */
function lastObject({ bytes }: TailEvents, name: string): JsonObject | null {
  const text = bytes.toString();
  if (!/[}\]]$/.test(text.trimEnd())) return null;
  const objects = text.matchAll(new RegExp(`"${name}":\\s*(\\{(?:[^{}]|\\{[^{}]*\\})*\\})`, 'g'));
  return parseObject([...objects].at(-1)?.[1] ?? '');
}

/** Each event is a whole answer with the next parts: the last has its usage, and why it ended. */
function geminiFindings(tail: TailEvents): PlainFindings {
  const last = tail.last?.object ?? null;
  const usage = lastMetadata(tail) ?? (last === null ? lastObject(tail, 'usageMetadata') : null);
  const candidates = last?.['candidates'];
  const ended = Array.isArray(candidates)
    ? candidates.some((candidate) => asObject(candidate)?.['finishReason'])
    : last === null && /"finishReason":\s*"/.test(tail.bytes.toString());
  return {
    done: ended || asObject(last?.['promptFeedback'])?.['blockReason'] !== undefined,
    marked: false,
    usage: usage === null ? null : geminiUsage(usage),
    model: typeof last?.['modelVersion'] === 'string' ? last['modelVersion'] : null,
  };
}

/** Of the last event that has some. */
function lastMetadata(tail: TailEvents): JsonObject | null {
  for (let i = 0; ; i++) {
    const event = tail.fromEnd(i);
    if (event === null) return null;
    const usage = asObject(event.object?.['usageMetadata']);
    if (usage !== null) return usage;
  }
}

const responseEnds: ReadonlySet<unknown> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
]);

/** The last event repeats the whole answer, so of a long one only the end is there: its usage identifies it. */
function responsesFindings(head: Buffer, tail: TailEvents): PlainFindings {
  const [event] = eventsFrom(head);
  const first = asObject(event?.object?.['response']);
  let model = typeof first?.['model'] === 'string' ? first['model'] : null;
  const last = tail.last?.object ?? null;
  const response = asObject(last?.['response']);
  if (response !== null && responseEnds.has(last?.['type'])) {
    if (typeof response['model'] === 'string') model = response['model'];
    return { done: true, marked: false, usage: openAiUsage(response), model };
  }
  const usage = last === null ? openAiUsage({ usage: lastObject(tail, 'usage') }) : null;
  return { done: usage !== null, marked: false, usage, model };
}
