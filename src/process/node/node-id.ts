import { linkSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { uuidv7 } from '../../common/text/id.js';
import { RefusedStart } from '../../control-plane/store/files/refused-start.js';

const shape = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Id of the node that owns a data directory: the UUID in its file `node-id`, which the first call makes. The ledger names
 * rows and journals by it, so it moves with the directory and never changes.
 */
export function nodeIdOf(dataDir: string): string {
  const path = join(dataDir, 'node-id');
  const found = read(path);
  if (found !== null) return found;
  const made = `${path}.${process.pid}`;
  writeFileSync(made, `${uuidv7()}\n`, { mode: 0o600 });
  try {
    // A link never replaces a file: of two processes that start at once, both read the id of the first.
    linkSync(made, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    unlinkSync(made);
  }
  return read(path) ?? nodeIdOf(dataDir);
}

/** null: there is no such file. */
function read(path: string): string | null {
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  if (shape.test(text)) return text;
  throw new RefusedStart(
    `${path} does not hold a node's id (a UUID): restore it from a backup, or remove it to start as a new node.`,
  );
}
