import type { Awaitable } from '../../common/core/directory.js';
import type {
  Attempt,
  EditableCall,
  Exchange,
  Outcome,
  Reply,
  StreamEvent,
  UpstreamCall,
} from '../../common/core/exchange.js';
import type { Hooks, Logger } from '../../common/plugin-host/plugin.js';

type RequestHook = NonNullable<Hooks['request']>;
type ExplainHook = NonNullable<Hooks['explain']>;
type AttemptHook = NonNullable<Hooks['attempt']>;
type ReplyHook = NonNullable<Hooks['reply']>;
type TextHook = NonNullable<Hooks['text']>;
type EventHook = NonNullable<Hooks['event']>;
type LogHook = NonNullable<Hooks['log']>;

/** The hooks of every stage, sorted by phase once. A phase without hooks is null and costs one comparison. */
export interface Chain {
  readonly request: readonly RequestHook[];
  readonly explain: readonly ExplainHook[];
  readonly attempt: readonly AttemptHook[] | null;
  readonly reply: readonly ReplyHook[] | null;
  /** For texts of answers; those of requests are passed to them by hooks of `request`. */
  readonly text: readonly TextHook[] | null;
  readonly event: readonly EventHook[] | null;
  readonly log: readonly LogHook[] | null;
  /** Exchanges that run through it. */
  running: number;
  /** Called when the last of them has ended; null: another chain has not taken its place yet. */
  onIdle: (() => void) | null;
  close(): Promise<void>;
}

/** The chain that an exchange began with: it keeps it when plugins are replaced meanwhile. */
export const chainOf = (pipeline: { readonly chain: Chain }, x: Exchange): Chain =>
  (x.chain as Chain | null) ?? pipeline.chain;

/** An exchange begins to run through the present chain; `leaveChain` when its `log` phase is over. */
export function enterChain({ chain }: { readonly chain: Chain }, x: Exchange): void {
  x.chain = chain;
  chain.running++;
}

export function leaveChain(x: Exchange): void {
  const chain = x.chain as Chain | null;
  if (chain !== null && --chain.running === 0) chain.onIdle?.();
}

const orNull = <T>(list: T[]): readonly T[] | null => (list.length === 0 ? null : list);

/**
 * Composes stages, given in their order, into a chain. The hooks `reply` and `event` run in reverse order, and `text` does for
 * answers. `bodyAt`: index of the stage that reads the body; a `text` hook before it gets the texts once it has.
 */
export function composeChain(
  stages: readonly Hooks[],
  bodyAt = 0,
  passRequest: (x: Exchange, hooks: readonly TextHook[]) => Awaitable<undefined> = () => undefined,
): Chain {
  const request: RequestHook[] = [];
  const explain: ExplainHook[] = [];
  const attempt: AttemptHook[] = [];
  const reply: ReplyHook[] = [];
  const text: TextHook[] = [];
  const early: TextHook[] = [];
  const event: EventHook[] = [];
  const log: LogHook[] = [];
  for (const [i, stage] of stages.entries()) {
    if (stage.request) request.push(stage.request.bind(stage));
    const ofText = stage.text?.bind(stage);
    if (ofText !== undefined) text.unshift(ofText);
    if (ofText !== undefined && i <= bodyAt) early.push(ofText);
    if (i === bodyAt && early.length > 0) request.push((x) => passRequest(x, early));
    if (ofText !== undefined && i > bodyAt) request.push((x) => passRequest(x, [ofText]));
    if (stage.explain) explain.push(stage.explain.bind(stage));
    if (stage.attempt) attempt.push(stage.attempt.bind(stage));
    if (stage.reply) reply.unshift(stage.reply.bind(stage));
    if (stage.event) event.unshift(stage.event.bind(stage));
    if (stage.log) log.push(stage.log.bind(stage));
  }
  return {
    request,
    explain,
    attempt: orNull(attempt),
    reply: orNull(reply),
    text: orNull(text),
    event: orNull(event),
    log: orNull(log),
    running: 0,
    onIdle: null,
    async close() {
      for (const stage of [...stages].reverse()) await stage.close?.();
    },
  };
}

