import { GatewayError } from '../../../common/core/errors.js';
import type { JsonObject } from '../../../common/core/exchange.js';
import type { Usage } from '../../../common/core/usage.js';
import type { StreamWriter } from '../../providers/client-formats/client-format.js';
import { readProviderError } from '../../providers/formats/provider-error.js';
import { parseEventJson } from '../../providers/inner-json.js';
import type { StreamReader } from '../../providers/provider.js';
import type { EventReader, Framing } from '../../providers/streams/framing.js';
import { StreamTail } from '../../providers/streams/stream-tail.js';
import { areWhole, endOf, type TailFormat, tailFormatAt } from '../../providers/streams/tail-findings.js';
import { WholeEvents } from '../../providers/streams/whole-events.js';
import type { Outgoing } from '../outgoing/outgoing.js';

/** Reads a streamed answer: returns the client's bytes for each chunk, and at the end its usage. */
export interface StreamReading {
  /** The client's bytes for these; null: none yet. */
  push(chunk: Buffer): Buffer | null;
  /** The client's bytes for what was read before `push` or `end` threw; null: none. */
  rest(): Buffer | null;
  /** The remaining bytes. Throws `upstream_truncated` when the format's own end is missing. */
  end(): Buffer | null;
  /**
   * The result of `end` in slices, if it is too long for one turn of the event loop; `end` then returns nothing more.
   */
  endInSlices?(): Iterable<Buffer> | null;
  /** Is a provider's error the last event of the client's stream? Then no other may follow. */
  readonly hasReportedError: boolean;
  /** null for a stream that broke: the usage that it reported before is incomplete, so its text is counted. */
  readonly usage: Usage | null;
  /** What a stream without `usage` has reported so far; null: nothing. */
  readonly usageSoFar: Usage | null;
  readonly model: string | null;
  /** Content type of the client's answer; null: the provider's. */
  readonly contentType: string | null;
}

/** For streams of endpoints that the gateway parses. */
export function streamReading({ conversion, wire, call }: Outgoing): StreamReading {
  const stream = conversion?.stream() ?? null;
  if (conversion !== null && stream !== null)
    return new Converted(conversion.framing, stream.reader, stream.writer, call.provider);
  return new Untouched(new StreamTail(wire as TailFormat), call.provider);
}

/** For a passthrough, whose bytes are not changed: only its usage is recorded. null: it has none. */
export function untouchedReading(path: string, events: boolean): StreamReading | null {
  if (!events) return null;
  return new Untouched(new StreamTail(tailFormatAt(path)), null);
}

/** Same format on both sides: whole events pass through, and only the tail is parsed, once, at the end. */
class Untouched implements StreamReading {
  usage: Usage | null = null;
  model: string | null = null;
  readonly contentType = null;
  readonly #events: WholeEvents;
  #reported: boolean | null = null;

  /** `provider` null: the end of the stream is not checked. */
  constructor(
    readonly tail: StreamTail,
    readonly provider: string | null,
  ) {
    this.#events = new WholeEvents(provider === null ? 'pass' : 'throw');
  }

  push(chunk: Buffer): Buffer | null {
    this.tail.push(chunk);
    return this.#events.push(chunk);
  }

  get usageSoFar(): Usage | null {
    return this.tail.end().usage;
  }

  /** Half an event is of no use. */
  rest(): null {
    return null;
  }

  get hasReportedError(): boolean {
    this.#reported ??= this.tail.end().error !== null && this.#events.rest() === null;
    return this.#reported;
  }

  end(): Buffer | null {
    const seen = this.tail.end();
    this.model = seen.model;
    const rest = this.#events.rest();
    this.#reported = seen.error !== null && rest === null;
    if (this.provider === null) {
      this.usage = seen.usage;
      return rest;
    }
    if (seen.error !== null)
      throw new GatewayError('upstream_stream_error', errorMessage(seen.error, this.provider));
    const isWhole = rest === null || areWhole(rest);
    if (!seen.done || (!isWhole && !seen.marked)) throw truncated(this.provider);
    this.usage = seen.usage;
    const end = seen.marked ? '' : endOf(this.tail.format);
    const last = rest === null || !isWhole ? '' : closed(rest.toString());
    return last + end === '' ? null : Buffer.from(last + end);
  }
}

/** Adds the closing blank line that the last event lacks. */
const closed = (events: string): string => (/[^\r\n]/.test(events) ? `${events.trimEnd()}\n\n` : events);

const errorMessage = (event: JsonObject, provider: string): string =>
  readProviderError(200, event, { provider, strict: true, includeUsage: false }).message;

/** Another format: each event is parsed and converted. */
class Converted implements StreamReading {
  readonly #events: EventReader;
  readonly hasReportedError = false;
  #out = '';
  #hasEnded = false;
  /** Are these the last bytes, an event without the blank line that closes it? */
  #isAtEnd = false;

  constructor(
    framing: Framing,
    readonly reader: StreamReader,
    readonly writer: StreamWriter,
    readonly provider: string,
  ) {
    this.#events = framing.reader((name, data) => this.#event(name, data));
  }

  get contentType(): string {
    return this.writer.contentType;
  }

  get usage(): Usage | null {
    const { done, usage } = this.reader;
    return done && usage.source !== 'none' ? usage : null;
  }

  get usageSoFar(): Usage | null {
    const { usage } = this.reader;
    return usage.source === 'none' ? null : usage;
  }

  get model(): string | null {
    return this.reader.model;
  }

  #event(name: string, data: string): void {
    if (this.#isAtEnd && !isWholeData(data)) throw truncated(this.provider);
    for (const chunk of this.reader.event(name, data)) this.#out += this.writer.chunk(chunk);
  }

  push(chunk: Buffer): Buffer | null {
    this.#events.push(chunk);
    return this.rest();
  }

  end(): Buffer | null {
    if (this.#hasEnded) return null;
    this.#readEnd();
    this.#out += this.writer.end();
    return this.rest();
  }

  endInSlices(): Iterable<Buffer> | null {
    const slices = this.writer.endInSlices?.() ?? null;
    return slices === null ? null : this.#endSlices(slices);
  }

  *#endSlices(slices: Iterable<Buffer>): Generator<Buffer> {
    this.#readEnd();
    const first = this.rest();
    if (first !== null) yield first;
    yield* slices;
    this.#hasEnded = true;
  }

  #readEnd(): void {
    this.#isAtEnd = true;
    this.#events.end();
    if (!this.reader.done) throw truncated(this.provider);
    for (const chunk of this.reader.end?.() ?? []) this.#out += this.writer.chunk(chunk);
  }

  rest(): Buffer | null {
    if (this.#out === '') return null;
    const bytes = Buffer.from(this.#out);
    this.#out = '';
    return bytes;
  }
}

/** Or else the stream broke off inside it. */
function isWholeData(data: string): boolean {
  if (data.trimEnd() === '[DONE]') return true;
  try {
    parseEventJson(data);
    return true;
  } catch {
    return false;
  }
}

function truncated(provider: string): GatewayError {
  return new GatewayError(
    'upstream_truncated',
    `${provider} ended its stream before its end: what came is not the whole answer.`,
  );
}
