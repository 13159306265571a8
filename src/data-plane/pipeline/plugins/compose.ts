import { addErrors } from '../../../common/core/errors.js';
import type { InsertedPlugins } from '../../../common/plugin-host/files/inserted.js';
import type { Plugin } from '../../../common/plugin-host/plugin.js';
import type { StageName } from '../order.js';
import { blockedHooks } from './live/blocked-hooks.js';
import type { PluginExtensions } from './live/custom-instance.js';
import { LiveChain } from './live/live-chain.js';
import type { Stage } from './plugins.js';
import { type HostParts, stageHost } from './stage-host.js';
import { loadStages } from './stages.js';

/** The settings of the chain, as plain data of a data worker's settings. */
export interface ChainSettings {
  /** Settings of the gateway's own stages, by stage. */
  readonly stages: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Milliseconds that the promise of a custom plugin's hook may take. */
  readonly hookTimeoutMs: number;
  readonly plugins: InsertedPlugins;
}

/** Sets up every stage of the chain: the gateway's own, then the custom plugins. `given`: those that are loaded already. */
export async function composeLive(
  settings: ChainSettings,
  parts: HostParts,
  extensions: PluginExtensions,
  given: ReadonlyMap<string, Plugin> = new Map(),
): Promise<LiveChain> {
  const builtIn = new Map<StageName, Stage>();
  for (const plugin of await loadStages()) {
    addErrors(plugin.name, plugin.errors ?? {});
    const host = stageHost(plugin, parts, true);
    // Their options are settings, and checked as such: ajv need not be loaded for them.
    const options = (settings.stages[plugin.name] ?? {}) as never;
    builtIn.set(plugin.name as StageName, {
      name: plugin.name,
      hooks: await plugin.setup(options, host as never),
    });
  }
  const { directory } = settings.plugins;
  const live = new LiveChain(builtIn, {
    ...{ directory, given, extensions, hookTimeoutMs: settings.hookTimeoutMs },
    host: parts,
  });
  parts.metrics.show(blockedHooks);
  await live.prepare(settings.plugins);
  live.commit();
  return live;
}
