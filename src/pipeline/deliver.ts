import { isSource, type Sink, type Source } from '../core/body.js';
import type { GatewayError } from '../core/errors.js';
import type { Exchange, Reply } from '../core/exchange.js';
import { getHeader, type HeaderList } from '../core/headers.js';
import { stringifyJson } from '../core/json.js';
import type { Target } from '../core/target.js';
import { errorsAt } from '../providers/doors/index.js';
import type { Call, ReplySink } from '../transport/transport.js';
import { EventStage } from './event-stage.js';
import { countedHere } from './exchange-slots.js';
import { explanation } from './explanation.js';
import type { Pipeline } from './parts.js';

/** Headers of a provider's answer that are not the client's: framing, and cookies of somebody else's site. */
const notPassedOn = new Set([
  'set-cookie',
  'set-cookie2',
  'content-length',
  'transfer-encoding',
  'connection',
  'alt-svc',
  'strict-transport-security',
]);

/** Writes a reply to the client; `done` is called once, with what broke the body or null. */
export function deliver(
  pipeline: Pipeline,
  x: Exchange,
  call: Call,
  reply: Reply,
  done: (error: GatewayError | null) => void,
): void {
  const headers = replyHeaders(pipeline, x, reply);
  const hooks = reply.events ? pipeline.chain.event : null;
  const body = hooks === null ? reply.body : flowing(reply.body);
  if (!isSource(body)) {
    call.answer(reply.status, headers, body);
    done(null);
    return;
  }
  if (x.request.method === 'HEAD' || reply.status === 204 || reply.status === 304) {
    body.cancel();
    call.answer(reply.status, headers, null);
    done(null);
    return;
  }
  const writer = new Writer(x, body, reply.events, done);
  writer.sink = call.begin(reply.status, headers, () => body.resume());
  body.start(hooks === null ? writer : new EventStage(x, hooks, writer, body));
}

/** A stream that is there as a whole, as one that comes: `event` hooks look at it so. */
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

/** Carries a body to the client's connection and says how it ended. */
class Writer implements Sink {
  sink!: ReplySink;

  constructor(
    readonly x: Exchange,
    readonly source: Source,
    readonly events: boolean,
    readonly done: (error: GatewayError | null) => void,
  ) {}

  data(chunk: Buffer): boolean {
    return this.sink.data(chunk);
  }

  end(): void {
    this.sink.end();
    this.done(null);
  }

  error(error: GatewayError): void {
    if (this.events && this.x.aborted === null) {
      // The one ending at which every client throws: an error event, and no [DONE].
      const origin = { requestId: this.x.id, provider: null };
      this.sink.data(errorsAt(this.x.request.path).errorEvent(error, origin));
      this.sink.end();
    } else {
      this.sink.error(error);
    }
    this.done(error);
  }
}

/** A gateway error as a whole answer in the client's format. */
export function errorReply(x: Exchange, error: GatewayError): Reply {
  const headers = ['content-type', 'application/json'];
  if (error.retryAfterMs !== null) headers.push('retry-after', String(Math.ceil(error.retryAfterMs / 1000)));
  return {
    status: error.status,
    headers,
    body: errorsAt(x.request.path).writeError(error, { requestId: x.id, provider: null }),
    events: false,
    errorOrigin: 'gateway',
  };
}

/** Names of the headers that answers carry, under the first of the prefixes. */
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
    // Of an answer to HEAD the length is all there is.
    if (notPassedOn.has(name) && (name !== 'content-length' || x.request.method !== 'HEAD')) continue;
    if (unified && (name === 'content-encoding' || name === 'x-request-id')) continue;
    if (name === 'x-request-id') hasRequestId = true;
    out.push(name, reply.headers[i + 1]!);
  }
  out.push(names.requestId, x.id);
  if (!hasRequestId) out.push('x-request-id', x.id);
  const { requestIdHeader } = errorsAt(x.request.path);
  if (requestIdHeader !== undefined && getHeader(out, requestIdHeader) === undefined) {
    out.push(requestIdHeader, x.id);
  }
  if (x.trace !== undefined) out.push(names.traceId, x.trace.traceId);
  if (x.attempts.length > 0 || x.saved !== null) {
    out.push(names.cacheStatus, x.cache, names.retryCount, String(x.retries));
    if (x.provider !== null) out.push(names.provider, x.provider);
    if (x.target !== null) {
      out.push(names.optionIndex, x.target.path);
      const params = paramsText(x.target);
      if (params !== null) out.push(names.optionParams, params);
    }
  }
  if (reply.errorOrigin !== null) out.push(names.errorOrigin, reply.errorOrigin);
  if (x.explain) {
    if (x.dropped.length > 0) out.push(names.droppedFields, listText(x.dropped));
    out.push(names.explanation, explanation(x, headerJson));
  }
  if (x.endpoint.counts === true && x.get(countedHere)) out.push(names.tokenCount, 'estimated');
  return out;
}

/** Paths as a header's list. Clients name some of their fields themselves: what could end an item is escaped. */
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

/** More than this of parameters is not put in a header: clients, and proxies on the way, refuse long header blocks. */
const maxParamsBytes = 8 * 1024;

/** A target's override_params as a header, made once per target. */
const paramsTexts = new WeakMap<Target, string | null>();

function paramsText(target: Target): string | null {
  if (target.overrideParams === null) return null;
  let text = paramsTexts.get(target);
  if (text === undefined) {
    text = headerJson(target.overrideParams);
    if (text.length > maxParamsBytes) text = null;
    paramsTexts.set(target, text);
  }
  return text;
}

/** JSON in a header: what is outside printable ASCII is escaped. */
function headerJson(value: unknown): string {
  return stringifyJson(value).replace(/[^\x20-\x7e]/g, escaped);
}

const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
