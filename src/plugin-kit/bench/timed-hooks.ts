import type { Hooks, Plugin } from '../../common/plugin-host/plugin.js';

/** What a hook took, since `reset`. */
export interface HookTime {
  calls: number;
  /** Milliseconds in which it ran on the thread, until it returned. */
  ranMs: number;
  /** Milliseconds until what it had promised was there, over all calls. */
  waitedMs: number;
}

/** A plugin whose hooks are timed. */
export interface TimedPlugin {
  readonly plugin: Plugin;
  /** By the name of the hook, since the last call. */
  take(): Readonly<Record<string, HookTime>>;
}

type Hook = (...given: never[]) => unknown;

export function timed(plugin: Plugin): TimedPlugin {
  let times: Record<string, HookTime> = {};
  const overheadMs = timerMs();
  const setup = async (options: unknown, host: never): Promise<Hooks> => {
    const hooks = (await plugin.setup(options, host)) as unknown as Readonly<
      Record<string, Hook | undefined>
    >;
    const wrapped: Record<string, Hook> = {};
    for (const name of namesOf(hooks)) {
      const hook = hooks[name];
      if (typeof hook !== 'function') continue;
      wrapped[name] = (...given) => {
        times[name] ??= { calls: 0, ranMs: 0, waitedMs: 0 };
        const time = times[name]!;
        time.calls++;
        const from = performance.now();
        const answer = hook.apply(hooks, given);
        time.ranMs += Math.max(0, performance.now() - from - overheadMs);
        if (!(answer instanceof Promise)) return answer;
        return answer.finally(() => {
          time.waitedMs += performance.now() - from;
        });
      };
    }
    return wrapped as Hooks;
  };
  return {
    plugin: Object.create(plugin, { setup: { value: setup } }) as Plugin,
    take() {
      const taken = times;
      times = {};
      return taken;
    },
  };
}

/** Names of its own members, and for an instance of a class also those of its methods. */
export function namesOf(hooks: object): Set<string> {
  const names = new Set<string>();
  for (let at: object | null = hooks; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at))
    for (const name of Object.getOwnPropertyNames(at)) if (name !== 'constructor') names.add(name);
  return names;
}

/** What it takes to look at the clock twice. */
function timerMs(): number {
  const from = performance.now();
  for (let i = 0; i < 10_000; i++) performance.now();
  return (performance.now() - from) / 10_000;
}
