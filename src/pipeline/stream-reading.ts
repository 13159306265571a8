import { GatewayError } from '../core/errors.js';
import { stringifyJson } from '../core/json.js';
import type { Usage } from '../core/usage.js';
import type { CanonicalChunk, ConversionContext, StreamReader } from '../providers/provider.js';
import { SseReader } from '../providers/sse.js';
import { StreamTail, type TailFormat } from '../providers/stream-tail.js';
import type { Outgoing } from './outgoing.js';

/** Reads an answer that flows: what the client gets of each chunk, and at the end what it cost. */
export interface StreamReading {
  /** The client's bytes for these; null: none yet. */
  push(chunk: Buffer): Buffer | null;
  /** What is still to be written. Throws `upstream_truncated` when the format's own end never came. */
  end(): Buffer | null;
  readonly usage: Usage | null;
  readonly model: string | null;
}

/** `context` null: a passthrough, whose bytes are the client's business; only its usage is noticed. */
export function streamReading(
  outgoing: Outgoing,
  context: ConversionContext | null,
  path = '',
  events = true,
): StreamReading | null {
  if (context === null) {
    if (!events) return null;
    return new Untouched(
      new StreamTail(path.endsWith('/messages') ? 'anthropic-messages' : 'openai-chat'),
      null,
    );
  }
  if (outgoing.conversion !== null)
    return new Converted(outgoing.conversion.stream(context), outgoing.call.provider);
  return new Untouched(new StreamTail(outgoing.wire as TailFormat), outgoing.call.provider);
}

/** Same format on both sides: bytes pass through, and only the tail is looked at, once, at the end. */
class Untouched implements StreamReading {
  usage: Usage | null = null;
  model: string | null = null;

  /** `provider` null: a stream without its end marker is not an error of ours to report. */
  constructor(
    readonly tail: StreamTail,
    readonly provider: string | null,
  ) {}

  push(chunk: Buffer): Buffer {
    this.tail.push(chunk);
    return chunk;
  }

  end(): null {
    const seen = this.tail.end();
    this.usage = seen.usage;
    this.model = seen.model;
    if (!seen.done && this.provider !== null) throw truncated(this.provider);
    return null;
  }
}

/** Another format: each event is read, and written again as the client's. */
class Converted implements StreamReading {
  readonly #sse: SseReader;
  #out = '';

  constructor(
    readonly reader: StreamReader,
    readonly provider: string,
  ) {
    this.#sse = new SseReader((name, data) => this.#event(name, data));
  }

  get usage(): Usage | null {
    return this.reader.usage.source === 'none' ? null : this.reader.usage;
  }

  get model(): string | null {
    return this.reader.model;
  }

  #event(name: string, data: string): void {
    this.#write(this.reader.event(name, data));
  }

  #write(chunks: readonly CanonicalChunk[]): void {
    for (const chunk of chunks) this.#out += `data: ${stringifyJson(chunk)}\n\n`;
  }

  push(chunk: Buffer): Buffer | null {
    this.#sse.push(chunk);
    return this.#take();
  }

  end(): Buffer {
    this.#sse.end();
    if (!this.reader.done) throw truncated(this.provider);
    this.#out += 'data: [DONE]\n\n';
    return this.#take() as Buffer;
  }

  #take(): Buffer | null {
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
