import type { Endpoint } from '../../../src/common/core/endpoint.js';
import { GatewayError } from '../../../src/common/core/errors.js';
import { type ClientRequest, Exchange, type JsonObject } from '../../../src/common/core/exchange.js';
import type { Target } from '../../../src/common/core/target.js';
import { setHeader } from '../../../src/common/http/headers.js';
import { traceBelow } from '../../../src/common/http/trace.js';
import { isJsonObject } from '../../../src/common/json/json.js';
import { jsonBytes } from '../../../src/common/json/json-bytes.js';
import type { HostWith } from '../../../src/common/plugin-host/plugin.js';
import { directCredential } from '../../../src/common/plugin-host/slots.js';
import { uuidv7 } from '../../../src/common/text/id.js';
import { defaultTarget } from '../../../src/common/vocabulary/default-config.js';
import type { ModerationRequest } from '../check.js';
import { ServiceFailed } from '../checks/remote/calls.js';
import { targetsOf } from '../resolve.js';

const endpoint: Endpoint = { name: 'moderations', format: 'openai-moderations', body: 'json' };
/** A longer answer is not parsed, which would block the event loop. */
const maxAnswerBytes = 256 * 1024;
/** Targets of a config that are tried, one after another. */
const maxTargets = 3;

/** Settings of a call for moderation that override those of its target. */
const moderates: Partial<Target> = {
  path: 'gateway.moderateContent',
  defaultParams: null,
  overrideParams: null,
  dropParams: null,
  deadlineMs: null,
  retry: null,
  breaker: null,
  cache: null,
  concurrency: null,
  mirror: null,
  passthrough: false,
};

/** Where a call goes, and whether it has the client's headers and credential. */
interface Place {
  readonly target: Target;
  readonly asClient: boolean;
}

/** Asks providers for moderation on behalf of an exchange: each call has its own row, with the cost, in its workspace. */
export class Moderations {
  readonly #running = new Set<Exchange>();

  constructor(readonly host: Pick<HostWith<'upstream'>, 'aside' | 'log' | 'headerPrefixes'>) {}

  /** The answer in OpenAI's format. Rejects where no provider gave one. */
  async ask(
    of: Exchange,
    request: ModerationRequest,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<JsonObject> {
    for (const place of placesOf(of, request.provider)) {
      if (signal.aborted) break;
      const answer = await this.#askAt(of, request, place, timeoutMs, signal);
      if (answer !== null) return answer;
    }
    throw new ServiceFailed(
      'No provider of the request moderated the text: name one with moderations in the parameter `provider`.',
    );
  }

  async #askAt(
    of: Exchange,
    { model, texts }: ModerationRequest,
    { target, asClient }: Place,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<JsonObject | null> {
    const x = exchangeFor(of, { model, input: texts }, asClient, this.host.headerPrefixes[0]!);
    const abort = (): void => this.#abort(x, GatewayError.from(signal.reason));
    signal.addEventListener('abort', abort, { once: true });
    this.#running.add(x);
    const reply = await this.host.aside(x, { ...target, ...moderates, requestTimeoutMs: timeoutMs });
    this.#running.delete(x);
    signal.removeEventListener('abort', abort);
    if (reply?.status !== 200 || !Buffer.isBuffer(reply.body) || reply.body.length > maxAnswerBytes)
      return null;
    try {
      const json: unknown = JSON.parse(reply.body.toString('utf8'));
      return isJsonObject(json) ? json : null;
    } catch {
      return null;
    }
  }

  #abort(x: Exchange, reason: GatewayError): void {
    x.abort(reason, (thrown) => this.host.log.error({ err: thrown, request_id: x.id }, 'an abort failed'));
  }

  /** Ends running calls. */
  close(): void {
    const leaving = new GatewayError('draining', 'This node is shutting down.');
    for (const x of this.#running) this.#abort(x, leaving);
  }
}

function placesOf(of: Exchange, provider: string | null): Place[] {
  const targets = targetsOf(of.config);
  if (provider !== null) {
    // A target of the config at this provider has its address and credential.
    const own = targets.find((target) => target.provider === provider && target.virtualKey === null);
    return [
      own === undefined
        ? { target: { ...defaultTarget, provider }, asClient: false }
        : { target: own, asClient: true },
    ];
  }
  const byModel = /^(@[^/]+)\//.exec(of.modelAsked ?? '')?.[1];
  return targets.slice(0, maxTargets).map((target) => {
    const isOpen = target.provider === null && target.virtualKey === null && byModel !== undefined;
    return { target: isOpen ? { ...target, provider: byModel } : target, asClient: true };
  });
}

function exchangeFor(of: Exchange, json: JsonObject, asClient: boolean, prefix: string): Exchange {
  const headers = asClient ? [...of.request.headers] : [];
  // The text is in the row of the request, as far as it is kept.
  setHeader(headers, `${prefix}debug`, 'false');
  const request: ClientRequest = {
    ...{ method: 'POST', path: '/v1/moderations', query: '', headers },
    ...{ remoteAddress: of.request.remoteAddress, bytes: jsonBytes(json), stream: null, json },
  };
  const x = new Exchange(uuidv7(), endpoint, request);
  x.principal = of.principal;
  x.config = of.config;
  x.metadata = { ...of.metadata, _moderation_of: of.id };
  x.trace = traceBelow(of.trace, 'guardrails');
  x.modelAsked = String(json['model']);
  if (asClient) {
    x.keyHeader = of.keyHeader;
    x.set(directCredential, of.get(directCredential));
  }
  return x;
}