/**
 * Runs the `request` phase until a stage answers. Synchronous as long as the hooks are. Rejects if the
 * exchange was aborted while a hook ran: its `log` hooks may have run already, so a later stage could not clean up.
 */
export function runRequest(
  hooks: readonly RequestHook[],
  x: Exchange,
  from = 0,
): Awaitable<Reply | undefined | null> {
  for (let i = from; i < hooks.length; i++) {
    const answer = hooks[i]!(x);
    if (answer === undefined) continue;
    const next = i + 1;
    // The last hook, usually the router's: no hook follows, so its promise is returned unchanged.
    if (next === hooks.length && answer instanceof Promise) return answer as Promise<Reply | undefined>;
    if (isThenable(answer)) {
      return Promise.resolve(answer).then((reply) => {
        if (reply) return reply;
        if (x.aborted !== null) throw x.aborted;
        return runRequest(hooks, x, next);
      });
    }
    if (answer) return answer;
  }
  return null;
}

/** Runs the `attempt` phase. Synchronous as long as the hooks are. */
export function runAttempt(
  hooks: readonly AttemptHook[],
  x: Exchange,
  call: UpstreamCall,
  attempt: Attempt,
  from = 0,
): Awaitable<void> {
  for (let i = from; i < hooks.length; i++) {
    // Only custom plugins use what makes it editable, and it is added where they are called.
    const later = hooks[i]!(x, call as EditableCall, attempt);
    if (later !== undefined && isThenable(later))
      return Promise.resolve(later).then(() => runAttempt(hooks, x, call, attempt, i + 1));
  }
}

/** Runs the `reply` phase. Synchronous as long as the hooks are. */
export function runReply(hooks: readonly ReplyHook[], x: Exchange, reply: Reply, from = 0): Awaitable<Reply> {
  let current = reply;
  for (let i = from; i < hooks.length; i++) {
    const made = hooks[i]!(x, current);
    if (isThenable(made)) {
      const before = current;
      return Promise.resolve(made).then((changed) => runReply(hooks, x, changed ?? before, i + 1));
    }
    current = made ?? current;
  }
  return current;
}

/** Runs one event through every `event` hook; each hook gets the results of the one before. */
export function runEvent(
  hooks: readonly EventHook[],
  x: Exchange,
  event: StreamEvent,
  from = 0,
): readonly StreamEvent[] | Promise<readonly StreamEvent[]> {
  let current = event;
  for (let i = from; i < hooks.length; i++) {
    const answer = hooks[i]!(x, current);
    if (answer === null) return [];
    if (answer instanceof Promise || Array.isArray(answer)) return spread(hooks, x, answer, i + 1);
    current = answer as StreamEvent;
  }
  return [current];
}

async function spread(
  hooks: readonly EventHook[],
  x: Exchange,
  answer: Promise<StreamEvent | readonly StreamEvent[] | null> | readonly StreamEvent[],
  next: number,
): Promise<readonly StreamEvent[]> {
  const made = await answer;
  if (made === null) return [];
  const out: StreamEvent[] = [];
  for (const one of Array.isArray(made) ? (made as readonly StreamEvent[]) : [made as StreamEvent]) {
    out.push(...(await runEvent(hooks, x, one, next)));
  }
  return out;
}

/** Is it a promise of any library? */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
  );
}

function threw(error: unknown, x: Exchange, log: Logger): void {
  log.error({ err: error, request_id: x.id }, 'a log hook threw');
}

/** Runs the `log` phase. A hook that throws is reported; the others still run. */
export function runLog(hooks: readonly LogHook[], x: Exchange, outcome: Outcome, log: Logger): void {
  for (const hook of hooks) {
    try {
      const later: unknown = hook(x, outcome);
      if (isThenable(later)) later.then(undefined, (error: unknown) => threw(error, x, log));
    } catch (error) {
      threw(error, x, log);
    }
  }
}
