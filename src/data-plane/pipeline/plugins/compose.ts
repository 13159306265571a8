import { addErrors } from '../../../common/core/errors.js';
import type { Plugin } from '../../../common/plugin-host/plugin.js';
import { nearest } from '../../../common/text/nearest.js';
import type { Place, StageName } from '../order.js';
import { customHost, customStage } from './custom-stage.js';
import { arrange, loadPlugins, type Stage, setUp } from './plugins.js';
import { explainMissing, type HostParts, stageHost } from './stage-host.js';
import { loadStages } from './stages.js';

/** The settings of the chain, as plain data of a data worker's settings. */
export interface ChainSettings {
  /** Settings of the gateway's own stages, by stage. */
  readonly stages: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Milliseconds that the promise of a custom plugin's hook may take. */
  readonly hookTimeoutMs: number;
  readonly plugins: {
    readonly directory: string | null;
    readonly insert: readonly {
      readonly name: string;
      readonly before?: string;
      readonly after?: string;
      readonly options?: unknown;
    }[];
  };
}

/**
 * Sets up every stage of the chain: the gateway's own, then the custom plugins. Returns them in the order in which they
 * run.
 */
export async function composeStages(settings: ChainSettings, parts: HostParts): Promise<Stage[]> {
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
  return arrange(builtIn, await customStages(settings, parts));
}

async function customStages(
  { plugins: { directory, insert }, hookTimeoutMs }: ChainSettings,
  parts: HostParts,
): Promise<{ place: Place; stage: Stage }[]> {
  const custom = directory === null ? new Map<string, Plugin>() : await loadPlugins(directory);
  const inserted: { place: Place; stage: Stage }[] = [];
  for (const entry of insert) {
    const plugin = custom.get(entry.name);
    if (plugin === undefined)
      throw new Error(
        `plugins.insert: there is no plugin ${entry.name} in ${directory ?? 'plugins.directory (not set)'}${meant(entry.name, custom)}`,
      );
    const place = (entry.before === undefined ? { after: entry.after } : { before: entry.before }) as Place;
    const host = customHost(entry.name, stageHost(plugin, parts, false), plugin.metrics);
    const stage = await setUp(plugin, entry.options, explainMissing(entry.name, host, parts.capabilities));
    // Attempts have timeouts of their own, and a model may answer for minutes.
    const unlimited = plugin.needs?.includes('upstream') ? 'request' : null;
    inserted.push({ place, stage: customStage(stage, parts.log, { ms: hookTimeoutMs, unlimited }) });
  }
  return inserted;
}

function meant(name: string, plugins: ReadonlyMap<string, Plugin>): string {
  const found = nearest(name, plugins.keys());
  return found === null ? '.' : `; did you mean ${found}?`;
}
