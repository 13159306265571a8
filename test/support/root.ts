import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The folder of the project, for a test that was built into `dist` as for its source. */
export const root: string = projectOf(import.meta.dirname);

function projectOf(folder: string): string {
  return existsSync(join(folder, 'package-lock.json')) ? folder : projectOf(dirname(folder));
}
