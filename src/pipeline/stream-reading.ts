import { GatewayError } from '../core/errors.js';
import type { Usage } from '../core/usage.js';
import type { StreamWriter } from '../providers/doors/door.js';
import type { EventReader, Framing } from '../providers/framing.js';
import type { StreamReader } from '../providers/provider.js';
import { StreamTail, type TailFormat } from '../providers/stream-tail.js';
import type { Outgoing } from './outgoing.js';

/** Reads an answer that flows: what the client gets of each chunk, and at the end what it cost. */
export interface StreamReading {
  /** The client's bytes for these; null: none yet. */
  push(chunk: Buffer): Buffer | null;
  /** The client's bytes for what was read before `push` or `end` threw; null: none. */
  rest(): Buffer | null;
  /** What is still to be written. Throws `upstream_truncated` when the format's own end never came. */
  end(): Buffer | null;
  /** What `end` would give, where that is too long for one turn of the event loop; `end` then gives no more. */
  endInSlices?(): Iterable<Buffer> | null;
  /** null for a stream that broke: what it told on its way is not what it cost, so its text is counted. */
  readonly usage: Usage | null;
  readonly model: string | null;
  /** What the client's answer is called; null: as the provider's. */
  readonly contentType: string | null;
}

/** For a stream of an endpoint that the gateway understands. */
export function streamReading({ conversion, wire, call }: Outgoing): StreamReading {
  const stream = conversion?.stream() ?? null;
  if (conversion !== null && stream !== null)
    return new Converted(conversion.framing, stream.reader, stream.writer, call.provider);
  return new Untouched(new StreamTail(wire as TailFormat), call.provider);
}

/** For a passthrough, whose bytes are the client's business: only its usage is noticed. null: it has none. */
export function untouchedReading(path: string, events: boolean): StreamReading | null {
  if (!events) return null;
  return new Untouched(
    new StreamTail(path.endsWith('/messages') ? 'anthropic-messages' : 'openai-chat'),
    null,
  );
}

/** Same format on both sides: bytes pass through, and only the tail is looked at, once, at the end. */
class Untouched implements StreamReading {
  usage: Usage | null = null;
  model: string | null = null;
  readonly contentType = null;

  /** `provider` null: a stream without its end marker is not an error of ours to report. */
  constructor(
    readonly tail: StreamTail,
    readonly provider: string | null,
  ) {}

  push(chunk: Buffer): Buffer {
    this.tail.push(chunk);
    return chunk;
  }

  rest(): null {
    return null;
  }

  end(): null {
    const seen = this.tail.end();
    this.model = seen.model;
    if (!seen.done && this.provider !== null) throw truncated(this.provider);
    this.usage = seen.usage;
    return null;
  }
}

/** Another format: each event is read, and written again as the client's. */
class Converted implements StreamReading {
  readonly #events: EventReader;
  #out = '';
  #hasEnded = false;

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

  get model(): string | null {
    return this.reader.model;
  }

  #event(name: string, data: string): void {
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

function truncated(provider: string): GatewayError {
  return new GatewayError(
    'upstream_truncated',
    `${provider} ended its stream before its end: what came is not the whole answer.`,
  );
}
