import type { Message } from '../../proto/codec.js';
import type { AdminMethod } from '../../proto/tree.js';
import { AdminError } from './admin-error.js';
import { AuditedCall } from './audited.js';
import { authenticate, Caller } from './caller.js';
import { FailedAuth } from './failed-auth.js';
import { KnownCallers } from './known-callers.js';
import { checkRules } from './rules.js';
import type { AdminParts } from './service.js';

/** A call as a transport hands it over. */
export interface Inbound {
  readonly method: AdminMethod;
  readonly requestId: string;
  /** The key's text. Throws AB05 where the request brought none, or several. */
  key(): string;
  /** The request; read when the caller is known. Throws AB01 for one that cannot be read. */
  read(): Message;
  /** IP address of the peer; empty where it has gone. */
  readonly address: string;
  readonly userAgent: string | null;
  /** As it came over REST; null over gRPC. */
  readonly rest: { readonly verb: string; readonly uri: string; readonly query: string } | null;
  /** Unix milliseconds by which it must be answered; streams go on. */
  readonly deadline: number;
  /** Aborted when the client has gone. */
  readonly gone: AbortSignal;
}

/** A method as a service implements it. `gone` is aborted when nobody waits for the answer any more. */
export type Run = (
  caller: Caller,
  request: Message,
  gone: AbortSignal,
) => Promise<Message> | AsyncIterable<Message>;

/** `Configs.CreateConfig` → what runs. Every method has one: `implement` sees to it. */
export type Implementations = ReadonlyMap<string, Run>;

/**
 * The one way to every method, whichever door a call came through:
 * who calls → may they → is the request as it must be → the method, in one unit of work where it is audited → data
 * workers forget what they knew.
 */
export class Calls {
  readonly #failedAuth = new FailedAuth();
  readonly #known: KnownCallers;
  readonly #streams = new Set<AbortController>();

  constructor(
    readonly parts: AdminParts,
    readonly implementations: Implementations,
  ) {
    this.#known = new KnownCallers(parts.store);
  }

  /** The response of a unary method. Throws an AdminError for every refusal and failure. */
  async unary(call: Inbound): Promise<Message> {
    try {
      return await within(call.deadline, this.#unary(call));
    } catch (thrown) {
      throw this.#failure(call, thrown);
    }
  }

  /** The responses of a streaming method, one by one. Throws as `unary` does, at any of them. */
  async *stream(call: Inbound): AsyncGenerator<Message> {
    const end = new AbortController();
    const leave = (): void => end.abort();
    call.gone.addEventListener('abort', leave);
    this.#streams.add(end);
    try {
      const caller = await this.#caller(call);
      const admit = (): Message => this.#admit(call, caller);
      // What is handed out is in the audit log before the first of it leaves.
      const request = call.method.access.audited
        ? await new AuditedCall(this.parts, call, caller).run(admit, async (admitted) => admitted)
        : admit();
      yield* this.#runOf(call.method)(caller, request, end.signal) as AsyncIterable<Message>;
    } catch (thrown) {
      throw this.#failure(call, thrown);
    } finally {
      this.#streams.delete(end);
      call.gone.removeEventListener('abort', leave);
    }
  }

  /** Ends the streams that would go on for as long as somebody reads them. */
  endStreams(): void {
    for (const end of this.#streams) end.abort();
  }

  async #unary(call: Inbound): Promise<Message> {
    const { access } = call.method;
    const caller = await this.#caller(call);
    const admit = (): Message => this.#admit(call, caller);
    const run = (request: Message): Promise<Message> =>
      this.#runOf(call.method)(caller, request, call.gone) as Promise<Message>;
    if (!access.audited) return run(admit());
    if (access.scopes.length > 0) return new AuditedCall(this.parts, call, caller).run(admit, run);
    // A public method says itself for whom it acts, and when.
    const request = admit();
    caller.unit = (work) => new AuditedCall(this.parts, call, caller).run(() => request, work);
    return run(request);
  }

  #runOf({ name }: AdminMethod): Run {
    return this.implementations.get(name) as Run;
  }

  async #caller(call: Inbound): Promise<Caller> {
    const { store } = this.parts;
    if (call.method.access.scopes.length === 0) return new Caller(null, store);
    try {
      return await authenticate(this.#known, call.key(), Date.now());
    } catch (thrown) {
      if (!(thrown instanceof AdminError) || thrown.code !== 'AB05') throw thrown;
      throw this.#failedAuth.refusal(call.address, thrown);
    }
  }

  /** Deny by default: no scope, no way in; and nothing is read for one who may not. */
  #admit({ method, read }: Inbound, caller: Caller): Message {
    const { name, access, request: shape } = method;
    if (access.organisationOnly && caller.key.keyType !== 'organisation-service')
      throw new AdminError('AB03', `${name} is for keys of the whole organisation.`);
    if (access.scopes.length > 0 && !access.scopes.some((scope) => caller.has(scope)))
      throw new AdminError('AB03', `This key lacks the scope ${access.scopes.join(' or ')}.`);
    const request = read();
    checkRules(shape, request);
    const { organisation_id: organisation } = request;
    if (organisation && access.scopes.length > 0 && organisation !== caller.organisationId)
      throw new AdminError('AB02', 'organisation_id: there is no such organisation.');
    return request;
  }

  #failure(call: Inbound, thrown: unknown): AdminError {
    const error = AdminError.from(thrown);
    if (error.code === 'AB04' || error.code === 'unavailable') {
      this.parts.log.error(
        { err: error.cause ?? error, method: call.method.path, request_id: call.requestId },
        'admin call failed',
      );
    }
    return error;
  }
}

async function within<T>(deadline: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const message = 'The answer took too long; whether anything was changed is not known.';
    timer = setTimeout(() => reject(new AdminError('deadline', message)), Math.max(0, deadline - Date.now()));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    // Else its failure after the deadline would end the process.
    work.catch(() => {});
  }
}
