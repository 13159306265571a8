import { EventStreamReader, looksLikeEventStream } from './event-stream.js';
import { SseReader } from './sse.js';
import { looksLikeEvents } from './stream-tail.js';

/** Cuts the bytes of one stream into events. */
export interface EventReader {
  /** Throws `upstream_stream_error` for what is no such stream. */
  push(chunk: Buffer): void;
  end(): void;
}

/** How a format's stream is framed on the wire. */
export interface Framing {
  readonly contentType: string;
  /** Can a body that begins with these bytes be such a stream? null: too few bytes to decide. */
  looksValid(bytes: Buffer): boolean | null;
  reader(onEvent: (name: string, data: string) => void): EventReader;
}

/** Server-sent events: the framing of all providers except AWS. */
export const serverSentEvents: Framing = {
  contentType: 'text/event-stream',
  looksValid: looksLikeEvents,
  reader: (onEvent) => new SseReader(onEvent),
};

/** The binary event stream of AWS. */
export const eventStream: Framing = {
  contentType: 'application/vnd.amazon.eventstream',
  looksValid: looksLikeEventStream,
  reader: (onEvent) => new EventStreamReader(onEvent),
};
