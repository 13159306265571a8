import type { ChildProcess } from 'node:child_process';
import { replacePluginChecks } from '../../../common/guardrails/known-checks.js';
import type { FromControl, FromWorker } from '../../../common/ipc/messages.js';
import type { InsertedPlugin } from '../../../common/plugin-host/files/inserted.js';
import type { Logger } from '../../../common/plugin-host/plugin.js';
import type { WorkerMember } from '../worker-member.js';
import { PluginChange } from './plugin-change.js';
import { onStall, type Stall } from './stall-pipe.js';

/** The custom plugins of the data workers. */
export class WorkerPlugins {
  readonly #change: PluginChange;
  readonly #stalled: ((stall: Stall) => void)[] = [];
  /** Names of providers that plugins bring, as the worker has it that changed its plugins last. */
  providers: ReadonlySet<string> = new Set();
  /** Counts changes: a worker that starts during one is given what came of it. */
  #changes = 0;

  constructor(
    send: (child: ChildProcess, message: FromControl) => boolean,
    readonly members: ReadonlyMap<number, WorkerMember>,
    readonly log: Logger,
  ) {
    this.#change = new PluginChange(send);
  }

  /**
   * All workers run these plugins, or none does: then it resolves with the reason. `mayEnd`: a worker that ends meanwhile is no
   * reason.
   */
  async change(insert: readonly InsertedPlugin[], mayEnd = false): Promise<string | null> {
    this.#changes++;
    const serving = [...this.members.values()].filter(({ ready }) => ready);
    return this.#change.apply(
      serving.map(({ child }) => child),
      insert,
      mayEnd,
    );
  }

  /** Calls the listener when a plugin blocks a worker, before that is replaced. */
  onStall(listener: (stall: Stall) => void): void {
    this.#stalled.push(listener);
  }

  /** A worker's process was started. */
  started({ number, child }: WorkerMember): void {
    onStall(child, (stall) => {
      const names = stall.hooks.map(({ plugin, hook }) => `${plugin} (${hook})`).join(' or ');
      this.log.error(
        { worker: number, stall },
        `a data worker is blocked by the plugin ${names}; replacing it`,
      );
      for (const listener of this.#stalled) listener(stall);
      child.kill('SIGKILL');
    });
  }

  /** It is given the present plugins. */
  initialised(member: WorkerMember): void {
    member.pluginChanges = this.#changes;
  }

  /** It serves. `present`: the plugins that it should have now. */
  ready({ child, pluginChanges }: WorkerMember, present: () => readonly InsertedPlugin[]): void {
    if (pluginChanges !== this.#changes) void this.#change.apply([child], present(), true);
  }

  take(message: Extract<FromWorker, { t: 'plugins-ready' | 'plugins-bring' }>): void {
    if (message.t === 'plugins-ready') this.#change.answered(message.id, message.failure);
    else {
      this.providers = new Set(message.providers);
      replacePluginChecks(new Map(message.checks));
    }
  }

  ended(child: ChildProcess): void {
    this.#change.ended(child);
  }
}
