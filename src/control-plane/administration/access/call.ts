import type { Message } from '../../../../proto/codec.js';
import type { AdminMethod } from '../../../../proto/tree.js';
import { maxFailedTokens } from '../../../common/access/failed-attempts.js';
import { isSessionToken } from '../../../common/access/session-token.js';
import { isTokenForm } from '../../../common/access/token-form.js';
import { AdminError } from '../admin-error.js';
import { AuditedCall } from '../audit/audited.js';
import { AuditedNestedCalls } from '../audit/nested-calls.js';
import { RefusalLog } from '../audit/refusals.js';
import { type OpenStream, OpenStreams } from '../grpc/open-streams.js';
import { StreamLimits } from '../grpc/stream-limits.js';
import type { AdminParts } from '../service.js';
import { admit, checkAccess } from '../shape/admission.js';
import { authenticate, Caller } from './caller.js';
import { FailedAuth } from './failed-auth.js';
import type { CallCredentials, Inbound } from './inbound.js';
import { KnownCallers } from './known-callers.js';
import { SessionCallers } from './people/session-callers.js';

/** A method as a service implements it. `gone` is aborted when the client has disconnected. */
export type Run = (
  caller: Caller,
  request: Message,
  gone: AbortSignal,
) => Promise<Message> | AsyncIterable<Message>;

/** `Configs.CreateConfig` → what runs. Every method has one: `implement` sees to it. */
export type Implementations = ReadonlyMap<string, Run>;

/** Methods that are made of calls of other methods, each with its own row in the audit log. */
const composed: ReadonlySet<string> = new Set(['Documents.ApplyDocuments', 'Documents.ExportDocuments']);

/**
 * Every call to a method runs through here, whether it came over gRPC or REST:
 * who calls → may they → is the request as it must be → the method, in one unit of work where it is audited → data
 * workers forget what they have cached.
 */
export class Calls {
  readonly #failedAuth = new FailedAuth();
  readonly #failedTokens = new FailedAuth(maxFailedTokens);
  readonly #known: KnownCallers;
  readonly #people: SessionCallers;
  readonly #refusals: RefusalLog;
  readonly #streams: OpenStreams;
  readonly #streamLimits = new StreamLimits();

  constructor(
    readonly parts: AdminParts,
    readonly implementations: Implementations,
  ) {
    this.#known = new KnownCallers(parts.store, parts.tokens);
    this.#people = new SessionCallers(parts.store);
    this.#refusals = new RefusalLog(parts.store, parts.log);
    this.#streams = new OpenStreams(parts.store);
    parts.tokens?.onRemoved((what) => this.#streams.recheck(what));
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
    let open: OpenStream | null = null;
    let giveBack = (): void => {};
    try {
      const caller = await this.#caller(call);
      // A public method has no key to lose, and counts its streams itself.
      const isPublic = call.method.access.scopes.length === 0;
      if (!isPublic) giveBack = this.#streamLimits.take(caller);
      const admit = (): Message => this.#admit(call, caller);
      // What is handed out is in the audit log before the first of it leaves.
      const request = call.method.access.audited
        ? await new AuditedCall(this.parts, call, caller, this.#refusals).run(
            admit,
            async (admitted) => admitted,
          )
        : admit();
      if (!isPublic)
        open = await this.#streams.add({
          key: caller.key,
          hash: this.parts.store.hashKey(call.key()),
          check: () => this.#stillMay(call),
          end: leave,
        });
      const responses = this.#runOf(call.method)(caller, request, end.signal) as AsyncIterable<Message>;
      for await (const response of responses) {
        if (open !== null && open.refused !== null) throw open.refused;
        yield response;
      }
      // It may have ended because of the very change that took the key away.
      if (open !== null && !end.signal.aborted) await open.recheck();
      if (open !== null && open.refused !== null) throw open.refused;
    } catch (thrown) {
      throw this.#failure(call, thrown);
    } finally {
      giveBack();
      if (open !== null) this.#streams.remove(open);
      call.gone.removeEventListener('abort', leave);
    }
  }

  /**
   * Refuses a call to a path that has no method: with `refusal` where its key is valid, and like every other call
   * without a valid key where it is not.
   */
  async refuse(credentials: CallCredentials, refusal: AdminError): Promise<never> {
    await this.#identify(credentials, null);
    throw refusal;
  }

  /** Ends the streams that would go on for as long as they are read. */
  endStreams(): void {
    this.#streams.endAll();
  }

  /** Throws where the key of a stream may no longer read it. Not from memory: the caller expects a change. */
  async #stillMay(call: Inbound): Promise<void> {
    const known = new KnownCallers(this.parts.store, this.parts.tokens);
    const caller = await this.#authenticate(known, call, call);
    checkAccess(call.method, caller);
  }

  /** Writes audit rows that are still pending. Later calls are answered as before. */
  close(): Promise<void> {
    return this.#refusals.close();
  }

  async #unary(call: Inbound): Promise<Message> {
    const { access } = call.method;
    const caller = await this.#caller(call);
    const admit = (): Message => this.#admit(call, caller);
    const run = (request: Message): Promise<Message> =>
      this.#runOf(call.method)(caller, request, call.gone) as Promise<Message>;
    if (composed.has(call.method.name))
      caller.parts = new AuditedNestedCalls(this.parts, call, caller, this.implementations, this.#refusals);
    if (!access.audited) return run(admit());
    const isPublic = access.scopes.length === 0;
    const audited = (): AuditedCall => new AuditedCall(this.parts, call, caller, this.#refusals);
    if (!isPublic && access.ownUnit !== true) return audited().run(admit, run);
    let request: Message;
    try {
      request = admit();
    } catch (refusal) {
      if (isPublic) throw refusal;
      // It has an audit row of its own.
      return audited().run(() => {
        throw refusal;
      }, run);
    }
    // A public method sets itself for whom it acts, and when.
    caller.unit = (work) => audited().run(() => request, work);
    return run(request);
  }

  #runOf({ name }: AdminMethod): Run {
    return this.implementations.get(name) as Run;
  }

  async #caller(call: Inbound): Promise<Caller> {
    const isPublic = call.method.access.scopes.length === 0;
    const caller = isPublic ? new Caller(null, this.parts.store) : await this.#identify(call, call);
    caller.origin = { address: call.address, userAgent: call.userAgent ?? '' };
    return caller;
  }

  async #authenticate(
    known: KnownCallers,
    { key, cookie }: CallCredentials,
    call: Inbound | null,
  ): Promise<Caller> {
    const text = key();
    if (isSessionToken(text)) return this.#people.of(text, cookie, call);
    return authenticate(known, text, Date.now());
  }

  async #identify(credentials: CallCredentials, call: Inbound | null): Promise<Caller> {
    try {
      return await this.#authenticate(this.#known, credentials, call);
    } catch (thrown) {
      if (!(thrown instanceof AdminError) || thrown.code !== 'AB05') throw thrown;
      const failed = hasToken(credentials) ? this.#failedTokens : this.#failedAuth;
      throw failed.refusal(credentials.address, thrown);
    }
  }

  #admit({ method, read }: Inbound, caller: Caller): Message {
    return admit(this.parts, method, caller, read);
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

function hasToken(credentials: CallCredentials): boolean {
  try {
    return isTokenForm(credentials.key());
  } catch {
    return false;
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
