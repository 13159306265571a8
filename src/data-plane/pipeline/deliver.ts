import { isSource, type Sink } from '../../common/bytes/body.js';
import type { GatewayError } from '../../common/core/errors.js';
import type { Exchange, Reply } from '../../common/core/exchange.js';
import type { Target } from '../../common/core/target.js';
import { getHeader, type HeaderList } from '../../common/http/headers.js';
import { traceIn } from '../../common/http/trace.js';
import { stringifyJson } from '../../common/json/json.js';
import { errorsAt } from '../providers/client-formats/index.js';
import { deadReply } from '../transport/reply.js';
import type { Call, ReplySink } from '../transport/transport.js';
import { EventStage } from './answer/event-stage.js';
import { explanation } from './answer/explanation.js';
import { chainOf } from './chain.js';
import type { Pipeline } from './parts.js';
import { countedHere } from './plugins/exchange-slots.js';

/** Headers of an answer that the transport writes itself. */
const framing = new Set(['content-length', 'transfer-encoding', 'connection']);

/** How a reply reaches its client. */
export type Client = Pick<Call, 'answer' | 'begin'>;

/** For an exchange that continues after its client's answer has ended. */
export const noClient: Client = { answer() {}, begin: () => deadReply };

/**
 * Writes a reply to the client. `done` is called once, with the error that broke the body or null, and with the status
 * that was sent if it is not the reply's. Returns the writer of a streamed body; null: everything was written.
 */
export function deliver(
  pipeline: Pipeline,
  x: Exchange,
  call: Client,
  reply: Reply,
  done: (error: GatewayError | null, status?: number) => void,
): Writer | null {
  const headers = replyHeaders(pipeline, x, reply);
  const hooks = reply.events ? chainOf(pipeline, x).event : null;
  const body = hooks === null ? reply.body : flowing(reply.body);
  if (!isSource(body)) {
    call.answer(reply.status, headers, body);
    done(null);
    return null;
  }
  if (x.request.method === 'HEAD' || reply.status === 204 || reply.status === 304) {
    body.cancel();
    call.answer(reply.status, headers, null);
    done(null);
    return null;
  }
  const begin = (): ReplySink => call.begin(reply.status, headers, () => body.resume());
  const refuse = (error: GatewayError): number => {
    const refusal = errorReply(x, error);
    call.answer(refusal.status, replyHeaders(pipeline, x, refusal), refusal.body as string);
    return refusal.status;
  };
  const writer = new Writer(x, reply.events, begin, refuse, done);
  body.start(hooks === null ? writer : new EventStage(x, hooks, writer, body));
  return writer;
}

/** Makes a source of a whole stream, for the `event` hooks. */
function flowing(body: Reply['body']): Reply['body'] {
  if (body === null || isSource(body)) return body;
  let over = false;
  return {
    start(sink) {
      sink.data(typeof body === 'string' ? Buffer.from(body) : body);
      if (!over) sink.end();
    },
    resume() {},
    cancel() {
      over = true;
    },
  };
}

/** Writes a body to the client's connection and reports how it ended. */
export class Writer implements Sink {
  /** What was sent in place of the reply's status; undefined: nothing. */
  status: number | undefined;
  /** null: nothing was sent. */
  #sink: ReplySink | null = null;

  constructor(
    readonly x: Exchange,
    readonly events: boolean,
    /** The head is sent with the first byte, or with the end. */
    readonly begin: () => ReplySink,
    /** Answers with an error in place of the reply; returns its status. */
    readonly refuse: (error: GatewayError) => number,
    readonly done: (error: GatewayError | null, status?: number) => void,
  ) {}

  data(chunk: Buffer): boolean {
    this.#sink ??= this.begin();
    return this.#sink.data(chunk);
  }

  end(): void {
    this.#sink ??= this.begin();
    this.#sink.end();
    this.done(null);
  }

  error(error: GatewayError): void {
    this.break(error);
    this.done(error, this.status);
  }

  /**
   * Ends the client's answer before its source has ended: later bytes are read and dropped. Before its first
   * byte the client is sent the error instead, unless it is a stream of events, which has an event for that.
   */
  break(error: GatewayError): void {
    const begun = this.#sink;
    this.#sink = deadReply;
    if (begun === null && !this.events) {
      this.status = this.refuse(error);
      return;
    }
    const sink = begun ?? this.begin();
    if (error.isReported) return sink.end();
    if (this.events) {
      // The one ending at which every client throws: an error event, and no [DONE].
      const origin = { requestId: this.x.id, provider: null };
      sink.data(errorsAt(this.x.request.path, this.x.request.headers).errorEvent(error, origin));
      sink.end();
    } else {
      sink.error(error);
    }
  }
}

/** A gateway error as a whole answer in the client's format. */
export function errorReply(x: Exchange, error: GatewayError): Reply {
  const headers = ['content-type', 'application/json'];
  if (error.retryAfterMs !== null) headers.push('retry-after', String(Math.ceil(error.retryAfterMs / 1000)));
  if (error.headers !== null) headers.push(...error.headers);
  return {
    status: error.status,
    headers,
    body: errorsAt(x.request.path, x.request.headers).writeError(error, { requestId: x.id, provider: null }),
    events: false,
    errorOrigin: 'gateway',
  };
}

