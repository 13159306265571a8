import { BodyRecord } from '../../../common/bytes/body-record.js';
import { Pieces } from '../../../common/bytes/pieces.js';
import { GatewayError } from '../../../common/core/errors.js';
import type { Attempt, Exchange, Reply } from '../../../common/core/exchange.js';
import { getHeader, type HeaderList, setHeader } from '../../../common/http/headers.js';
import { tidyRetryAfter } from '../../../common/http/retry-after.js';
import type { IntentWaiter } from '../../../common/ledger/record.js';
import { errorInAnswer } from '../../providers/formats/reported-error.js';
import { serverSentEvents } from '../../providers/streams/framing.js';
import type { UpstreamFlight, UpstreamHandler } from '../../upstream/upstream.js';
import { chainOf } from '../chain.js';
import type { Outgoing } from '../outgoing/outgoing.js';
import type { Pipeline } from '../parts.js';
import { noteOwed } from '../request/owed.js';
import { callSecrets, withoutSecrets } from '../secrets/call-secrets.js';
import { emptyMask, type SecretMask } from '../secrets/secret-mask.js';
import { compressionOf, redirected, tooLarge, unsearchable } from './answer-body.js';
import { CollectedAnswer, usageOf } from './collected-answer.js';
import { FlowingAnswer, type Inflow } from './flowing-answer.js';
import { streamReading, untouchedReading } from './stream-reading.js';
import { type Begun, StreamStart } from './stream-start.js';
import { answerTexts } from './texts/answer-texts.js';
import { passAnswer } from './texts/whole-texts.js';
import { timeLimit } from './time-limit.js';

const longestSecretBytes = 64 * 1024;

type Mode =
  | 'head' // nothing has arrived yet
  | 'collect' // a JSON answer, read whole
  | 'first-event' // a stream whose first event is awaited: nothing was sent to the client yet
  | 'flow' // bytes are sent to the client as they arrive: see FlowingAnswer
  | 'done';

/**
 * One upstream answer, from its head to its end, as the handler of the provider's connection. Resolves its attempt with
 * a Reply once the gateway commits to the answer; rejects if it fails before.
 */
export class Answer implements IntentWaiter, UpstreamHandler, Inflow {
  #mode: Mode = 'head';
  #flight: UpstreamFlight | null = null;
  #headers: HeaderList = [];
  #status = 0;
  /** The collected body. */
  readonly #pieces = new Pieces();
  /** A stream up to its first event. */
  #start: StreamStart | null = null;
  /** The start of a stream whose first event reports an error. */
  #reportedIn: Buffer | null = null;
  #flow: FlowingAnswer | null = null;
  /** Masks the call's secrets in the body. */
  #mask: SecretMask = emptyMask;
  #timer: NodeJS.Timeout | null = null;
  /** Was the call sent as it was prepared? Then it has no secrets beyond those that are stored. */
  #isPrepared = false;
  readonly #offAbort: () => void;
  /** Is `attempt.received` what the provider sent? */
  isOriginal = false;
  /** Otherwise the provider's body, which may contain secrets; null: it is not kept. */
  #original: BodyRecord | Buffer | null = null;

  constructor(
    readonly pipeline: Pipeline,
    readonly x: Exchange,
    readonly outgoing: Outgoing,
    readonly attempt: Attempt,
    readonly resolve: (reply: Reply) => void,
    readonly reject: (error: GatewayError) => void,
  ) {
    this.#offAbort = x.onAbort((reason) => this.#fail(reason));
    const { target } = outgoing.call;
    if (target.requestTimeoutMs !== null || target.deadlineMs !== null)
      this.#timer = timeLimit(x, target, (error) => this.#fail(error));
  }

  get mask(): SecretMask {
    return this.#mask;
  }

  /** The headers of the provider's answer, masked. */
  get headers(): HeaderList {
    return this.#headers;
  }

