import type { Message } from '../../../../proto/codec.js';
import type { AdminMethod, Binding } from '../../../../proto/tree.js';
import { reservedPaths } from '../../../common/http/reserved-paths.js';
import { PathTable } from '../../../common/ipc/path-table.js';
import { uuidv7 } from '../../../common/text/id.js';
import type { Calls } from '../access/call.js';
import { oneKey } from '../access/caller.js';
import type { CallCredentials, Inbound } from '../access/inbound.js';
import { AdminError } from '../admin-error.js';
import { writeMessage } from '../shape/json.js';
import { fileType, formOf } from './forms/forms.js';
import type { RestForm, RoutedRequest } from './forms/rest-form.js';
import { isForeign, oneSession, sessionCookies } from './forms/session-cookie.js';
import { refusalBody, refusalOf } from './refusal.js';
import { commonHeaders, type RestAnswer, type RestRequest, valuesOf } from './request.js';

/** What a path leads to. */
interface RestRoute {
  readonly method: AdminMethod;
  readonly binding: Binding;
  readonly form: RestForm;
}

/** What it does with bodies is looked up when the first of them comes: the messages of all methods take a start too long. */
function routeOf(method: AdminMethod, binding: Binding): RestRoute {
  let form: RestForm | null = null;
  return {
    method,
    binding,
    get form() {
      form ??= formOf(method, binding);
      return form;
    },
  };
}

/** Pages that are no method: the description of the methods, for programs and for people. */
export type Pages = ReadonlyMap<string, () => RestAnswer>;

export interface BridgeOptions {
  readonly calls: Calls;
  readonly methods: Iterable<AdminMethod>;
  readonly pages: Pages;
  /** Headers that a key may come in, beside Authorization; lower case. */
  readonly keyHeaders: readonly string[];
  /** Headers that the CSRF token of a session may come in; lower case. */
  readonly csrfHeaders?: readonly string[];
  /** Do browsers reach the gateway over https? */
  readonly isSecure?: boolean;
  /** Milliseconds that a call of a method may take. */
  longestOf(method: AdminMethod): number;
}

/** Of a path that has no route yet: no verb. */
const noVerbs = new Map<string, RestRoute>();

/** REST, translated into the calls that gRPC makes: from the same proto files, without a route of its own. */
export class RestBridge {
  readonly #routes = new PathTable<Map<string, RestRoute>>();

  constructor(readonly options: BridgeOptions) {
    for (const method of options.methods) {
      for (const binding of method.bindings)
        this.#routes.at(binding.path, () => new Map()).set(binding.verb, routeOf(method, binding));
    }
    for (const path of reservedPaths) this.#routes.at(path, () => noVerbs);
  }

  /** Answers a request; never throws. */
  async answer(request: RestRequest): Promise<RestAnswer> {
    const requestId = uuidv7();
    let answer: RestAnswer;
    try {
      answer = await this.#answer(request, requestId);
    } catch (thrown) {
      answer = refusalOf(AdminError.from(thrown), request, requestId);
    }
    return { ...answer, headers: [...answer.headers, ...commonHeaders, 'x-request-id', requestId] };
  }

  async #answer(request: RestRequest, requestId: string): Promise<RestAnswer> {
    const page = this.options.pages.get(request.path);
    const found = this.#routes.find(request.path);
    if (page === undefined && (found === null || found.value === noVerbs))
      return this.options.calls.refuse(this.#credentials(request), nothingAt(request, found !== null));
    const verbs = [...(page === undefined ? [] : ['GET']), ...(found?.value.keys() ?? [])];
    if (verbs.includes('GET')) verbs.push('HEAD');
    const allow = ['allow', [...verbs, 'OPTIONS'].join(', ')];
    if (request.verb === 'OPTIONS') return { status: 204, headers: allow, body: '' };
    if (!verbs.includes(request.verb)) {
      const error = AdminError.http(405, `${request.path} takes ${verbs.join(', ')}.`);
      const refusal = refusalOf(error, request, requestId);
      return { ...refusal, headers: [...refusal.headers, ...allow] };
    }
    const verb = request.verb === 'HEAD' ? 'GET' : request.verb;
    if (page !== undefined && verb === 'GET') return page();
    const route = found?.value.get(verb);
    return this.#call(route!, found!.captured, request, requestId);
  }

