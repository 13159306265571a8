import type { Sink, Source } from '../core/body.js';
import { BodyRecord } from '../core/body-record.js';
import { GatewayError } from '../core/errors.js';
import type { Attempt, Exchange, JsonObject, Reply } from '../core/exchange.js';
import { getHeader, type HeaderList, setHeader } from '../core/headers.js';
import { parseJson } from '../core/json.js';
import { jsonBytes } from '../core/json-bytes.js';
import { inTurns, writeJsonInSlices } from '../core/json-slices.js';
import { tidyRetryAfter } from '../core/retry-after.js';
import type { IntentWaiter } from '../ledger/record.js';
import { serverSentEvents } from '../providers/framing.js';
import type { UpstreamFlight, UpstreamHandler } from '../upstream/upstream.js';
import { decoderOf, parseObject } from './answer-body.js';
import type { Outgoing } from './outgoing.js';
import type { Pipeline } from './parts.js';
import { type StreamReading, streamReading, untouchedReading } from './stream-reading.js';
import { withoutSecrets } from './told-secrets.js';

/** Parsing an answer up to this size does not hold the event loop up; a larger one is only checked at its ends. */
const parseAtMost = 512 * 1024;
/** One that is converted is written again too: 12 ms for so many bytes of vectors, 3 ms for text. */
const convertAtMost = 256 * 1024;
/** Bytes of a stream that are converted in one turn of the event loop: the socket may have read many more at once. */
const streamedPerTurn = 64 * 1024;

const nothing = Buffer.alloc(0);

type Mode =
  | 'head' // nothing came yet
  | 'collect' // a JSON answer, read whole
  | 'first-event' // a stream whose first event is awaited: the client still knows nothing
  | 'flow' // bytes go to the client as they come
  | 'done';

/**
 * One upstream answer, from its head to its end: what the provider's connection calls, and the source of the
 * client's body. Resolves its attempt with a Reply once the answer is certain enough to commit to, rejects before.
 */
export class Answer implements IntentWaiter, UpstreamHandler, Source {
  #mode: Mode = 'head';
  #collectedBytes = 0;
  #convertedBytes = 0;
  #flight: UpstreamFlight | null = null;
  #headers: HeaderList = [];
  #status = 0;
  readonly #chunks: Buffer[] = [];
  #sink: Sink | null = null;
  #ended = false;
  #failure: GatewayError | null = null;
  #reading: StreamReading | null = null;
  #record: BodyRecord | null = null;
  #timer: NodeJS.Timeout | null = null;
  readonly #offAbort: () => void;

  constructor(
    readonly pipeline: Pipeline,
    readonly x: Exchange,
    readonly outgoing: Outgoing,
    readonly attempt: Attempt,
    readonly resolve: (reply: Reply) => void,
    readonly reject: (error: GatewayError) => void,
  ) {
    this.#offAbort = x.onAbort((reason) => this.#fail(reason));
    const { requestTimeoutMs, deadlineMs } = outgoing.call.target;
    if (deadlineMs !== null) {
      const leftMs = deadlineMs - x.elapsedMs();
      if (requestTimeoutMs === null || leftMs < requestTimeoutMs) {
        // A timer may fire a moment early: by then the deadline is to be over.
        this.#limit(Math.ceil(leftMs) + 1, `the deadline of ${deadlineMs} ms that all attempts share`);
        return;
      }
    }
    if (requestTimeoutMs !== null)
      this.#limit(requestTimeoutMs, `the request_timeout of ${requestTimeoutMs} ms`);
  }

