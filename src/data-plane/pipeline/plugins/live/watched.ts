import { GatewayError } from '../../../../common/core/errors.js';
import type { Logger } from '../../../../common/plugin-host/plugin.js';
import { inPluginScope, scopeFields } from '../plugin-scope.js';
import { reportIfBlocked } from './blocked-hooks.js';
import { hookEntered, hookLeft, hookNumber } from './running-hooks.js';

/** Runs a synchronous function of a plugin; `what`: its name in the log. */
export type Watched = <Result>(what: string, work: () => Result) => Result;

/** Runs functions of a plugin that are not hooks; their time and their errors are handled like those of hooks. */
export function watchedBy(plugin: string, hook: string, log: Logger): Watched {
  const number = hookNumber(plugin, hook);
  const scope = { plugin, hook, requestId: null };
  return (what, work) =>
    inPluginScope(scope, () => {
      const interrupted = hookEntered(number);
      const from = performance.now();
      try {
        return work();
      } catch (thrown) {
        if (!(thrown instanceof GatewayError))
          log.error(
            { ...scopeFields(scope), err: thrown },
            `the plugin ${plugin} failed in ${hook}, ${what}`,
          );
        throw thrown;
      } finally {
        hookLeft(interrupted);
        reportIfBlocked(scope, from, log);
      }
    });
}
