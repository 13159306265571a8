import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { order } from '../../data-plane/pipeline/order.js';
import { ownPackage } from '../../process/node/version.js';
import { templates } from './templates.js';

/**
 * Makes the folder of a new plugin in `directory`; returns the names of its files. Throws where the name cannot be one, or
 * the folder has files already.
 */
export function newPlugin(name: string, directory: string): { folder: string; files: readonly string[] } {
  if (!/^[a-z][a-z0-9-]{0,63}$/.test(name))
    throw new Error(
      `${name}: the name of a plugin is a-z, 0-9 and -, and begins with a letter; --directory names the folder in which its own is made.`,
    );
  if ((order as readonly string[]).includes(name))
    throw new Error(`${name} is a stage of the gateway: give the plugin another name.`);
  const folder = join(directory, name);
  mkdirSync(folder, { recursive: true });
  if (readdirSync(folder).length > 0)
    throw new Error(`${folder} has files already: give another name, or --directory.`);
  const files = Object.entries(templates(name, dependency()));
  for (const [file, text] of files) writeFileSync(join(folder, file), text, { flag: 'wx' });
  return { folder, files: files.map(([file]) => file) };
}

/** What a plugin's package.json depends on: the installed version, or the folder of a gateway that was built from its source. */
function dependency(): string {
  const own = ownPackage();
  if (own === null) return '*';
  const folder = fileURLToPath(own.folder);
  return /[/\\]node_modules[/\\]/.test(folder) ? `^${own.version}` : `file:${folder}`;
}