  #credentials({ headers, address, verb }: RestRequest): CallCredentials {
    const { keyHeaders, csrfHeaders = ['x-gateway-csrf-token'], isSecure = false } = this.options;
    const own = keyHeaders.flatMap((name) => valuesOf(headers, name));
    const authorization = valuesOf(headers, 'authorization');
    // A key that is sent wins: unlike a cookie, a program chose to send it.
    const hasCookie = own.length + authorization.length === 0 && sessionCookies(headers, isSecure).length > 0;
    return {
      key: () => (hasCookie ? oneSession(headers, isSecure) : oneKey(own, authorization)),
      cookie: hasCookie
        ? {
            tokens: csrfHeaders.flatMap((name) => valuesOf(headers, name)),
            changes: verb !== 'GET' && verb !== 'HEAD',
            isForeign: isForeign(headers),
          }
        : null,
      address,
    };
  }

  async #call(
    { method, binding, form }: RestRoute,
    captured: readonly string[],
    request: RestRequest,
    requestId: string,
  ): Promise<RestAnswer> {
    const { calls, longestOf, isSecure = false } = this.options;
    const routed: RoutedRequest = { method, binding, captured, request, isSecure };
    const inbound: Inbound = {
      ...this.#credentials(request),
      method,
      requestId,
      read: () => form.read(routed),
      readValid: () => form.readValid?.(routed) ?? null,
      userAgent: valuesOf(request.headers, 'user-agent')[0] ?? null,
      rest: { verb: binding.verb, uri: request.path, query: request.query },
      deadline: Date.now() + longestOf(method),
      gone: request.gone,
    };
    if (method.streams) return streamed(method, calls.stream(inbound), wantsEvents(request));
    let response: Message;
    try {
      response = await calls.unary(inbound);
    } catch (thrown) {
      if (form.refusal === undefined) throw thrown;
      return form.refusal(routed, AdminError.from(thrown), requestId);
    }
    return form.answer(routed, response);
  }
}

/** The body of such a call has not been read. */
function nothingAt({ verb, path }: RestRequest, isReserved: boolean): AdminError {
  if (!isReserved) return new AdminError('AB08', 'There is nothing at this path.');
  return new AdminError(
    'not_implemented',
    `${verb} ${path} is not available in this version of the gateway. The path is kept for the administration: the body was not read, and nothing was passed on to a provider.`,
  );
}

const eventStream = 'text/event-stream';
const wantsEvents = ({ headers }: RestRequest): boolean =>
  valuesOf(headers, 'accept').some((accept) => accept.includes(eventStream));

/** A stream of files is one file in pieces; one of anything else, a line of JSON each, or server-sent events. */
async function streamed(
  { response }: AdminMethod,
  responses: AsyncGenerator<Message>,
  asEvents: boolean,
): Promise<RestAnswer> {
  // Waits for the first one: a refusal must still be able to set its status.
  const first = await responses.next();
  const isFile = response.name === 'HttpBody';
  const piece = (message: Message): Buffer | string => {
    if (isFile) return Buffer.from(message['data'] as Uint8Array);
    const json = JSON.stringify(writeMessage(response, message));
    return asEvents ? `data: ${json}\n\n` : `${json}\n`;
  };
  async function* pieces(): AsyncGenerator<Buffer | string> {
    try {
      if (first.done === true) return;
      yield piece(first.value);
      for await (const message of responses) yield piece(message);
    } catch (thrown) {
      // A file that is not all there must not look as if it were: its connection breaks.
      if (isFile) throw thrown;
      const refusal = refusalBody(AdminError.from(thrown));
      yield asEvents ? `event: error\ndata: ${refusal}\n\n` : `${refusal}\n`;
    } finally {
      await responses.return(undefined);
    }
  }
  const type =
    isFile && first.done !== true ? fileType(first.value) : asEvents ? eventStream : 'application/x-ndjson';
  return { status: 200, headers: ['content-type', type], body: pieces() };
}
