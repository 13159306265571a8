import { deepFreeze } from '../../../common/bytes/deep-freeze.js';
import { GatewayError } from '../../../common/core/errors.js';
import type { Exchange } from '../../../common/core/exchange.js';
import { type HeaderList, isHeaderName, isHeaderValue } from '../../../common/http/headers.js';
import { jsonBytes } from '../../../common/json/json-bytes.js';
import { writeJsonInSlices } from '../../../common/json/json-slices.js';
import type { FullHost, Hooks, Logger } from '../../../common/plugin-host/plugin.js';
import { bodyDigest } from '../../../common/plugin-host/slots.js';
import { maxHeldMs } from '../../../common/plugin-host/texts/text-piece.js';
import { readableError } from '../../../common/text/readable-error.js';
import { isThenable } from '../chain.js';
import { editableCall } from './editable-call.js';
import { reportIfBlocked } from './live/blocked-hooks.js';
import { hookEntered, hookLeft, hookNumber, hookPending } from './live/running-hooks.js';
import { checkedSource, type MetricNames } from './plugin-metrics.js';
import { inPluginScope, outsidePluginScope, type PluginScope, scopeFields } from './plugin-scope.js';
import type { Stage } from './plugins.js';

type HookName = keyof Hooks;
type ExchangeHook = (x: Exchange, ...rest: never[]) => unknown;

/** Milliseconds that the `close` of a plugin may take before the worker exits without it. */
const closeMs = 2000;

/** How long a request waits for what a hook promises. */
export interface HookLimit {
  readonly ms: number;
  /** The hook that may take longer. null: none may. */
  readonly unlimited: HookName | null;
}

/**
 * A custom plugin's stage as the chain runs it: its arguments are frozen, its results are checked, and what
 * it throws is logged with its name. The gateway's own stages are not wrapped.
 */
export function customStage(
  { name, hooks }: Stage,
  log: Logger,
  limit: HookLimit,
  /** Does it run for an exchange? null: for every one. */
  applies: ((x: Exchange) => boolean) | null = null,
): Stage {
  const wrap = (hook: HookName, check?: (answer: unknown) => void): unknown =>
    hooks[hook] === undefined
      ? undefined
      : within(
          applies,
          hook,
          guarded(name, hook, hooks[hook].bind(hooks) as ExchangeHook, log, limit, check),
        );
  const wrapped: Record<string, unknown> = {
    request: wrap('request', checkReply),
    explain: wrap('explain'),
    attempt: withEditableCall(wrap('attempt') as Hooks['attempt']),
    reply: wrap('reply', checkReply),
    text: wrap('text', checkText),
    event: wrap('event', checkEvents),
    log: wrap('log'),
    close: hooks.close === undefined ? undefined : () => close(name, hooks, log),
  };
  for (const hook of Object.keys(wrapped)) if (wrapped[hook] === undefined) delete wrapped[hook];
  return { name, hooks: wrapped as Hooks };
}

type GuardedHook = (x: Exchange, ...rest: never[]) => unknown;

/** A hook that runs for some exchanges only; for the others nothing changes. */
function within(applies: ((x: Exchange) => boolean) | null, hook: HookName, run: GuardedHook): GuardedHook {
  if (applies === null) return run;
  return (x, ...rest) => {
    if (applies(x)) return run(x, ...rest);
    return hook === 'event' ? rest[0] : undefined;
  };
}

/** The `attempt` hook of a custom plugin: it gets the call with `setHeader`. */
function withEditableCall(hook: Hooks['attempt']): Hooks['attempt'] {
  return hook && ((x, call, attempt) => hook(x, editableCall(call), attempt));
}

function guarded(
  plugin: string,
  hook: HookName,
  run: ExchangeHook,
  log: Logger,
  { ms, unlimited }: HookLimit,
  check: (answer: unknown) => void = () => {},
): GuardedHook {
  // No request waits for a log hook.
  const isLimited = hook !== 'log' && hook !== unlimited;
  const number = hookNumber(plugin, hook);
  return (x, ...rest) => {
    const scope = { plugin, hook, requestId: x.id };
    const checked = (answer: unknown): unknown => {
      check(answer);
      if (hook === 'request' || hook === 'reply') reportHeaders(scope, answer ?? rest[0], log);
      return answer;
    };
    const failed = (given: unknown): void => {
      const thrown = readableError(given);
      // A GatewayError is how a plugin refuses a request. In a stream or after the end there is nothing to refuse.
      const isRefusal = thrown instanceof GatewayError && hook !== 'event' && hook !== 'log';
      if (!isRefusal || thrown instanceof LateHookError)
        log.error({ ...scopeFields(scope), err: thrown }, `the plugin ${plugin} failed in ${hook}`);
      // In the log phase no caller waits for an error.
      if (hook !== 'log') throw thrown;
    };
    deepFreeze(x.metadata);
    deepFreeze(x.request.json);
    return inPluginScope(scope, () => {
      const interrupted = hookEntered(number);
      const from = performance.now();
      try {
        const answer = run(x, ...rest);
        if (!isThenable(answer)) return x.body === 'edited' ? written(x, checked(answer)) : checked(answer);
        hookPending(number, 1);
        const later = isLimited ? inTime(plugin, hook, answer, ms) : Promise.resolve(answer);
        return later
          .then(checked)
          .then((done) => (x.body === 'edited' ? written(x, done) : done))
          .catch(failed)
          .finally(() => hookPending(number, -1));
      } catch (thrown) {
        return failed(thrown);
      } finally {
        hookLeft(interrupted);
        reportIfBlocked(scope, from, log);
      }
    });
  };
}