  /** The provider's body, masked, if `attempt.received` differs from it; null: it is not kept. */
  get original(): Buffer | null {
    const original = this.#original;
    if (original === null) return null;
    const bytes = Buffer.isBuffer(original) ? original : original.bytes();
    // A secret that crosses the cap is still found whole.
    return this.#mask.bytes(bytes.subarray(0, this.pipeline.limits.maxRecordBytes + longestSecretBytes));
  }

  /** The intent is on file: now the call may be sent. */
  intended(): void {
    if (this.#mode === 'done') return;
    if (this.pipeline.logBodies) this.attempt.answer = this;
    const { call, address, wire, prepared, trace } = this.outgoing;
    const { principal } = this.x;
    try {
      this.#isPrepared = prepared?.isUnchanged(call, trace) === true;
      const flight = this.pipeline.upstream.send(
        {
          method: call.method,
          url: call.url,
          headers: call.headers,
          prepared: this.#isPrepared ? prepared!.request : null,
          body: call.body,
          callerChosen: address.callerChosen,
          tenant: principal.workspaceId ?? principal.organisationId,
          account: address.account,
          timeouts: this.pipeline.timeouts,
          maxBodyBytes: wire !== 'none' && !this.x.streaming ? this.pipeline.limits.maxAnswerBytes : 0,
        },
        this,
      );
      // It may have failed before `send` returned: then nothing is left to hold.
      if ((this.#mode as Mode) === 'done') flight.cancel();
      else this.#flight = flight;
    } catch (thrown) {
      this.#fail(GatewayError.from(thrown));
    }
  }

  #isDone(): boolean {
    return this.#mode === 'done';
  }

  // Called by the connection.

  head(status: number, headers: HeaderList): void {
    if (this.#mode !== 'head') return;
    this.#headers = headers;
    this.#takeStatus(status, headers);
    if (this.outgoing.wire === 'none') return this.#passThrough(status, headers);
    if (status >= 300 && status < 400) return this.#fail(redirected(this.outgoing, status));
    const { conversion } = this.outgoing;
    conversion?.headed(headers);
    const framing = conversion?.framing ?? serverSentEvents;
    const type = getHeader(headers, 'content-type') ?? '';
    if (status < 300 && this.x.streaming && type.startsWith(framing.contentType)) {
      this.#start = new StreamStart(framing, this.outgoing, (begun) => this.#begun(begun));
      this.#mode = 'first-event';
    } else {
      this.#mode = 'collect';
    }
  }

  #reportRefusal(): void {
    const { slug } = this.outgoing.address;
    const { workspaceId } = this.x.principal;
    if (slug !== null && workspaceId !== null) this.pipeline.credentialRefused?.(workspaceId, slug);
  }

  /** The status of this answer is known, by its head or by an event that reports an error. */
  #takeStatus(status: number, headers: HeaderList): void {
    this.attempt.status = status;
    this.#status = status;
    if (status === 401) this.#reportRefusal();
    const mayWait = status === 429 || status === 503;
    if (mayWait && this.outgoing.wire !== 'none') tidyRetryAfter(headers, Date.now());
    this.#maskSecrets(status, headers);
  }

  /** A repeated credential reaches neither the client nor the log nor the cache. */
  #maskSecrets(status: number, headers: HeaderList): void {
    const isChanged = chainOf(this.pipeline, this.x).attempt !== null && !this.#isPrepared;
    const secrets = callSecrets(this.outgoing, this.x, isChanged);
    if (secrets.errors.isEmpty) return;
    this.#mask = status < 400 ? secrets.all : secrets.errors;
    for (let i = 1; i < headers.length; i += 2) headers[i] = secrets.all.text(headers[i]!);
  }

  #passThrough(status: number, headers: HeaderList): void {
    const coding = compressionOf(headers);
    const hasBody = this.outgoing.call.method !== 'HEAD' && status !== 204 && status !== 304;
    if (coding === null || this.#mask.isEmpty || !hasBody) this.#flowFrom(status);
    else this.#fail(unsearchable(this.outgoing, coding));
  }

