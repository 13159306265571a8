import { isSource, type Source } from '../../common/bytes/body.js';
import type { Endpoint } from '../../common/core/endpoint.js';
import { GatewayError } from '../../common/core/errors.js';
import {
  type ClientRequest,
  Exchange,
  type JsonObject,
  type Outcome,
  type Reply,
} from '../../common/core/exchange.js';
import type { HeaderList } from '../../common/http/headers.js';
import { traceIn } from '../../common/http/trace.js';
import { uuidv7 } from '../../common/text/id.js';
import { fixedEndpoints } from '../endpoints/fixed-endpoints.js';
import { canonicalPath } from '../endpoints/paths/spelling.js';
import { canonicalEndpoint } from '../endpoints/table.js';
import { errorsAt } from '../providers/client-formats/index.js';
import type { Call } from '../transport/transport.js';
import { chainOf, runReply, runRequest } from './chain.js';
import { type Client, deliver, errorReply, noClient, type Writer } from './deliver.js';
import { finish } from './finish.js';
import type { OpenExchange } from './open-exchanges.js';
import type { Pipeline } from './parts.js';
import { clientGone } from './request/abandoned-requests.js';

/**
 * The steps of a request, from the transport to the ledger:
 *
 *   receive   which endpoint, how its body is read          endpoints/table.ts
 *   run       the Exchange meets the `request` phase      chain.ts, order.ts, plugins/
 *               … where the router asks its targets       attempt.ts → answer.ts
 *   send      `reply` phase, then head and body           deliver.ts (`event` phase: event-stage.ts)
 *   finish    usage, `log` phase, the journal             finish.ts
 */
export function createHandler(pipeline: Pipeline): (call: Call) => void {
  return (call) => {
    if (pipeline.draining) return turnAway(pipeline, call, draining());
    let { path } = call;
    // Most requests name their endpoint exactly: only other paths need to be normalised.
    const fixed = fixedEndpoints.get(path);
    let endpoint: Endpoint;
    if (fixed !== undefined && fixed.methods[0] === call.method) {
      endpoint = fixed.endpoint;
    } else {
      try {
        path = canonicalPath(path);
        endpoint = canonicalEndpoint(call.method, path);
      } catch (thrown) {
        return turnAway(pipeline, call, GatewayError.from(thrown));
      }
    }
    if (endpoint.name === 'admin')
      return pipeline.admin === null ? turnAway(pipeline, call, noAdmin()) : pipeline.admin(call, path);
    if (endpoint.name === 'health') return answerHealth(pipeline, call);
    if (endpoint.body === 'stream') {
      const body = hasBody(call) ? call.stream(Number.POSITIVE_INFINITY) : null;
      return run(pipeline, call, endpoint, new Received(call, path, null, body));
    }
    call.collect(pipeline.limits.maxBodyBytes, (error, bytes) => {
      if (error !== null) turnAway(pipeline, call, error);
      else run(pipeline, call, endpoint, new Received(call, path, bytes, null));
    });
  };
}

const draining = (): GatewayError =>
  new GatewayError('draining', 'This node is shutting down: send the request again, another will take it.');

const noAdmin = (): GatewayError =>
  new GatewayError(
    'not_found',
    'This node serves model calls alone (HEADGATE_ROLE=data): call a node with the role all.',
  );

/** Refuses a call before it becomes an exchange: there is no endpoint for it, or its body is not accepted. */
function turnAway(pipeline: Pipeline, call: Call, error: GatewayError): void {
  const { id, headers, body } = refusalAt(call.path, call.headers, error, pipeline.headerPrefixes);
  call.answer(error.status, headers, body);
  pipeline.log.info(
    { request_id: id, code: error.code, method: call.method, path: call.path },
    error.message,
  );
}

/** While the worker shuts down, this is not reached: every call is answered with 503. */
function answerHealth({ headerPrefixes }: Pipeline, call: Call): void {
  call.answer(200, ownHeaders(uuidv7(), call.headers, headerPrefixes), '{"status":"ok"}');
}

/** Of an answer with JSON that is not an exchange's. */
function ownHeaders(id: string, asked: HeaderList, headerPrefixes: readonly string[]): HeaderList {
  return [
    ...['content-type', 'application/json', `${headerPrefixes[0]}request-id`, id, 'x-request-id', id],
    ...[`${headerPrefixes[0]}trace-id`, traceIn(asked, headerPrefixes, id).traceId],
  ];
}

/** A refusal in the format of that path, with an id of its own. */
export function refusalAt(
  path: string,
  /** Headers of the request; empty if they could not be read. */
  asked: HeaderList,
  error: GatewayError,
  headerPrefixes: readonly string[],
): { readonly id: string; readonly headers: HeaderList; readonly body: string } {
  const id = uuidv7();
  const headers = ownHeaders(id, asked, headerPrefixes);
  if (error.status === 503) headers.push('retry-after', '1');
  if (error.headers !== null) headers.push(...error.headers);
  const errors = errorsAt(path, asked);
  if (errors.requestIdHeader !== undefined) headers.push(errors.requestIdHeader, id);
  return { id, headers, body: errors.writeError(error, { requestId: id, provider: null }) };
}

