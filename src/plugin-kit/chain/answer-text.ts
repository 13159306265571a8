import type { StreamEvent } from '../../common/core/exchange.js';
import { parsed } from './header-record.js';

/** The events of a stream, as a client reads them. */
export function eventsOf(body: string): StreamEvent[] {
  return body.split(/\r?\n\r?\n/).flatMap((frame) => {
    const fields = frame.split(/\r?\n/);
    const valuesOf = (name: string): string[] =>
      fields
        .filter((line) => line.startsWith(`${name}:`))
        .map((line) => line.slice(name.length + 1).replace(/^ /, ''));
    const data = valuesOf('data');
    return data.length === 0 ? [] : [{ name: valuesOf('event')[0] ?? null, data: data.join('\n') }];
  });
}

/** The text of an answer in any format: of the whole body, or of what its events add. */
export function answerText(whole: unknown, events: readonly StreamEvent[]): string {
  if (events.length === 0) return textIn(whole);
  return events.map(({ data }) => textIn(parsed(data), true)).join('');
}

/** Texts of Chat and Completions, Messages, Responses and Gemini; `streamed`: of one event. */
function textIn(value: unknown, streamed = false): string {
  if (typeof value !== 'object' || value === null) return '';
  const body = value as Readonly<Record<string, unknown>>;
  if (streamed && body['type'] === 'response.output_text.delta') return text(body['delta']);
  if (streamed && String(body['type']).startsWith('response.')) return '';
  if (streamed && body['type'] === 'content_block_delta') return text(body['delta']);
  const choices = list(body['choices']).map((choice) =>
    text(choice['delta'] ?? choice['message'] ?? choice['text']),
  );
  const blocks = streamed ? [] : list(body['content']).map(text);
  const output = list(body['output']).map(text);
  const candidates = list(body['candidates']).map(({ content }) => text(content));
  return [...choices, ...blocks, ...output, ...candidates].join('');
}

/** The text of a part, a message or a delta. */
function text(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return '';
  const { text: own, content, parts } = value as Readonly<Record<string, unknown>>;
  if (typeof own === 'string') return own;
  if (typeof content === 'string') return content;
  return list(content ?? parts)
    .map(text)
    .join('');
}

const list = (value: unknown): readonly Readonly<Record<string, unknown>>[] =>
  Array.isArray(value) ? value : [];