  data(chunk: Buffer): boolean {
    if (this.#mode === 'done') return true;
    // Of the start of a stream nothing is passed on yet.
    if (this.#mode !== 'first-event') this.attempt.firstByteMs ??= this.x.elapsedMs();
    switch (this.#mode) {
      case 'collect':
        // The client requested a stream, so the upstream client applied no limit.
        if (this.#pieces.length + chunk.length > this.pipeline.limits.maxAnswerBytes)
          this.#fail(tooLarge(this.outgoing, this.pipeline.limits.maxAnswerBytes));
        else this.#pieces.add(chunk);
        return true;
      case 'first-event':
        return this.#firstEvent(chunk);
      case 'flow':
        return this.#flow!.data(chunk);
      default:
        return true;
    }
  }

  end(): void {
    switch (this.#mode) {
      case 'collect':
        return this.#collected();
      case 'first-event':
        this.#firstEvent(null);
        return this.#flow?.end();
      case 'flow':
        return this.#flow!.end();
      default:
        return;
    }
  }

  error(error: GatewayError): void {
    if (this.#mode === 'flow') this.#flow!.error(error);
    else this.#fail(error);
  }

  // Called by the FlowingAnswer.

  resume(): void {
    this.#flight?.resume();
  }

  cancel(): void {
    this.#flight?.cancel();
  }

  over(): void {
    this.#finish();
  }

  #collected(): void {
    // As of a stream that begins with an error.
    const error = this.#status < 300 ? errorInAnswer(this.#pieces) : null;
    if (error !== null) return void this.#begun({ bytes: Buffer.concat(this.#pieces.take()), error });
    const { pipeline, x, outgoing, attempt } = this;
    const isWanted = (): boolean => !this.#isDone();
    const head = { status: this.#status, headers: this.#headers };
    const answer = new CollectedAnswer(pipeline, x, outgoing, attempt, head, this.#mask, isWanted);
    const broken = (thrown: unknown): void => {
      if (chainOf(pipeline, x).text === null) this.#original = answer.plain;
      this.#fail(GatewayError.from(thrown));
    };
    try {
      const began = performance.now();
      const body = answer.read(this.#pieces);
      const { text } = chainOf(pipeline, x);
      if (Buffer.isBuffer(body)) {
        attempt.readUs = microsSince(began);
        if (text === null || this.#status >= 300) return this.#give(body, answer);
      }
      Promise.resolve(body)
        .then((written) => {
          if (attempt.readUs === 0) attempt.readUs = microsSince(began);
          return this.#passed(written);
        })
        .then((written) => this.#give(written, answer))
        .catch(broken);
    } catch (thrown) {
      broken(thrown);
    }
  }

  /** A whole answer with what `text` hooks make of it. */
  #passed(written: Buffer): Buffer | Promise<Buffer> {
    const { text } = chainOf(this.pipeline, this.x);
    if (text === null || this.#status >= 300 || this.#isDone()) return written;
    return passAnswer(this.x, text, this.#mask.bytes(written), this.pipeline.bodies);
  }

  #give(written: Buffer, { plain }: CollectedAnswer): void {
    if (this.#isDone()) return;
    this.isOriginal = written === plain && this.#reportedIn === null;
    // If `text` hooks have changed the body, the original is not kept.
    if (!this.isOriginal && (this.#status >= 300 || chainOf(this.pipeline, this.x).text === null))
      this.#original = this.#reportedIn ?? plain;
    this.#finish();
    const body = this.#mask.bytes(written);
    this.attempt.received = body;
    this.#commit({
      status: this.#status,
      headers: this.#headers,
      body,
      events: false,
      errorOrigin: this.#status < 300 ? null : 'provider',
    });
  }

  /** `chunk` null: it has ended. */
  #firstEvent(chunk: Buffer | null): boolean {
    let begun: Begun | null = null;
    try {
      begun = chunk === null ? this.#start!.end() : this.#start!.push(chunk);
    } catch (thrown) {
      this.#fail(GatewayError.from(thrown));
    }
    return begun === null || this.#begun(begun);
  }

  /** An error in place of an answer, or of its first event, makes an error answer of it: another target may still be called. */
  #begun({ bytes, error }: Begun): boolean {
    this.attempt.firstByteMs ??= this.x.elapsedMs();
    if (error === null) return this.#flowFrom(this.#status).data(bytes);
    this.#flight?.cancel();
    this.#reportedIn = bytes;
    this.#takeStatus(error.status, this.#headers);
    if (error.answer !== null) this.attempt.usage = usageOf(error.answer, this.outgoing, this.pipeline);
    setHeader(this.#headers, 'content-type', 'application/json');
    this.#pieces.add(Buffer.from(error.body));
    this.#mode = 'collect';
    this.#collected();
    return true;
  }

  #flowFrom(status: number): FlowingAnswer {
    this.#mode = 'flow';
    this.#waited();
    const type = getHeader(this.#headers, 'content-type') ?? '';
    const events = type.startsWith('text/event-stream');
    const { outgoing } = this;
    const reading =
      outgoing.wire === 'none' ? untouchedReading(this.x.request.path, events) : streamReading(outgoing);
    const written = reading?.contentType ?? null;
    if (written !== null) setHeader(this.#headers, 'content-type', written);
    const { maxRecordBytes } = this.pipeline.limits;
    const converted = outgoing.conversion !== null;
    const texts = answerTexts(this.pipeline, this.x, outgoing, this.attempt);
    // The log has the bytes that are sent.
    const kept = texts === null ? maxRecordBytes : 0;
    this.isOriginal = texts === null && !converted;
    const original =
      texts === null && converted && this.pipeline.logBodies ? new BodyRecord(maxRecordBytes) : null;
    this.#original = original;
    const flow = new FlowingAnswer(this, this.attempt, reading, converted, this.#mask, kept, original);
    this.#flow = flow;
    const sent = written === null ? events : written.startsWith('text/event-stream');
    this.#commit({
      status,
      headers: this.#headers,
      body: texts === null ? flow : texts(flow, sent),
      events: sent,
      errorOrigin: status >= 400 ? 'provider' : null,
    });
    return flow;
  }

  /** The answer has come, or its stream has begun, or neither will. */
  #waited(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#start?.stop();
    this.#start = null;
    this.attempt.durationMs = Math.round((this.x.elapsedMs() - this.attempt.startedAt) * 1000) / 1000;
  }

  #finish(): void {
    if (this.#mode === 'done') return;
    const committed = this.#mode === 'flow';
    this.#mode = 'done';
    if (!committed) this.#waited();
    this.#offAbort();
    this.attempt.endedAt = this.x.elapsedMs();
  }

  /** Before anything was committed: the attempt fails. After: the stream breaks. */
  #fail(error: GatewayError): void {
    if (this.#mode === 'done') return;
    if (this.#mode === 'flow') {
      this.#flight?.cancel();
      return this.#flow!.error(error);
    }
    this.#finish();
    this.attempt.error = error.code;
    if (this.#flight?.sent === true) noteOwed(this.x, this.attempt, error.code, this.outgoing.call.target);
    this.#flight?.cancel();
    this.reject(withoutSecrets(error, this.#mask));
  }

  /** The client gets this answer, unless the router still chooses another target. */
  #commit(reply: Reply): void {
    this.x.provider = this.outgoing.address.provider.name;
    this.x.dropped = this.outgoing.dropped;
    this.x.answeredBy = this.attempt;
    this.resolve(reply);
  }
}

const microsSince = (began: number): number => Math.round((performance.now() - began) * 1000);
