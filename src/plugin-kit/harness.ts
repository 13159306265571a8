import { AsyncLocalStorage } from 'node:async_hooks';
import type { Exchange, Outcome } from '../common/core/exchange.js';
import type { Logger, Plugin } from '../common/plugin-host/plugin.js';
import { findEndpoint } from '../data-plane/endpoints/table.js';
import { answerText, eventsOf } from './chain/answer-text.js';
import { ClientCall, type Received } from './chain/client-call.js';
import { headersOf, parsed } from './chain/header-record.js';
import { KitChain } from './chain/kit-chain.js';
import { sentOf } from './chain/sent.js';
import { simulatedUpstream } from './chain/simulated-upstream.js';
import type {
  Injected,
  InjectedRequest,
  InjectedRow,
  LogLine,
  OpenOptions,
  PluginHarness,
  ProviderCall,
} from './kit-types.js';
import { pluginOf } from './plugin-file.js';

/** What is noted of one request while it runs. */
interface Noted {
  readonly calls: ProviderCall[];
  readonly log: LogLine[];
  /** Called once the request has ended. */
  readonly ended: (x: Exchange, outcome: Outcome) => void;
}

/** How long a request of a test may take, in milliseconds. */
const maxMs = 60_000;

/** Lines and calls that are kept over all requests. */
const maxKept = 10_000;

export const openPlugin: PluginHarness['openPlugin'] = async (given, options, how = {}) => {
  const requests = new AsyncLocalStorage<Noted>();
  const calls: ProviderCall[] = [];
  const log: LogLine[] = [];
  const keep = <T>(all: T[], own: T[] | undefined, one: T): void => {
    if (all.push(one) > maxKept) all.shift();
    own?.push(one);
  };
  const chain = await KitChain.open({
    plugins: [{ plugin: await pluginOf(given), options, ...placeOf(how) }, watching(requests)],
    upstream: simulatedUpstream({
      onCall: (call) => keep(calls, requests.getStore()?.calls, call),
      answer: (call) => how.answer?.(call),
    }),
    log: logInto((line) => keep(log, requests.getStore()?.log, line)),
    ...(how.hookTimeoutMs === undefined ? {} : { hookTimeoutMs: how.hookTimeoutMs }),
  });
  return {
    calls,
    log,
    inject: (request = {}) => injected(chain, requests, request),
    metrics: () =>
      Object.fromEntries(
        chain.metrics.read().map(({ name, labels, value }) => [name + labelText(labels), value]),
      ),
    close: () => chain.close(),
  };
};

const placeOf = ({ before, after }: OpenOptions): { before?: string; after?: string } =>
  before === undefined ? (after === undefined ? {} : { after }) : { before };

function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function logInto(keep: (line: LogLine) => void): Logger {
  const write = (level: LogLine['level']) => (fields: object, message: string) =>
    keep({ level, message, fields: fields as LogLine['fields'] });
  return { info: write('info'), warn: write('warn'), error: write('error') };
}

/** Notes how each request ends; after every other stage, so that all have done their part. */
function watching(requests: AsyncLocalStorage<Noted>): { plugin: Plugin; options: object; after: string } {
  const plugin: Plugin = {
    name: 'plugin-kit-outcome',
    options: {},
    setup: () => ({ log: (x, outcome) => requests.getStore()?.ended(x, outcome) }),
  };
  return { plugin, options: {}, after: 'logger' };
}

async function injected(
  chain: KitChain,
  requests: AsyncLocalStorage<Noted>,
  request: InjectedRequest,
): Promise<Injected> {
  const { principal = {}, signal } = request;
  const key = principal === null ? null : chain.control.keyOf(principal);
  const call = new ClientCall(sentOf(request, key));
  let timer: NodeJS.Timeout | undefined;
  const leave = (): void => call.disconnect();
  const log: LogLine[] = [];
  const calls: ProviderCall[] = [];
  try {
    const ended = new Promise<[Exchange, Outcome]>((resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`${call.path} was not answered within ${maxMs} ms.`)), maxMs);
      const noted: Noted = { calls, log, ended: (x, outcome) => resolve([x, outcome]) };
      requests.run(noted, () => chain.handle(call));
    });
    if (signal?.aborted) leave();
    else signal?.addEventListener('abort', leave);
    const answered = await Promise.race([call.answered, ended.then(() => call.answered)]);
    const [x, outcome] = isTurnedAway(call) ? [null, null] : await ended;
    return resultOf(answered, { calls, log }, x, outcome);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', leave);
  }
}

/** Is it refused before it meets any stage? */
function isTurnedAway({ method, path }: ClientCall): boolean {
  try {
    return findEndpoint(method, path).name === 'admin';
  } catch {
    return true;
  }
}

function resultOf(
  { status, headers: received, body: bytes }: Received,
  { calls, log }: Pick<Noted, 'calls' | 'log'>,
  x: Exchange | null,
  outcome: Outcome | null,
): Injected {
  const body = bytes.toString();
  const headers = headersOf(received);
  const events = headers['content-type']?.startsWith('text/event-stream') === true ? eventsOf(body) : [];
  const json = events.length === 0 ? parsed(body) : null;
  return {
    status,
    headers,
    body,
    json,
    events,
    text: answerText(json, events),
    outcome: {
      status: outcome?.status ?? status,
      error: outcome?.error?.code ?? null,
      message: outcome?.error?.message ?? null,
      totalMs: outcome?.totalMs ?? 0,
    },
    row: rowOf(x),
    calls,
    log,
  };
}

function rowOf(x: Exchange | null): InjectedRow {
  const { provider = null, modelUsed = null, metadata = {}, fields, attempts = [], usage, cache } = x ?? {};
  return {
    provider,
    model: modelUsed,
    metadata,
    fields: fields ?? {},
    attempts: attempts.map(({ provider, status, error }) => ({ provider, status, error })),
    usage: { input: usage?.input ?? 0, output: usage?.output ?? 0 },
    cache: cache ?? 'DISABLED',
    dropped: x?.dropped ?? [],
  };
}
