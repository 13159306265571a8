import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { lazyAjv } from '../core/ajv.js';
import type { Hooks, Host, Plugin } from '../core/plugin.js';
import { order, type Place, type StageName } from './order.js';

/** A plugin, where it goes, and its options as the settings give them. */
export interface Insertion {
  readonly name: string;
  readonly place: Place;
  readonly options: unknown;
}

export interface Stage {
  readonly name: string;
  readonly hooks: Hooks;
}

/** Imports every plugin of a directory: `<name>.js`, `<name>.mjs` or `<name>/index.js`, each with a plugin as its default export. */
export async function loadPlugins(directory: string): Promise<ReadonlyMap<string, Plugin>> {
  const found = new Map<string, Plugin>();
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const file = entry.isDirectory() ? join(entry.name, 'index.js') : entry.name;
    if (!/\.m?js$/.test(file)) continue;
    const path = resolve(directory, file);
    const plugin = ((await import(pathToFileURL(path).href)) as { default?: Plugin }).default;
    if (plugin === undefined || typeof plugin.name !== 'string' || typeof plugin.setup !== 'function') {
      throw new Error(`${path}: a plugin file exports { name, options, setup } as its default.`);
    }
    found.set(plugin.name, plugin);
  }
  return found;
}

const ajv = lazyAjv({ allErrors: true, useDefaults: true, strict: false, validateSchema: true });

/** Sets a plugin up once, its options checked against its own schema. */
export async function setUp(plugin: Plugin, options: unknown, host: Host): Promise<Stage> {
  const given = options ?? {};
  const validator = ajv();
  if (!validator.validate(plugin.options, given)) {
    const findings = (validator.errors ?? []).map(
      (error) => `options${error.instancePath.replaceAll('/', '.')} ${error.message}`,
    );
    throw new Error(`plugin ${plugin.name}: ${findings.join('; ')}`);
  }
  return { name: plugin.name, hooks: await plugin.setup(given, host) };
}

/** Puts stages into their one order, insertions at their places; several at one place keep the order of the settings. */
export function arrange(
  builtIn: ReadonlyMap<StageName, Stage>,
  inserted: readonly { readonly place: Place; readonly stage: Stage }[],
): Stage[] {
  const chain: Stage[] = [];
  for (const name of order) {
    for (const { place, stage } of inserted)
      if ('before' in place && place.before === name) chain.push(stage);
    const own = builtIn.get(name);
    if (own !== undefined) chain.push(own);
    for (const { place, stage } of inserted) if ('after' in place && place.after === name) chain.push(stage);
  }
  return chain;
}
