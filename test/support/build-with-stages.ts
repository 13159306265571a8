import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './root.js';

/** A copy of the built program with more stages. */
export interface BuiltWithStages {
  readonly main: string;
  remove(): void;
}

/**
 * Copies the built program, adds the folder `test/stages/<name>` of each stage to its plugins, and one line to its order, behind
 * that of `after`. Nothing else of it is changed.
 */
export function buildWithStages(names: readonly string[], after: string): BuiltWithStages {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-stage-'));
  const dist = join(folder, 'dist');
  for (const part of ['src', 'plugins', 'workers', 'proto'])
    cpSync(join(root, 'dist', part), join(dist, part), {
      recursive: true,
      filter: (path) => !path.endsWith('.map'),
    });
  for (const beside of ['node_modules', 'package.json', 'proto'])
    symlinkSync(join(root, beside), join(folder, beside));
  for (const name of names)
    cpSync(join(root, 'dist/test/stages', name), join(dist, 'plugins', name), { recursive: true });
  const order = join(dist, 'src/data-plane/pipeline/order.js');
  const text = readFileSync(order, 'utf8');
  const line = `    '${after}',\n`;
  if (text.split(line).length !== 2) throw new Error(`${order} has no line of its own for ${after}.`);
  writeFileSync(order, text.replace(line, line + names.map((name) => `    '${name}',\n`).join('')));
  return {
    main: join(dist, 'src/main.js'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
