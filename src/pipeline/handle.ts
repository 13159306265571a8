import { isSource, type Source } from '../core/body.js';
import type { Endpoint } from '../core/endpoint.js';
import { GatewayError } from '../core/errors.js';
import { type ClientRequest, Exchange, type JsonObject, type Outcome, type Reply } from '../core/exchange.js';
import type { HeaderList } from '../core/headers.js';
import { uuidv7 } from '../core/id.js';
import { findEndpoint } from '../endpoints/table.js';
import { errorsAt } from '../providers/doors/index.js';
import type { Call } from '../transport/transport.js';
import { runReply, runRequest } from './chain.js';
import { deliver, errorReply } from './deliver.js';
import { finish } from './finish.js';
import type { Pipeline } from './parts.js';

/**
 * The way of a request, from the transport to the ledger:
 *
 *   receive   which door, how is its body taken          endpoints/table.ts
 *   run       the Exchange meets the `request` phase      chain.ts, order.ts, plugins/
 *               … where the router asks its targets       attempt.ts → answer.ts
 *   send      `reply` phase, then head and body           deliver.ts (`event` phase: event-stage.ts)
 *   finish    usage, `log` phase, the journal             finish.ts
 */
export function createHandler(pipeline: Pipeline): (call: Call) => void {
  return (call) => receive(pipeline, call);
}

function receive(pipeline: Pipeline, call: Call): void {
  if (pipeline.draining) {
    return turnAway(
      pipeline,
      call,
      new GatewayError(
        'draining',
        'This node is shutting down: send the request again, another will take it.',
      ),
    );
  }
  let endpoint: Endpoint;
  try {
    endpoint = findEndpoint(call.method, call.path);
  } catch (thrown) {
    return turnAway(pipeline, call, GatewayError.from(thrown));
  }
  if (endpoint.name === 'admin') return pipeline.admin(call);
  if (endpoint.body === 'stream') {
    return run(pipeline, call, endpoint, null, hasBody(call) ? call.stream(Number.POSITIVE_INFINITY) : null);
  }
  call.collect(pipeline.limits.maxBodyBytes, (error, bytes) => {
    if (error !== null) turnAway(pipeline, call, error);
    else run(pipeline, call, endpoint, bytes, null);
  });
}

/** Refuses a call that never became an exchange: no door for it, or no body we would take. */
function turnAway(pipeline: Pipeline, call: Call, error: GatewayError): void {
  const { id, headers, body } = refusalAt(call.path, error, pipeline.headerPrefixes);
  call.answer(error.status, headers, body);
  pipeline.log.info(
    { request_id: id, code: error.code, method: call.method, path: call.path },
    error.message,
  );
}

/** A refusal as clients at that path read it, under an id of its own. */
export function refusalAt(
  path: string,
  error: GatewayError,
  headerPrefixes: readonly string[],
): { readonly id: string; readonly headers: HeaderList; readonly body: string } {
  const id = uuidv7();
  const headers = [
    'content-type',
    'application/json',
    `${headerPrefixes[0]}request-id`,
    id,
    'x-request-id',
    id,
  ];
  if (error.status === 503) headers.push('retry-after', '1');
  const errors = errorsAt(path);
  if (errors.requestIdHeader !== undefined) headers.push(errors.requestIdHeader, id);
  return { id, headers, body: errors.writeError(error, { requestId: id, provider: null }) };
}

function run(
  pipeline: Pipeline,
  call: Call,
  endpoint: Endpoint,
  bytes: Buffer | null,
  stream: Source | null,
): void {
  const x = new Exchange(uuidv7(), endpoint, new Received(call, bytes, stream));
  const way = new Way(pipeline, x, call);
  // By way of a variable: V8 puts a function literal that is assigned to a property into the old generation, where it
  // would keep the whole exchange until the next major collection. Measured: a sixth of a request's CPU.
  const leave = (): void => way.leave();
  call.onAbort = leave;
  try {
    const answer = runRequest(pipeline.chain.request, x);
    if (answer instanceof Promise)
      answer.then(
        (reply) => way.send(reply ?? null),
        (thrown) => way.refuse(thrown),
      );
    else way.send(answer ?? null);
  } catch (thrown) {
    way.refuse(thrown);
  }
}

/** The client's request, as a view of the call: what is seldom asked for is not fetched before it is. */
class Received implements ClientRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: HeaderList;
  json: JsonObject | null = null;
  readonly #call: Call;

  constructor(
    call: Call,
    readonly bytes: Buffer | null,
    readonly stream: Source | null,
  ) {
    this.#call = call;
    this.method = call.method;
    this.path = call.path;
    this.query = call.query;
    this.headers = call.headers;
  }

  get remoteAddress(): string {
    return this.#call.remoteAddress;
  }
}

