import { join } from 'node:path';
import { root } from './root.js';

/** Does this process run what was built, and not sources, which tsx compiles? */
export const isBuilt = import.meta.filename.endsWith('.js');

/** Of a source by its path from the root: the file that this process would load. */
export const loadedFile = (source: string): string =>
  isBuilt ? join(root, 'dist', source.replace(/\.ts$/, '.js')) : join(root, source);

/** Options of Node by which a program that a test starts can load `loadedFile`: tsx takes a third of a second. */
export const loading: readonly string[] = isBuilt ? [] : ['--import=tsx'];