/** Bytes of a body that is written in one turn of the event loop. */
const writeAtMost = 1024 * 1024;

/** Writes the body that the hook has edited; then `answer`. */
function written(x: Exchange, answer: unknown): unknown {
  const { json, bytes } = x.request;
  x.body = 'open';
  // It was the digest of the client's bytes.
  x.set(bodyDigest, null);
  if ((bytes?.length ?? 0) > writeAtMost)
    return writeJsonInSlices(json).then((long) => {
      x.edit(json!, long);
      return answer;
    });
  x.edit(json!, jsonBytes(json));
  return answer;
}

/** A hook did not keep its promise in time. */
export class LateHookError extends GatewayError {
  constructor(plugin: string, hook: HookName, ms: number) {
    super(
      'internal',
      `The hook ${hook} of the plugin ${plugin} took longer than ${ms} ms (HEADGATE_HOOK_TIMEOUT_MS).`,
    );
  }
}

/** What a hook promises, or a LateHookError after `ms`; what it promises later is ignored. */
function inTime(
  plugin: string,
  hook: HookName,
  promised: PromiseLike<unknown>,
  ms: number,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new LateHookError(plugin, hook, ms)), ms);
    Promise.resolve(promised)
      .then(resolve, reject)
      .then(() => clearTimeout(timer));
  });
}

function checkReply(answer: unknown): void {
  if (!answer) return;
  const { status, headers } = answer as { status?: unknown; headers?: unknown };
  const isStatus = Number.isInteger(status) && Number(status) >= 100 && Number(status) <= 599;
  if (isStatus && Array.isArray(headers)) return;
  throw new TypeError('It returned no Reply: { status, headers, body, events, errorOrigin }, or nothing.');
}

/** Names the headers of a reply that cannot be written: the transport leaves them out. */
function reportHeaders(scope: PluginScope, reply: unknown, log: Logger): void {
  const { headers } = (reply ?? {}) as { headers?: HeaderList };
  if (headers === undefined) return;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    if (isHeaderName(name) && isHeaderValue(headers[i + 1]!)) continue;
    log.warn(
      { ...scopeFields(scope), header: name },
      `after ${scope.hook} of the plugin ${scope.plugin} the answer has a header with a character that no header may have; it is left out`,
    );
  }
}

function checkText(answer: unknown): void {
  if (answer === undefined || typeof answer === 'string') return;
  const { text, held, ms } = (answer ?? {}) as { text?: unknown; held?: unknown; ms?: unknown };
  const isTime = ms === undefined || (typeof ms === 'number' && ms > 0 && ms <= maxHeldMs);
  if (typeof text === 'string' && typeof held === 'string' && isTime) return;
  throw new TypeError('It returned no text: a string, { text, held, ms? }, or nothing to leave it as it is.');
}

function checkEvents(answer: unknown): void {
  if (answer === null) return;
  for (const event of Array.isArray(answer) ? answer : [answer]) {
    const { name, data } = (event ?? {}) as { name?: unknown; data?: unknown };
    if (typeof data === 'string' && (name === null || name === undefined || typeof name === 'string'))
      continue;
    throw new TypeError('It returned no event: { name, data }, a list of them, or null to drop it.');
  }
}

async function close(plugin: string, hooks: Hooks, log: Logger): Promise<void> {
  const scope = { plugin, hook: 'close', requestId: null };
  let timer: NodeJS.Timeout | undefined;
  try {
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`It took longer than ${closeMs} ms.`)), closeMs);
    });
    await Promise.race([inPluginScope(scope, async () => hooks.close?.()), late]);
  } catch (thrown) {
    log.error({ ...scopeFields(scope), err: thrown }, `the plugin ${plugin} failed in close`);
  } finally {
    clearTimeout(timer);
  }
}

/** The host of a custom plugin: the gateway's own work that it requests is not attributed to the plugin. */
export function customHost(plugin: string, host: FullHost, declared?: MetricNames): FullHost {
  const custom: FullHost = {
    ...host,
    metrics: { show: (source) => host.metrics.show(checkedSource(plugin, source, host.log, declared)) },
  };
  for (const name of ['attempt', 'aside', 'inputTokens', 'upstreamKey'] as const) {
    const work = host[name] as ((...given: unknown[]) => unknown) | undefined;
    if (work !== undefined)
      Object.assign(custom, { [name]: (...given: unknown[]) => outsidePluginScope(() => work(...given)) });
  }
  return custom;
}