  #limit(ms: number, name: string): void {
    this.#timer = setTimeout(
      () => this.#fail(new GatewayError('request_timeout', `No answer within ${name}.`)),
      ms,
    );
  }

  /** The intent is on file: now the call may leave. */
  intended(): void {
    if (this.#isDone()) return;
    try {
      this.#send();
    } catch (thrown) {
      this.#fail(GatewayError.from(thrown));
    }
  }

  #send(): void {
    const { call, address, wire } = this.outgoing;
    const flight = this.pipeline.upstream.send(
      {
        method: call.method,
        url: call.url,
        headers: call.headers,
        body: call.body,
        callerChosen: address.callerChosen,
        timeouts: this.pipeline.timeouts,
        maxBodyBytes: wire !== 'none' && !this.x.streaming ? this.pipeline.limits.maxAnswerBytes : 0,
      },
      this,
    );
    // It may have failed before `send` returned: then there is nothing to hold.
    if (this.#isDone()) flight.cancel();
    else this.#flight = flight;
  }

  #isDone(): boolean {
    return this.#mode === 'done';
  }

  // What the connection calls.

  head(status: number, headers: HeaderList): void {
    if (this.#mode !== 'head') return;
    this.attempt.status = status;
    this.#status = status;
    this.#headers = headers;
    if (this.outgoing.wire === 'none') return this.#flowFrom(status);
    if (status === 429 || status === 503) tidyRetryAfter(headers, Date.now());
    if (status >= 300 && status < 400) {
      return this.#fail(
        new GatewayError(
          'upstream_redirect',
          `${this.outgoing.call.provider} answered with a redirect (${status}), which is not followed.`,
        ),
      );
    }
    const { conversion } = this.outgoing;
    conversion?.headed(headers);
    const { contentType } = conversion?.framing ?? serverSentEvents;
    const type = getHeader(headers, 'content-type') ?? '';
    if (status < 300 && this.x.streaming && type.startsWith(contentType)) {
      this.#mode = 'first-event';
      this.#reading = streamReading(this.outgoing);
    } else {
      this.#mode = 'collect';
    }
  }

  data(chunk: Buffer): boolean {
    if (this.#mode === 'done') return true;
    this.attempt.firstByteMs ??= this.x.elapsedMs();
    switch (this.#mode) {
      case 'collect':
        this.#collectedBytes += chunk.length;
        // A stream was asked for, so upstream had no cap to hold this to.
        if (this.#collectedBytes > this.pipeline.limits.maxAnswerBytes) this.#fail(this.#tooLarge());
        else this.#chunks.push(chunk);
        return true;
      case 'first-event':
        return this.#firstEvent(chunk);
      case 'flow':
        return this.#flow(chunk);
      default:
        return true;
    }
  }

  end(): void {
    switch (this.#mode) {
      case 'collect':
        return this.#collected();
      case 'first-event':
        return this.#fail(
          new GatewayError(
            'upstream_invalid_response',
            `${this.outgoing.call.provider} ended its stream before the first event.`,
          ),
        );
      case 'flow':
        return this.#flowEnds();
      default:
        return;
    }
  }

  error(error: GatewayError): void {
    if (this.#mode === 'flow') this.#flowEnded(error);
    else this.#fail(error);
  }

  // What the client's side calls: the body as a source.

  start(sink: Sink): void {
    this.#sink = sink;
    const early = this.#chunks.splice(0);
    for (const chunk of early) sink.data(chunk);
    if (this.#ended) {
      if (this.#failure === null) sink.end();
      else sink.error(this.#failure);
    } else {
      this.#flight?.resume();
    }
  }

  resume(): void {
    this.#flight?.resume();
  }

  cancel(): void {
    this.#takeUsage();
    this.#finish();
    this.#flight?.cancel();
  }

  // A collected answer.

  #collected(): void {
    const bytes = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
    const coding = getHeader(this.#headers, 'content-encoding') ?? 'identity';
    if (coding === 'identity') return this.#understand(bytes);
    const decode = decoderOf(coding);
    if (decode === undefined) {
      return this.#fail(this.#invalid(`an answer in the coding ${JSON.stringify(coding.slice(0, 40))}`));
    }
    decode(bytes, this.pipeline.limits.maxAnswerBytes).then(
      (plain) => this.#understand(plain),
      (cause) => this.#fail(this.#invalid(`a ${coding} body that does not decode`, cause)),
    );
  }

  #understand(bytes: Buffer): void {
    if (this.#mode === 'done') return;
    const ok = this.#status < 300;
    if (ok && this.outgoing.conversion !== null && bytes.length > convertAtMost) {
      void this.#convertLarge(bytes);
      return;
    }
    try {
      this.#give(ok ? this.#readAnswer(bytes) : withoutSecrets(this.#readError(bytes), this.outgoing));
    } catch (thrown) {
      this.#fail(GatewayError.from(thrown));
    }
  }

  /** Read off this thread, and written a slice at a time. */
  async #convertLarge(bytes: Buffer): Promise<void> {
    try {
      const json = await this.pipeline.bodies.readAnswer(bytes);
      if (this.#isDone()) return;
      const body = await writeJsonInSlices(this.#told(json));
      if (!this.#isDone()) this.#give(body);
    } catch (thrown) {
      this.#fail(GatewayError.from(thrown));
    }
  }

  #give(body: Buffer): void {
    this.#finish();
    this.attempt.received = body;
    this.#commit({
      status: this.#status,
      headers: this.#headers,
      body,
      events: false,
      errorOrigin: this.#status < 300 ? null : 'provider',
    });
  }

  /** The bytes for the client: the provider's own, or their conversion. */
  #readAnswer(bytes: Buffer): Buffer {
    const { conversion } = this.outgoing;
    if (conversion === null && bytes.length > parseAtMost) {
      if (bytes[0] !== 0x7b && !/^\s*\{/.test(bytes.toString('latin1', 0, 64)))
        throw this.#invalid('something that is not JSON');
      return bytes;
    }
    // Digits matter only where what is read is written again.
    const json = parseObject(bytes, conversion === null ? JSON.parse : parseJson);
    const told = this.#told(json);
    return conversion === null ? bytes : jsonBytes(told);
  }

  /** Takes usage and model from an answer; gives what the client is told. */
  #told(json: JsonObject | null): JsonObject {
    const { conversion, wire } = this.outgoing;
    if (json === null) throw this.#invalid('something that is not a JSON object');
    const reader = conversion ?? this.pipeline.formats.get(wire) ?? this.pipeline.formats.get('openai-chat');
    const usage = reader?.usage(json);
    if (usage) this.attempt.usage = usage;
    const model = json['model'] ?? json['modelVersion'];
    if (typeof model === 'string') this.attempt.modelUsed = model;
    return conversion === null ? json : conversion.reply(json);
  }

  #readError(bytes: Buffer): Buffer {
    const { conversion } = this.outgoing;
    if (conversion === null) return bytes;
    // No error that says anything is that long.
    const json = bytes.length > parseAtMost ? null : parseObject(bytes, parseJson);
    return Buffer.from(conversion.error(this.#status, json));
  }

  // A streamed answer.

  /** Commits to a stream at its first valid bytes: until then another target may still answer. */
  #firstEvent(chunk: Buffer): boolean {
    this.#chunks.push(chunk);
    const seen = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
    const valid = (this.outgoing.conversion?.framing ?? serverSentEvents).looksValid(seen);
    if (valid === false) {
      this.#fail(this.#invalid('a body that is not a stream of events'));
      return true;
    }
    if (valid === null) return true;
    this.#chunks.length = 0;
    this.#flowFrom(this.#status);
    return this.#flow(seen);
  }

  #flowFrom(status: number): void {
    this.#mode = 'flow';
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.attempt.durationMs = Math.round((this.x.elapsedMs() - this.attempt.startedAt) * 1000) / 1000;
    const type = getHeader(this.#headers, 'content-type') ?? '';
    const events = type.startsWith('text/event-stream');
    if (this.outgoing.wire === 'none') {
      this.#reading = untouchedReading(this.x.request.path, events);
    }
    const written = this.#reading?.contentType ?? null;
    if (written !== null) setHeader(this.#headers, 'content-type', written);
    this.#record = new BodyRecord(this.pipeline.limits.maxRecordBytes);
    this.attempt.received = this.#record;
    this.#commit({
      status,
      headers: this.#headers,
      body: this,
      events: written === null ? events : written.startsWith('text/event-stream'),
      errorOrigin: status >= 400 ? 'provider' : null,
    });
  }

  #flow(chunk: Buffer): boolean {
    const goOn = this.#pass(chunk);
    if (this.outgoing.conversion === null) return goOn;
    this.#convertedBytes += chunk.length;
    if (this.#convertedBytes < streamedPerTurn) return goOn;
    this.#convertedBytes = 0;
    // A sink that is full resumes by itself.
    if (goOn) setImmediate(() => this.#flight?.resume());
    return false;
  }

  #pass(chunk: Buffer): boolean {
    let out: Buffer | null = chunk;
    if (this.#reading !== null) {
      try {
        out = this.#reading.push(chunk);
      } catch (thrown) {
        this.#flight?.cancel();
        this.#flowEnded(GatewayError.from(thrown));
        return true;
      }
    }
    return out === null || this.#write(out);
  }

  /** To whoever reads; false: not so fast. */
  #write(bytes: Buffer): boolean {
    this.#record?.add(bytes);
    if (this.#sink !== null) return this.#sink.data(bytes);
    this.#chunks.push(bytes);
    return false;
  }

  #flowEnds(): void {
    const slices = this.#reading?.endInSlices?.() ?? null;
    if (slices === null) return this.#flowEnded(null);
    inTurns(slices, (slice) => {
      if (!this.#isDone()) this.#write(slice);
    }).then(
      () => this.#flowEnded(null),
      (thrown) => this.#flowEnded(GatewayError.from(thrown)),
    );
  }

  #flowEnded(error: GatewayError | null): void {
    if (this.#mode === 'done') return;
    let failure = error;
    let last: Buffer | null = null;
    if (failure === null && this.#reading !== null) {
      try {
        last = this.#reading.end();
      } catch (thrown) {
        failure = GatewayError.from(thrown);
      }
    }
    // Text that came in one packet with what broke the stream is the client's all the same.
    if (failure !== null) last = this.#reading?.rest() ?? null;
    this.#takeUsage();
    this.#finish();
    if (failure !== null) this.attempt.error = failure.code;
    if (last !== null) this.#write(last);
    this.#ended = true;
    this.#failure = failure;
    if (this.#sink === null) return;
    if (failure === null) this.#sink.end();
    else this.#sink.error(failure);
  }

  #takeUsage(): void {
    if (this.#reading === null) return;
    const usage = this.#reading.usage;
    if (usage !== null) this.attempt.usage = usage;
    this.attempt.modelUsed ??= this.#reading.model;
    this.#reading = null;
  }

  // Endings.

  #finish(): void {
    if (this.#mode === 'done') return;
    const committed = this.#mode === 'flow';
    this.#mode = 'done';
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#offAbort();
    if (!committed)
      this.attempt.durationMs = Math.round((this.x.elapsedMs() - this.attempt.startedAt) * 1000) / 1000;
    this.attempt.endedAt = this.x.elapsedMs();
  }

  /** Before anything was committed: the attempt fails. After: the stream breaks. */
  #fail(error: GatewayError): void {
    if (this.#mode === 'done') return;
    if (this.#mode === 'flow') {
      this.#flight?.cancel();
      return this.#flowEnded(error);
    }
    this.#finish();
    this.attempt.error = error.code;
    // Given up, not failed: what was sent is paid for, and so is what came.
    if (error.code === 'hedge_lost' && this.#flight?.sent === true) this.attempt.received = nothing;
    this.#flight?.cancel();
    this.reject(error);
  }

  /** This is the answer that the client gets, unless the router asks somebody else after all. */
  #commit(reply: Reply): void {
    this.x.provider = this.outgoing.address.provider.name;
    this.x.dropped = this.outgoing.dropped;
    this.x.answeredBy = this.attempt;
    this.resolve(reply);
  }

  #invalid(what: string, cause?: unknown): GatewayError {
    return new GatewayError(
      'upstream_invalid_response',
      `${this.outgoing.call.provider} answered with ${what}.`,
      { cause },
    );
  }

  #tooLarge(): GatewayError {
    const { maxAnswerBytes } = this.pipeline.limits;
    return new GatewayError(
      'upstream_too_large',
      `${this.outgoing.call.provider} answered with more than ${maxAnswerBytes} bytes.`,
    );
  }
}
