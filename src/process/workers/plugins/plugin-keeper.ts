import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Awaitable } from '../../../common/core/directory.js';
import type { InsertedPlugin, InsertedPlugins } from '../../../common/plugin-host/files/inserted.js';
import { type Pack, packPlugin, pluginFile } from '../../../common/plugin-host/files/pack.js';
import { FileFault } from '../../../common/plugin-host/files/strip-types.js';
import type { Metric } from '../../../common/plugin-host/metrics.js';
import type { Logger } from '../../../common/plugin-host/plugin.js';

/** Milliseconds between two looks at the files. */
const lookMs = 300;

/**
 * Makes all data workers run these plugins; resolves with the reason where one of them cannot, and none does then. `mayEnd`: a
 * worker that ends meanwhile is no reason.
 */
export type ApplyPlugins = (insert: readonly InsertedPlugin[], mayEnd?: boolean) => Promise<string | null>;

/** A plugin that blocked a worker: by the version of its files. */
interface SwitchedOff {
  readonly hash: string;
}

/**
 * The custom plugins of this node: what the settings name, with the files that work. A changed file, or changed settings, go
 * to all data workers at once, or to none: what cannot be loaded leaves the old in its place.
 */
export class PluginKeeper {
  #settings: InsertedPlugins;
  /** By name; those that serve. */
  #packs: ReadonlyMap<string, Pack>;
  /** The last attempt: what the files looked like. Not repeated before they change. */
  #seen = '';
  readonly #off = new Map<string, SwitchedOff>();
  readonly #counts = new Map<string, number>();
  #timer: NodeJS.Timeout | null = null;
  #looking: Promise<void> = Promise.resolve();
  #faultPaths: readonly string[] = [];

  private constructor(
    settings: InsertedPlugins,
    packs: ReadonlyMap<string, Pack>,
    readonly log: Logger,
  ) {
    this.#settings = settings;
    this.#packs = packs;
  }

  /** Reads all files. Rejects with file, line and reason of the first that cannot be read. */
  static async open(settings: InsertedPlugins, log: Logger): Promise<PluginKeeper> {
    const packs = new Map<string, Pack>();
    for (const { name } of settings.insert) {
      if (packs.has(name)) continue;
      packs.set(
        name,
        await packOf(settings, name).catch((error: unknown) => {
          throw new Error(
            error instanceof FileFault
              ? `plugin ${name}: it cannot be loaded: ${error.message}`
              : messageOf(error),
          );
        }),
      );
    }
    const keeper = new PluginKeeper(settings, packs, log);
    keeper.#seen = await keeper.#look(settings);
    return keeper;
  }

  /** What data workers run. */
  get current(): InsertedPlugins {
    return { directory: this.#settings.directory, insert: this.#inserted(this.#settings, this.#packs) };
  }

  /** Looks for changes from now on. `settings`: reads them again; null: they do not change. */
  watch(apply: ApplyPlugins, settings: (() => Awaitable<InsertedPlugins>) | null): void {
    const look = (): void => {
      this.#looking = this.#change(apply, settings)
        .catch((error: unknown) => this.log.error({ err: error }, 'the plugins could not be looked at'))
        .then(() => {
          if (this.#timer !== null) this.#timer = setTimeout(look, lookMs).unref();
        });
    };
    this.#timer = setTimeout(look, lookMs).unref();
  }

  async stop(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    await this.#looking;
  }

  /**
   * A data worker is blocked in one of these hooks: if it is clear in which, its plugin is taken out until its files
   * change. Not where a new version is set up: that one does not come to serve.
   */
  stalled(hooks: readonly { readonly plugin: string; readonly hook: string }[], apply: ApplyPlugins): void {
    const names = [...new Set(hooks.map(({ plugin }) => plugin))];
    const name = names[0] ?? '';
    const pack = this.#packs.get(name);
    const isSetUp = hooks.some(({ hook }) => hook === 'setup' || hook === 'import');
    if (names.length !== 1 || pack === undefined || isSetUp || this.#off.get(name)?.hash === pack.hash)
      return;
    this.#off.set(name, { hash: pack.hash });
    this.#count(name, 'off');
    this.log.error({ plugin: name, hooks }, `the plugin ${name} is switched off until its files change`);
    const failed = (reason: string | null): void => {
      if (reason !== null)
        this.log.error({ plugin: name, reason }, `the plugin ${name} could not be switched off`);
    };
    apply(this.current.insert, true).then(failed, (error: unknown) => failed(messageOf(error)));
  }

  metrics(): Metric[] {
    return [
      ...[...this.#counts].map(([key, value]) => {
        const [plugin = '', result = ''] = key.split(' ');
        return { name: 'gateway_plugin_reloads_total', labels: { plugin, result }, value };
      }),
      ...[...this.#packs.keys()].map((plugin) => ({
        ...{ name: 'gateway_plugin_off', labels: { plugin } },
        value: this.#off.has(plugin) ? 1 : 0,
      })),
    ];
  }

