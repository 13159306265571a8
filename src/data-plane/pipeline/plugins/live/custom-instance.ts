import type { InsertedPlugin } from '../../../../common/plugin-host/files/inserted.js';
import { packPlugin, pluginFile } from '../../../../common/plugin-host/files/pack.js';
import type { Metric } from '../../../../common/plugin-host/metrics.js';
import type { Plugin } from '../../../../common/plugin-host/plugin.js';
import type { ProviderDefinition } from '../../../providers/provider.js';
import type { Place } from '../../order.js';
import { customHost, customStage } from '../custom-stage.js';
import { pluginOf, type Stage, setUp } from '../plugins.js';
import { explainMissing, type HostParts, stageHost } from '../stage-host.js';
import { scopeTest } from './insert-scope.js';
import { offStage } from './off-stage.js';
import { checksOf, type PluginCheckRow } from './plugin-checks.js';
import { PluginJobThreads } from './plugin-jobs.js';
import { type ProvidersInUse, providersOf } from './provider-rows.js';
import { hookEntered, hookLeft, hookNumber } from './running-hooks.js';

/** What instances of custom plugins are made with. */
export interface InstanceParts {
  readonly directory: string | null;
  /** Milliseconds that the promise of a hook may take. */
  readonly hookTimeoutMs: number;
  readonly host: HostParts;
  /** Plugins that are loaded already, by name. */
  readonly given: ReadonlyMap<string, Plugin>;
  readonly extensions: PluginExtensions;
}

/** Takes the providers and checks that plugins bring. */
export interface PluginExtensions extends ProvidersInUse {
  /** New requests use these, and nothing else of plugins. */
  replace(
    providers: ReadonlyMap<string, ProviderDefinition>,
    checks: ReadonlyMap<string, PluginCheckRow>,
  ): void;
}

/** A custom plugin that is set up: one version of its files with one set of options. */
export class CustomInstance {
  /** Chains that it is part of and that exchanges still run through. */
  chains = 0;
  readonly #sources: (() => readonly Metric[])[] = [];
  /** Sinks and threads, which are closed with it. */
  readonly #closing: { close(): Promise<void> }[] = [];
  #isShown = false;

  private constructor(
    readonly place: Place,
    readonly parts: InstanceParts,
  ) {}

  stage!: Stage;
  /** Providers that it brings, by name. */
  providers: ReadonlyMap<string, ProviderDefinition> = new Map();
  /** Checks that it brings, by id. */
  checks: ReadonlyMap<string, PluginCheckRow> = new Map();

  /** Rejects with file, line and reason. */
  static async of(entry: InsertedPlugin, parts: InstanceParts): Promise<CustomInstance> {
    const { name, before, after, options, scope } = entry;
    const place = (before === undefined ? { after } : { before }) as Place;
    if (entry.off === true) {
      const refusing = new CustomInstance(place, parts);
      refusing.stage = offStage(name, scopeTest(name, scope));
      return refusing;
    }
    const importing = hookEntered(hookNumber(name, 'import'));
    const plugin = await loaded(entry, parts).finally(() => hookLeft(importing));
    if (plugin.name !== name)
      throw new Error(
        `plugins.insert: the file of the plugin ${name} has one named ${plugin.name}: name the file as the plugin.`,
      );
    const instance = new CustomInstance(place, parts);
    const { log } = parts.host;
    const jobs = new PluginJobThreads(plugin, entry.pack ?? null);
    instance.#closing.push(jobs);
    const own = stageHost(
      plugin,
      {
        ...parts.host,
        metrics: { show: (source) => instance.#show(source) },
        sinks: instance.#closing,
        runJob: (job, data, options) => jobs.run(job, data, options),
      },
      false,
    );
    const host = explainMissing(name, customHost(name, own, plugin.metrics), parts.host.capabilities);
    const settingUp = hookEntered(hookNumber(name, 'setup'));
    const stage = await setUp(plugin, options, host).finally(() => hookLeft(settingUp));
    instance.providers = providersOf(plugin, options, log, stage.formats);
    instance.checks = checksOf(name, stage.checks, log, scopeTest(name, scope));
    // Attempts have timeouts of their own, and a model may answer for minutes.
    const unlimited = plugin.needs?.includes('upstream') ? 'request' : null;
    const made = customStage(stage, log, { ms: parts.hookTimeoutMs, unlimited }, scopeTest(name, scope));
    const { close } = made.hooks;
    const closed = async (): Promise<void> => {
      await close?.();
      await Promise.all(instance.#closing.map((one) => one.close()));
    };
    instance.stage = { name, hooks: { ...made.hooks, close: closed } };
    return instance;
  }

  #show(source: () => readonly Metric[]): void {
    this.#sources.push(source);
    if (this.#isShown) this.parts.host.metrics.show(source);
  }

  /** Its metrics appear when it serves, in place of those of the instance before. */
  show(): void {
    this.#isShown = true;
    for (const source of this.#sources) this.parts.host.metrics.show(source);
  }

  hide(): void {
    this.#isShown = false;
    for (const source of this.#sources) this.parts.host.metrics.hide?.(source);
  }

  async close(): Promise<void> {
    await this.stage.hooks.close?.();
  }
}

async function loaded({ name, pack }: InsertedPlugin, { directory, given }: InstanceParts): Promise<Plugin> {
  const plugin = given.get(name);
  if (plugin !== undefined) return plugin;
  if (pack !== undefined) return pluginOf(pack);
  if (directory === null)
    throw new Error(`plugins.insert: there is no plugin ${name}: plugins.directory is not set.`);
  return pluginOf(await packPlugin(pluginFile(directory, name)));
}
