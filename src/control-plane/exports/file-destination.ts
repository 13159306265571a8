import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { ExportDestination, ExportWriter } from './destination.js';

const pieceBytes = 64 * 1024;

/** Files in a folder, which this user alone may read. */
export function fileDestination(folder: string): ExportDestination {
  return {
    async open(name, run): Promise<ExportWriter> {
      const path = join(folder, name);
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await removeEarlier(path);
      const part = `${path}.${run}.part`;
      const file = await open(part, 'w', 0o600);
      return {
        async write(text) {
          await file.writeFile(text);
        },
        async finish() {
          await file.sync();
          await file.close();
          await rename(part, path);
        },
        async abandon() {
          await file.close();
          await rm(part, { force: true });
        },
      };
    },

    async remove(name) {
      const path = join(folder, name);
      await rm(path, { force: true });
      await removeEarlier(path);
    },

    async read(name) {
      try {
        const file = await open(join(folder, name), 'r');
        return file.createReadStream({ highWaterMark: pieceBytes }) as AsyncIterable<Buffer>;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
        throw error;
      }
    },
  };
}

/** What a process left that was killed. */
async function removeEarlier(path: string): Promise<void> {
  const start = `${basename(path)}.`;
  const folder = dirname(path);
  const names = await readdir(folder).catch(() => []);
  for (const name of names)
    if (name.startsWith(start) && name.endsWith('.part')) await rm(join(folder, name), { force: true });
}
