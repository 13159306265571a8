import type { Logger } from '../../../common/plugin-host/plugin.js';
import { pluginScope, scopeFields } from '../../../data-plane/pipeline/plugins/plugin-scope.js';

/** The functions of `process` that end a worker. `reallyExit` is what `exit` itself calls; without its control process a worker drains. */
const ending = ['exit', 'abort', 'reallyExit', 'kill', 'disconnect'] as const;
type Ending = (typeof ending)[number];

let isInstalled = false;

/**
 * From now on a plugin that asks `process` to end this worker gets an Error instead, which fails the hook that it
 * runs in. The log names the plugin, the hook and the request. The gateway's own code still ends the process.
 *
 * Signals to processes other than the gateway's are not held back. Neither are native add-ons, nor programs that a plugin starts.
 */
export function guardExit(log: Logger): void {
  if (isInstalled) return;
  isInstalled = true;
  const own = process as unknown as Partial<Record<Ending, (...given: unknown[]) => unknown>>;
  for (const name of ending) {
    // Workers that a test starts in its own process have no control process to disconnect from.
    const original = own[name]?.bind(process);
    if (original === undefined) continue;
    own[name] = (...given) => {
      const scope = pluginScope();
      if (scope === null || !endsWorker(name, given)) return original(...given);
      const call = `process.${name}()`;
      log.error(scopeFields(scope), `the plugin ${scope.plugin} called ${call}, which was refused`);
      throw new Error(
        `The plugin ${scope.plugin} called ${call} in ${scope.hook}. A plugin may not end its worker: throw an Error, or answer with a reply, to end this one request.`,
      );
    };
  }
}

/**
 * Signal 0 only asks whether a process exists; a process id of 0 or below means a group of processes. The parent is the control
 * process, which would end all workers.
 */
function endsWorker(name: Ending, [pid, signal]: readonly unknown[]): boolean {
  if (name !== 'kill') return true;
  const to = Number(pid);
  return signal !== 0 && (to === process.pid || to === process.ppid || to <= 0);
}