  #count(name: string, result: 'replaced' | 'failed' | 'off'): void {
    const key = `${name} ${result}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  #inserted({ insert }: InsertedPlugins, packs: ReadonlyMap<string, Pack>): InsertedPlugin[] {
    return insert.flatMap((entry): InsertedPlugin[] => {
      const pack = packs.get(entry.name)!;
      if (this.#off.get(entry.name)?.hash !== pack.hash) return [{ ...entry, pack }];
      return entry.required === true ? [{ ...entry, off: true }] : [];
    });
  }

  async #change(apply: ApplyPlugins, read: (() => Awaitable<InsertedPlugins>) | null): Promise<void> {
    let settings = this.#settings;
    try {
      settings = (await read?.()) ?? settings;
    } catch (error) {
      return this.#failed('settings', messageOf(error), `settings: ${messageOf(error)}`);
    }
    const seen = await this.#look(settings);
    if (seen === this.#seen) return;
    const packs = new Map<string, Pack>();
    this.#faultPaths = [];
    for (const { name } of settings.insert) {
      try {
        packs.set(name, packs.get(name) ?? (await packOf(settings, name)));
      } catch (error) {
        if (error instanceof FileFault) this.#faultPaths = [error.path];
        return this.#failed(name, messageOf(error), await this.#look(settings));
      }
    }
    const isListed = JSON.stringify(settings) !== JSON.stringify(this.#settings);
    const changed = [...packs]
      .filter(([name, { hash }]) => this.#packs.get(name)?.hash !== hash)
      .map(([name]) => name);
    if (!isListed && changed.length === 0) {
      this.#seen = seen;
      return;
    }
    const failure = await apply(this.#inserted(settings, packs));
    if (failure !== null) return this.#failed(changed.join(', ') || 'settings', failure, seen);
    this.#settings = settings;
    this.#packs = packs;
    this.#seen = seen;
    for (const [name, { hash }] of this.#off) if (packs.get(name)?.hash !== hash) this.#off.delete(name);
    for (const name of changed) this.#count(name, 'replaced');
    this.log.info(
      { plugins: changed },
      isListed ? 'the plugins of the settings were replaced' : 'plugins were replaced',
    );
  }

  /** Once for each state of the files. */
  #failed(name: string, reason: string, seen: string): void {
    if (seen === this.#seen) return;
    this.#seen = seen;
    this.#count(name, 'failed');
    const what = name === 'settings' ? 'the settings of plugins were' : `the plugin ${name} was`;
    this.log.error({ plugin: name, reason }, `${what} not replaced, the old one goes on: ${reason}`);
  }

  /** Changes with the settings, and when any of the files is written, made or removed. */
  async #look(settings: InsertedPlugins): Promise<string> {
    const paths = new Set(this.#faultPaths);
    for (const { name } of settings.insert) {
      for (const { path } of this.#packs.get(name)?.files ?? []) paths.add(path).add(dirname(path));
    }
    if (settings.directory !== null) paths.add(settings.directory);
    const marks = await Promise.all(
      [...paths].map((path) =>
        stat(path).then(
          ({ mtimeMs, size, ino }) => `${path} ${mtimeMs} ${size} ${ino}`,
          () => `${path} -`,
        ),
      ),
    );
    return `${JSON.stringify(settings)}\n${marks.join('\n')}`;
  }
}

async function packOf({ directory }: InsertedPlugins, name: string): Promise<Pack> {
  if (directory === null)
    throw new Error(`plugins.insert: there is no plugin ${name}: plugins.directory is not set.`);
  return packPlugin(pluginFile(directory, name));
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
