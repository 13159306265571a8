import { scheduler } from 'node:timers/promises';
import type { Logger } from '../common/plugin-host/plugin.js';

/**
 * A part of a process: a store, a server, a schedule. It is started after the parts before it in the list, with
 * their values, and stopped before them.
 */
export interface ProcessPart<Needs, Gives> {
  /** As in `starting the ledger`. */
  readonly name: string;
  /** Milliseconds that `stop` may take; default 5 s. */
  readonly stopMs?: number | ((started: Needs) => number);
  readonly start: (needs: Needs) => Gives | Promise<Gives>;
  /** Stops accepting new work. Called for all parts before any is stopped. */
  readonly drain?: (started: Needs & Gives) => void;
  readonly stop?: (started: Needs & Gives) => void | Promise<void>;
}

/** A part did not start. Has the message of its cause, and where the process was. */
export class PartFailed extends Error {
  constructor(
    readonly part: string,
    override readonly cause: unknown,
  ) {
    const error = cause instanceof Error ? cause : new Error(String(cause));
    super(`${error.message} (while starting the ${part})`, { cause });
    this.name = error.name;
    // The stack of the failure itself; that of the list's start is of no use.
    this.stack = `${error.stack ?? error.message}\n    while starting the ${part}`;
  }
}

const defaultStopMs = 5000;

/** A part that has started, with its needs and gives bound. */
interface Started {
  readonly name: string;
  readonly stopMs: number;
  drain(): void;
  stop(): void | Promise<void>;
}

/** Starts a part with all that was given so far; returns that and what the part gives. */
type Starting = (given: object) => Promise<{ given: object; started: Started }>;

/** Parts in the order in which they start. The compiler requires that earlier parts give what a part needs. */
export class PartList<Base extends object, Given> {
  private constructor(readonly parts: readonly { readonly name: string; readonly start: Starting }[]) {}

  static given<Base extends object>(): PartList<Base, Base> {
    return new PartList<Base, Base>([]);
  }

  with<Gives>(part: ProcessPart<Given, Gives>): PartList<Base, Gives extends object ? Given & Gives : Given> {
    const start: Starting = async (given) => {
      const gives = await part.start(given as Given);
      const all = Object.assign({}, given, gives) as Given & Gives;
      const stopMs = typeof part.stopMs === 'function' ? part.stopMs(all) : part.stopMs;
      return {
        given: all as object,
        started: {
          name: part.name,
          stopMs: stopMs ?? defaultStopMs,
          drain: () => part.drain?.(all),
          stop: () => part.stop?.(all),
        },
      };
    };
    return new PartList([...this.parts, { name: part.name, start }]);
  }

  /** Nothing starts before `start` of the result is called. */
  running(base: Base, log: Logger): RunningParts<Given> {
    return new RunningParts(this.parts, base, log);
  }
}

/** The parts of a process, from its start to its end. */
export class RunningParts<Given> {
  readonly #parts: PartList<object, unknown>['parts'];
  readonly #base: object;
  readonly #log: Logger;
  readonly #started: Started[] = [];
  #stopping: Promise<void> | null = null;

  constructor(parts: PartList<object, unknown>['parts'], base: object, log: Logger) {
    this.#parts = parts;
    this.#base = base;
    this.#log = log;
  }

  /** Starts one after the other. If one fails, those before it are stopped, then this rejects with a PartFailed. */
  async start(): Promise<Given> {
    let given = this.#base;
    for (const part of this.#parts) {
      try {
        const next = await part.start(given);
        given = next.given;
        this.#started.push(next.started);
      } catch (error) {
        await this.stop().catch(() => {});
        throw new PartFailed(part.name, error);
      }
      // The handler of unexpected failures has called `stop` meanwhile, which did not stop the part that has just
      // started.
      if (this.#stopping !== null) {
        await this.#stopStarted().catch(() => {});
        throw new PartFailed(part.name, new Error('The process is stopping.'));
      }
    }
    return given as Given;
  }

  /** Stops those that have started, the last one first. Rejects when one has failed, or has not stopped in time; the others are stopped all the same. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopStarted();
    return this.#stopping;
  }

  async #stopStarted(): Promise<void> {
    const parts = this.#started.splice(0).reverse();
    const failures: Error[] = [];
    const attempt = async (part: Started, work: () => void | Promise<void>): Promise<void> => {
      try {
        await work();
      } catch (error) {
        failures.push(error as Error);
        this.#log.error({ err: error, part: part.name }, `The ${part.name} did not stop in order.`);
      }
    };
    for (const part of parts) await attempt(part, () => part.drain());
    for (const part of parts) await attempt(part, () => withinMs(part));
    if (failures[0] !== undefined) throw failures[0];
  }
}

async function withinMs(part: Started): Promise<void> {
  const deadline = new AbortController();
  try {
    await Promise.race([
      part.stop(),
      scheduler.wait(part.stopMs, { signal: deadline.signal }).then(() => {
        throw new Error(`The ${part.name} did not stop within ${part.stopMs} ms.`);
      }),
    ]);
  } finally {
    deadline.abort();
  }
}