/** The second half of an exchange's way: it is answered once and finished once, whoever ends it. */
class Way {
  #status = 0;
  #over = false;
  /** Set where the client has gone and others still wait for this exchange's answer. */
  #gone: Gone | null = null;
  #body: Source | null = null;

  constructor(
    readonly pipeline: Pipeline,
    readonly x: Exchange,
    readonly call: Call,
  ) {}

  send(reply: Reply | null): void {
    if (reply === null) return this.refuse(new GatewayError('internal', 'No stage of the chain answered.'));
    if (this.#over) return discard(reply);
    const hooks = this.pipeline.chain.reply;
    if (hooks === null) return this.write(reply);
    try {
      const changed = runReply(hooks, this.x, reply);
      if (changed instanceof Promise)
        changed.then(
          (last) => this.write(last),
          (thrown) => this.#broken(reply, thrown),
        );
      else this.write(changed);
    } catch (thrown) {
      this.#broken(reply, thrown);
    }
  }

  /** A `reply` hook has thrown. */
  #broken(reply: Reply, thrown: unknown): void {
    discard(reply);
    this.refuse(thrown);
  }

  refuse(thrown: unknown): void {
    if (this.#over) return;
    const error = GatewayError.from(thrown);
    this.#status = error.status;
    deliver(this.pipeline, this.x, this.call, errorReply(this.x, error), () => this.end(error));
  }

  /** A reply that a plugin made may be anything: what can't be written costs this request a 500, and no more. */
  write(reply: Reply): void {
    if (this.#over) return discard(reply);
    try {
      this.#deliver(checkedReply(reply));
    } catch (thrown) {
      discard(reply);
      this.refuse(thrown);
    }
  }

  #deliver(reply: Reply): void {
    this.#status = reply.status;
    if (isSource(reply.body)) this.#body = reply.body;
    deliver(this.pipeline, this.x, this.call, reply, (error) => this.end(error));
  }

  /** The client has gone: whatever still runs for it stops, and what it used is settled. */
  leave(): void {
    if (this.#over) return;
    const gone = new GatewayError(
      'client_gone',
      'The client closed the connection before the answer was complete.',
    );
    if (this.#gone === null && this.x.company?.outlasts(() => this.leave()) === true) {
      this.#gone = { status: this.#status === 0 ? gone.status : this.#status, error: gone };
      // It may have been too slow for what was coming: nothing holds that up any more.
      this.#body?.resume();
      return;
    }
    const body = this.#body;
    this.#over = true;
    this.x.abort(gone, (thrown) =>
      this.pipeline.log.error({ err: thrown, request_id: this.x.id }, 'an abort listener threw'),
    );
    body?.cancel();
    const status = this.#status === 0 ? gone.status : this.#status;
    finish(this.pipeline, this.x, {
      ...(this.#gone ?? { status, error: gone }),
      totalMs: this.x.elapsedMs(),
    });
  }

  end(error: GatewayError | null): void {
    if (this.#over) return;
    this.#over = true;
    // The transport may hold on to the call for a while: it must not hold on to the exchange too.
    this.call.onAbort = null;
    const totalMs = this.x.elapsedMs();
    if (this.#gone === null) finish(this.pipeline, this.x, { status: this.#status, error, totalMs });
    else finish(this.pipeline, this.x, { ...this.#gone, totalMs });
  }
}

/** What the client of an exchange was given when it left. */
type Gone = Pick<Outcome, 'status' | 'error'>;

function discard(reply: Reply): void {
  const body: unknown = (reply as Partial<Reply> | null)?.body;
  if (isBody(body) && isSource(body)) body.cancel();
}

function isBody(body: unknown): body is Reply['body'] {
  if (body === null || typeof body === 'string' || body instanceof Uint8Array) return true;
  return typeof body === 'object' && typeof (body as Partial<Source>).cancel === 'function';
}

function checkedReply(reply: Reply): Reply {
  const given = reply as Partial<Reply> | boolean;
  if (
    typeof given !== 'object' ||
    !Number.isInteger(given.status) ||
    (given.status ?? 0) < 200 ||
    (given.status ?? 0) > 599 ||
    !Array.isArray(given.headers) ||
    !given.headers.every((text) => typeof text === 'string') ||
    !isBody(given.body)
  ) {
    throw new GatewayError('internal', 'The gateway failed to handle this request.', {
      cause: new Error('a plugin made something that is no Reply'),
    });
  }
  return reply;
}

function hasBody(call: Call): boolean {
  for (let i = 0; i < call.headers.length; i += 2) {
    const name = call.headers[i];
    if (name === 'transfer-encoding') return true;
    if (name === 'content-length') return call.headers[i + 1] !== '0';
  }
  return false;
}
