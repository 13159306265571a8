import type { GuardrailRecord, KeyRecord, ProviderRecord } from '../../src/common/ipc/records.js';
import type { Settlement } from '../../src/common/ledger/record.js';
import type { UpstreamRequest } from '../../src/data-plane/upstream/upstream.js';
import { type Asked, BareWorker, soon } from './bare-worker.js';

/** A request to a provider, as the gateway would have written it to a connection. */
export interface ProviderCall {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  readonly body: string;
}

export interface ProviderAnswer {
  /** 200 unless given. */
  readonly status?: number;
  /** `application/json` unless given. */
  readonly contentType?: string;
  /** Whole, or in pieces as they would come from a connection. */
  readonly body: string | readonly string[];
}

export interface InjectOptions {
  /** Stored providers by slug; what a record does not say is empty. */
  readonly providers: Readonly<Record<string, Partial<ProviderRecord> & { readonly provider: string }>>;
  /** Stored guardrails by slug; what a record does not say is false or empty. */
  readonly guardrails?: Readonly<Record<string, Partial<GuardrailRecord>>>;
  /** Credentials of partners. */
  readonly partners?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** What the key has beside the usual. */
  readonly key?: Partial<KeyRecord>;
  /** How providers answer. */
  answer(call: ProviderCall): ProviderAnswer;
}

/** A gateway whose clients and providers are function calls. */
export interface InjectedGateway {
  /** Sends a request with a key of the workspace, as `fetch` would; the answer has come whole. */
  inject(path: string, request: InjectedRequest): Promise<Response>;
  /** What providers were sent, in that order. */
  readonly calls: readonly ProviderCall[];
  /** What the data worker asked the control process, which does not answer. */
  readonly questions: readonly { readonly kind: string; readonly question: unknown }[];
  /** What the ledger was given. */
  readonly settled: readonly Settlement[];
  close(): void;
}

export interface InjectedRequest {
  /** POST unless given. */
  readonly method?: string;
  readonly config: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text is sent as it is, an object as JSON. */
  readonly body: string | object;
}

/**
 * The real chain of a data worker in this process, from the transport's call to the journal, without sockets, other
 * processes or a store: for tests of what becomes of a request and its answer, of which a process start proves nothing.
 */
export async function openInjected(options: InjectOptions): Promise<InjectedGateway> {
  const { providers, guardrails = {}, partners = {}, answer } = options;
  const worker = await new BareWorker().start();
  for (const [slug, record] of Object.entries(providers)) worker.addProvider(slug, record);
  for (const [slug, record] of Object.entries(guardrails))
    worker.records.set(`guardrail ${slug}`, { ...blankGuardrail, slug, versionId: slug, ...record });
  for (const [partner, credentials] of Object.entries(partners))
    worker.records.set(`partner ${partner}`, { credentials });
  const key = worker.key(options.key);
  const calls: ProviderCall[] = [];
  const questions: { kind: string; question: unknown }[] = [];
  const before = worker.onShared;
  worker.onShared = (message, shared) => {
    if (message.t === 'shared-question') questions.push(message);
    before(message, shared);
  };
  worker.onAsked = (asked) => {
    const call = callOf(asked.request);
    calls.push(call);
    setImmediate(() => give(asked, answer(call)));
  };
  return {
    calls,
    questions,
    settled: worker.settled,
    async inject(path, { method = 'POST', config, headers = {}, body }) {
      const [plainPath = '', query = ''] = path.split('?');
      const client = worker.ask(key, {
        method,
        path: plainPath,
        query,
        config: JSON.stringify(config),
        headers: Object.entries(headers).flat(),
        body,
      });
      await soon(`${path} is answered`, () => client.ended);
      return new Response(client.text, { status: client.status, headers: pairsOf(client.headers) });
    },
    close: () => worker.close(),
  };
}

const blankGuardrail: Omit<GuardrailRecord, 'slug' | 'versionId'> = {
  ...{ checks: [], deny: false, async: false, sequential: false, softDeny: false, incremental: false },
  ...{ onSuccess: null, onFail: null, passthroughPaths: [], passthroughAllowed: false },
};

function give(
  { handler, cancelled }: Asked,
  { status = 200, contentType = 'application/json', body }: ProviderAnswer,
) {
  if (cancelled) return;
  handler.head(status, ['content-type', contentType]);
  for (const piece of typeof body === 'string' ? [body] : body) handler.data(Buffer.from(piece));
  handler.end();
}

function callOf({ method, url, headers, body }: UpstreamRequest): ProviderCall {
  if (body !== null && !Buffer.isBuffer(body)) throw new Error('a body that streams is not injected');
  return { method, url: new URL(url), headers: new Headers(pairsOf(headers)), body: body?.toString() ?? '' };
}

function pairsOf(list: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let i = 0; i + 1 < list.length; i += 2) pairs.push([list[i]!, list[i + 1]!]);
  return pairs;
}
