import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Plugin } from '../common/plugin-host/plugin.js';
import { loadPlugin } from '../data-plane/pipeline/plugins/plugins.js';
import type { PluginOrFile } from './kit-types.js';

const fileNames = ['index.ts', 'index.mts', 'index.js', 'index.mjs'];

/** The file of a plugin: `given` itself, or the index of that folder. Throws if there is none. */
export function pluginFile(given: string | URL): string {
  const path = resolve(given instanceof URL || given.startsWith('file:') ? fileURLToPath(given) : given);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isFile() === true) return path;
  if (found === undefined) throw new Error(`${path}: there is no such file or folder.`);
  const index = fileNames
    .map((name) => join(path, name))
    .find((file) => statSync(file, { throwIfNoEntry: false })?.isFile() === true);
  if (index === undefined) throw new Error(`${path}: a plugin's folder has an ${fileNames.join(', ')}.`);
  return index;
}

/** The plugin itself, or the one that the file exports. */
export async function pluginOf(given: PluginOrFile): Promise<Plugin> {
  if (typeof given === 'string' || given instanceof URL) return loadPlugin(pluginFile(given));
  return given as Plugin;
}