/** Names of the gateway's answer headers, with the first of the prefixes. */
interface OwnNames {
  readonly prefix: string;
  readonly requestId: string;
  readonly traceId: string;
  readonly cacheStatus: string;
  readonly retryCount: string;
  readonly provider: string;
  readonly optionIndex: string;
  readonly optionParams: string;
  readonly errorOrigin: string;
  readonly droppedFields: string;
  readonly explanation: string;
  readonly tokenCount: string;
}

const namesUnder = new Map<string, OwnNames>();

function ownNames(prefix: string): OwnNames {
  let names = namesUnder.get(prefix);
  if (names === undefined) {
    names = {
      prefix,
      requestId: `${prefix}request-id`,
      traceId: `${prefix}trace-id`,
      cacheStatus: `${prefix}cache-status`,
      retryCount: `${prefix}retry-attempt-count`,
      provider: `${prefix}provider`,
      optionIndex: `${prefix}last-used-option-index`,
      optionParams: `${prefix}last-used-option-params`,
      errorOrigin: `${prefix}error-origin`,
      droppedFields: `${prefix}dropped-fields`,
      explanation: `${prefix}explanation`,
      tokenCount: `${prefix}token-count`,
    };
    namesUnder.set(prefix, names);
  }
  return names;
}

function replyHeaders(pipeline: Pipeline, x: Exchange, reply: Reply): HeaderList {
  const names = ownNames(pipeline.headerPrefixes[0]!);
  const unified = x.endpoint.format !== 'none';
  const out: HeaderList = [];
  let hasRequestId = false;
  for (let i = 0; i < reply.headers.length; i += 2) {
    const name = reply.headers[i]!;
    if (name.startsWith(names.prefix)) continue;
    // An answer to HEAD has only the length of its body.
    if (framing.has(name) && (name !== 'content-length' || x.request.method !== 'HEAD')) continue;
    if (name === 'set-cookie' && !wantsCookies(x)) continue;
    if (unified && (name === 'content-encoding' || name === 'x-request-id')) continue;
    if (unified && reply.events && name === 'cache-control') continue;
    if (name === 'x-request-id') hasRequestId = true;
    out.push(name, reply.headers[i + 1]!);
  }
  x.sentHeaders = out;
  x.passedHeaders = out.length;
  out.push(names.requestId, x.id);
  if (!hasRequestId) out.push('x-request-id', x.id);
  const { requestIdHeader } = errorsAt(x.request.path, x.request.headers);
  if (requestIdHeader !== undefined && getHeader(out, requestIdHeader) === undefined) {
    out.push(requestIdHeader, x.id);
  }
  // Refused before its config was read.
  x.trace ??= traceIn(x.request.headers, pipeline.headerPrefixes, x.id);
  out.push(names.traceId, x.trace.traceId);
  if (reply.events && (unified || getHeader(out, 'cache-control') === undefined))
    out.push('cache-control', 'no-cache');
  if (x.attempts.length > 0 || x.saved !== null) {
    out.push(names.cacheStatus, x.cache, names.retryCount, String(x.retries));
    // Of a call that got no answer, that of its last attempt.
    const provider = x.provider ?? (x.attempts.at(-1)?.provider || null);
    if (provider !== null) out.push(names.provider, provider);
    if (x.target !== null) {
      out.push(names.optionIndex, x.target.path);
      const params = paramsText(x.target);
      if (params !== null) out.push(names.optionParams, params);
    }
  }
  if (reply.errorOrigin !== null) out.push(names.errorOrigin, reply.errorOrigin);
  if (x.explain) {
    const dropped = x.allDropped;
    if (dropped.length > 0) out.push(names.droppedFields, listText(dropped));
    out.push(names.explanation, explanation(x, headerJson));
  }
  if (x.endpoint.counts === true && x.get(countedHere)) out.push(names.tokenCount, 'estimated');
  if (x.replyHeaders !== null) out.push(...x.replyHeaders);
  return out;
}

/**
 * A provider's cookies are sent only to clients whose own cookies it gets: on a passed-through path, with a config or
 * header that has `cookie` in the list of forwarded headers.
 */
const wantsCookies = ({ endpoint, target }: Exchange): boolean =>
  endpoint.format === 'none' && target?.forwardHeaders.includes('cookie') === true;

/** Paths as a list in a header. Some names are from clients, so characters that could end an item are escaped. */
function listText(paths: readonly string[]): string {
  const items: string[] = [];
  let length = 0;
  for (const path of paths) {
    const item = path.replace(/[^\x21-\x2b\x2d-\x7e]/g, escaped);
    length += item.length + 2;
    if (length > maxParamsBytes) return `${items.join(', ')}, ...`;
    items.push(item);
  }
  return items.join(', ');
}

/** Longer parameters are not put in a header: clients and proxies refuse long header blocks. */
const maxParamsBytes = 8 * 1024;

/** A target's override_params as header text, by object: targets share the objects that they inherit. */
const paramsTexts = new WeakMap<object, string | null>();

function paramsText(target: Target): string | null {
  const { overrideParams } = target;
  if (overrideParams === null) return null;
  let text = paramsTexts.get(overrideParams);
  if (text === undefined) {
    text = headerJson(overrideParams);
    if (text.length > maxParamsBytes) text = null;
    paramsTexts.set(overrideParams, text);
  }
  return text;
}

/** JSON for a header: characters outside printable ASCII are escaped. */
function headerJson(value: unknown): string {
  return stringifyJson(value).replace(/[^\x20-\x7e]/g, escaped);
}

const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
