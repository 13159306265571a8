import type { JsonObject } from '../../../common/core/exchange.js';
import type { Usage } from '../../../common/core/usage.js';
import { anthropicUsage, mergeCounts } from '../formats/anthropic-usage.js';
import { ChoiceEnds } from '../formats/choice-ends.js';
import { geminiUsage } from '../formats/gemini-usage.js';
import { asObject } from '../formats/json-shape.js';
import { openAiUsage } from '../formats/openai-usage.js';

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

interface TailEvent {
  readonly name: string;
  readonly data: string;
}

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
export function findingsOf(format: TailFormat, head: string, text: string): TailFindings {
  const tail = eventsIn(text);
  return { ...formatFindings(format, head, tail, text), error: errorIn(tail) };
}

function formatFindings(
  format: TailFormat,
  head: string,
  tail: readonly TailEvent[],
  text: string,
): PlainFindings {
  switch (format) {
    case 'openai-chat':
    case 'openai-completions':
      return openAiFindings(tail);
    case 'gemini-generate-content':
      return geminiFindings(tail, text);
    case 'anthropic-messages':
      return anthropicFindings(eventsIn(head), tail);
    default:
      return responsesFindings(eventsIn(head), tail, text);
  }
}

/** Are all events in these bytes complete, the closing blank line aside? */
export function areWhole(bytes: Buffer): boolean {
  return eventsIn(bytes.toString()).every(({ data }) => isEnd(data) || parseObject(data) !== null);
}

const isEnd = (data: string): boolean => data.trimEnd() === '[DONE]';

/** The lines of data; one that lost its start to the ring simply will not parse. */
function eventsIn(text: string): TailEvent[] {
  const found: TailEvent[] = [];
  let name = '';
  for (const line of text.split(/\r\n|\r|\n/)) {
    if (line === '') name = '';
    else if (line.startsWith('data:'))
      found.push({ name, data: line.slice(line.charCodeAt(5) === 0x20 ? 6 : 5) });
    else if (line.startsWith('event:')) name = line.slice(6).trim();
  }
  return found;
}

/** In any of the shapes in which providers report one after their stream has begun. */
function errorIn(tail: readonly TailEvent[]): JsonObject | null {
  const last = tail.findLast(({ data }) => !isEnd(data));
  const event = parseObject(last?.data ?? '');
  if (event === null) return null;
  const hasError = event['error'] !== undefined && event['error'] !== null;
  // Events of the Responses API have an `error` within their `response`, and are named by their `type`.
  return hasError || last?.name === 'error' || event['type'] === 'error' ? event : null;
}

function parseObject(text: string): JsonObject | null {
  if (text.charCodeAt(0) !== 0x7b) return null;
  try {
    return JSON.parse(text) as JsonObject;
  } catch {
    return null;
  }
}

function openAiFindings(tail: readonly TailEvent[]): PlainFindings {
  let marked = false;
  let usage: Usage | null = null;
  let model: string | null = null;
  for (let i = tail.length - 1; i >= 0 && (usage === null || model === null); i--) {
    const { data } = tail[i]!;
    if (isEnd(data)) {
      marked = true;
      continue;
    }
    const chunk = parseObject(data);
    if (chunk === null) continue;
    if (model === null && typeof chunk['model'] === 'string' && chunk['model'] !== '') model = chunk['model'];
    usage ??= openAiUsage(chunk);
  }
  return { done: marked || haveEnded(tail), marked, usage, model };
}

/** Did each choice of a stream without its end marker end? Those are asked of which there is something in its last KiB. */
function haveEnded(tail: readonly TailEvent[]): boolean {
  const ends = new ChoiceEnds();
  for (const { data } of tail) ends.add(parseObject(data)?.['choices']);
  return ends.all;
}

function anthropicFindings(head: readonly TailEvent[], tail: readonly TailEvent[]): PlainFindings {
  let marked = false;
  let ended = false;
  let model: string | null = null;
  let raw: JsonObject | null = null;
  for (const { data } of head) {
    const event = parseObject(data);
    if (event?.['type'] !== 'message_start') continue;
    const message = event['message'] as JsonObject | undefined;
    if (typeof message?.['model'] === 'string') model = message['model'];
    raw = asObject(message?.['usage']);
    break;
  }
  for (let i = tail.length - 1; i >= 0; i--) {
    const event = parseObject(tail[i]!.data);
    if (event?.['type'] === 'message_stop') marked = true;
    if (event?.['type'] !== 'message_delta') continue;
    const last = asObject(event['usage']);
    if (last !== null) raw = mergeCounts(raw, last);
    ended = typeof asObject(event['delta'])?.['stop_reason'] === 'string';
    break;
  }
  return { done: marked || ended, marked, usage: raw === null ? null : anthropicUsage(raw), model };
}

/** The last event but an end marker; null where its start was lost to the ring. */
function lastEvent(tail: readonly TailEvent[]): JsonObject | null {
  return parseObject(tail.findLast(({ data }) => !isEnd(data))?.data ?? '');
}

/** The object under a name at the end of an event whose start was lost; within a text its quotes would be escaped. */
function lastObject(text: string, name: string): JsonObject | null {
  if (!/[}\]]$/.test(text.trimEnd())) return null;
  const objects = text.matchAll(new RegExp(`"${name}":\\s*(\\{(?:[^{}]|\\{[^{}]*\\})*\\})`, 'g'));
  return parseObject([...objects].at(-1)?.[1] ?? '');
}

/** Each event is a whole answer with the next parts: the last has its usage, and why it ended. */
function geminiFindings(tail: readonly TailEvent[], text: string): PlainFindings {
  const last = lastEvent(tail);
  const usage =
    asObject(last?.['usageMetadata']) ?? (last === null ? lastObject(text, 'usageMetadata') : null);
  const candidates = last?.['candidates'];
  const ended = Array.isArray(candidates)
    ? candidates.some((candidate) => asObject(candidate)?.['finishReason'])
    : last === null && /"finishReason":\s*"/.test(text);
  return {
    done: ended || asObject(last?.['promptFeedback'])?.['blockReason'] !== undefined,
    marked: false,
    usage: usage === null ? null : geminiUsage(usage),
    model: typeof last?.['modelVersion'] === 'string' ? last['modelVersion'] : null,
  };
}

const responseEnds: ReadonlySet<unknown> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
]);

/** The last event repeats the whole answer, so of a long one only the end is there: its usage identifies it. */
function responsesFindings(
  head: readonly TailEvent[],
  tail: readonly TailEvent[],
  text: string,
): PlainFindings {
  const first = asObject(parseObject(head[0]?.data ?? '')?.['response']);
  let model = typeof first?.['model'] === 'string' ? first['model'] : null;
  const last = lastEvent(tail);
  const response = asObject(last?.['response']);
  if (response !== null && responseEnds.has(last?.['type'])) {
    if (typeof response['model'] === 'string') model = response['model'];
    return { done: true, marked: false, usage: openAiUsage(response), model };
  }
  const usage = last === null ? openAiUsage({ usage: lastObject(text, 'usage') }) : null;
  return { done: usage !== null, marked: false, usage, model };
}