function run(pipeline: Pipeline, call: Call, endpoint: Endpoint, received: Received): void {
  const x = new Exchange(uuidv7(), endpoint, received);
  x.chain = pipeline.chain;
  pipeline.chain.running++;
  const delivery = new RequestDelivery(pipeline, x, call);
  // Through a variable: V8 puts a function literal that is assigned to a property into the old generation, where it
  // would keep the whole exchange until the next major collection. Measured: a sixth of a request's CPU.
  const leave = (): void => delivery.leave();
  call.onAbort = leave;
  pipeline.open.add(delivery);
  try {
    const answer = runRequest(pipeline.chain.request, x);
    if (answer instanceof Promise)
      answer.then(
        (reply) => delivery.send(reply ?? null),
        (thrown) => delivery.refuse(thrown),
      );
    else delivery.send(answer ?? null);
  } catch (thrown) {
    delivery.refuse(thrown);
  }
}

/** The client's request, as a view of the call: what is rarely needed is fetched only when it is. */
class Received implements ClientRequest {
  readonly method: string;
  readonly query: string;
  readonly headers: HeaderList;
  json: JsonObject | null = null;
  readonly #call: Call;

  constructor(
    call: Call,
    /** The endpoint's path; as received if it is passed through. */
    readonly path: string,
    public bytes: Buffer | null,
    public stream: Source | null,
  ) {
    this.#call = call;
    this.method = call.method;
    this.query = call.query;
    this.headers = call.headers;
  }

  get remoteAddress(): string {
    return this.#call.remoteAddress;
  }
}

/** The second half of an exchange: it is answered once and finished once, whichever side ends it. */
class RequestDelivery implements OpenExchange {
  previous: OpenExchange | null = null;
  next: OpenExchange | null = null;
  #status = 0;
  #over = false;
  /** Set when the client's part has ended and others still wait for the answer. */
  #gone: Gone | null = null;
  #body: Source | null = null;
  #writer: Writer | null = null;
  #client: Client;

  constructor(
    readonly pipeline: Pipeline,
    readonly x: Exchange,
    readonly call: Call,
  ) {
    this.#client = call;
  }

  send(reply: Reply | null): void {
    if (reply === null) return this.refuse(new GatewayError('internal', 'No stage of the chain answered.'));
    if (this.#over) return discard(reply);
    const hooks = chainOf(this.pipeline, this.x).reply;
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
    deliver(this.pipeline, this.x, this.#client, errorReply(this.x, error), () => this.end(error));
  }

  /** A plugin's reply may be anything: one that can't be written makes this request fail with 500, and no other. */
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
    this.#writer = deliver(this.pipeline, this.x, this.#client, reply, (error, status) => {
      if (status !== undefined) this.#status = status;
      this.end(error ?? reply.error ?? null);
    });
  }

  /** The client has disconnected: the work stops, or the answer is read to its end, and the usage is settled. */
  leave(): void {
    if (this.#over) return;
    const gone = clientGone();
    const isWaitedFor = this.#gone === null && this.x.company?.outlasts(() => this.leave()) === true;
    if (isWaitedFor || this.pipeline.abandoned?.take(this.x) === true) {
      if (this.#gone === null)
        this.#goOn({ status: this.#status === 0 ? gone.status : this.#status, error: gone });
      // It may have paused the source by being slow.
      this.#body?.resume();
      return;
    }
    const { error, status } = this.#gone ?? { error: gone, status: this.#status };
    this.#close();
    this.#abort(error ?? gone);
    this.#body?.cancel();
    finish(this.pipeline, this.x, {
      status: status === 0 ? gone.status : status,
      error,
      totalMs: this.x.elapsedMs(),
    });
  }

  /** Its key is no longer valid: the client's answer ends. An answer that others wait for continues without it. */
  revoke(error: GatewayError): void {
    if (this.#over || this.#gone !== null) return;
    const status = this.#status === 0 ? error.status : this.#status;
    this.call.onAbort = null;
    if (this.x.company?.outlasts(() => this.leave()) === true) {
      this.#endClient(error);
      this.#goOn({ status: this.#writer?.status ?? status, error });
      // The client may have paused the source by being slow.
      this.#body?.resume();
      return;
    }
    this.#close();
    this.#abort(error);
    this.#endClient(error);
    this.#body?.cancel();
    finish(this.pipeline, this.x, {
      status: this.#writer?.status ?? status,
      error,
      totalMs: this.x.elapsedMs(),
    });
  }

  /** Others still wait for the answer: their keys decide when it ends. */
  #goOn(gone: Gone): void {
    this.#gone = gone;
    this.pipeline.open.remove(this);
  }

  #endClient(error: GatewayError): void {
    const client = this.#client;
    this.#client = noClient;
    if (this.#writer !== null) this.#writer.break(error);
    else deliver(this.pipeline, this.x, client, errorReply(this.x, error), () => {});
  }

  #abort(reason: GatewayError): void {
    this.x.abort(reason, (thrown) =>
      this.pipeline.log.error({ err: thrown, request_id: this.x.id }, 'an abort listener threw'),
    );
  }

  #close(): void {
    this.#over = true;
    this.pipeline.open.remove(this);
    this.pipeline.abandoned?.ended(this.x);
  }

  end(error: GatewayError | null): void {
    if (this.#over) return;
    this.#close();
    // The transport may keep the call for a while, which must not keep the exchange too.
    this.call.onAbort = null;
    const totalMs = this.x.elapsedMs();
    if (this.#gone === null) finish(this.pipeline, this.x, { status: this.#status, error, totalMs });
    else finish(this.pipeline, this.x, { ...this.#gone, totalMs });
  }
}

/** Status and error of a client whose part has ended. */
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
