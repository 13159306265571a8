import { randomBytes } from 'node:crypto';
import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { SqliteConnection } from '../../database/sqlite.js';
import { RefusedStart } from './refused-start.js';

function sync(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? String(error);

/**
 * Copies a SQLite database to a file of its own, as it is at one moment, while others read and write it. `finish` may
 * add to the copy, which lies under the name of the original in the folder it is given. The file is there, whole and on
 * disk, or not at all. Throws RefusedStart.
 */
export async function copyDatabase(
  from: string,
  to: string,
  finish: (folder: string) => Promise<void> = async () => {},
): Promise<void> {
  if (!existsSync(from)) throw new RefusedStart(`There is no ${from} to be copied.`);
  const into = dirname(resolve(to));
  if (!existsSync(into))
    throw new RefusedStart(`There is no folder ${into} for the copy: make it, or name another file.`);
  if (existsSync(to)) throw new RefusedStart(`${to} exists already: name another file, or remove it.`);
  const folder = `${resolve(to)}.${randomBytes(4).toString('hex')}.tmp`;
  const copy = join(folder, basename(from));
  try {
    mkdirSync(folder, { mode: 0o700 });
    // Made here for its mode: it holds what the database holds.
    closeSync(openSync(copy, 'wx', 0o600));
    const database = await SqliteConnection.open(from, ['busy_timeout = 5000']);
    try {
      await database.run('VACUUM INTO ?', [copy]);
    } finally {
      await database.close();
    }
    await finish(folder);
    sync(copy);
    // Not renamed: that would take the place of a file made meanwhile.
    linkSync(copy, to);
    sync(dirname(folder));
  } catch (error) {
    if (error instanceof RefusedStart) throw error;
    throw new RefusedStart(`${from} cannot be copied to ${to} (${codeOf(error)}).`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Throws RefusedStart for a file that is no SQLite database, or a damaged one. */
async function checkIntegrity(path: string, shown: string): Promise<void> {
  let found: string;
  try {
    const database = await SqliteConnection.open(path, []);
    try {
      const [row] = await database.all<{ integrity_check: string }>('PRAGMA integrity_check(1)');
      found = row?.integrity_check ?? 'no answer';
    } finally {
      await database.close();
    }
  } catch (error) {
    found = codeOf(error);
  }
  if (found !== 'ok') throw new RefusedStart(`${shown} is not a sound SQLite database (${found}).`);
}

/**
 * Puts a copy of `from` in the place of the database `name` of a data directory that no gateway holds. `prove` opens
 * the copy, in the folder it is given, and throws where it is not to be used; it may bring it up to date. Returns
 * where the file that was there is kept; null: there was none. Killed at any moment, the directory has the one
 * database or the other. Throws RefusedStart.
 */
export async function restoreDatabase(
  dataDir: string,
  name: string,
  from: string,
  prove: (folder: string) => Promise<void>,
): Promise<string | null> {
  const path = join(dataDir, name);
  const folder = join(dataDir, `restoring-${randomBytes(4).toString('hex')}`);
  const copy = join(folder, name);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    try {
      // Its mode first: it may come from a place with a laxer one.
      closeSync(openSync(copy, 'wx', 0o600));
      copyFileSync(from, copy);
    } catch (error) {
      throw new RefusedStart(`${from} cannot be copied to ${dataDir} (${codeOf(error)}).`);
    }
    await checkIntegrity(copy, from);
    await prove(folder);
    sync(copy);
    const kept = existsSync(path) ? `${path}.before-${new Date().toISOString().replace(/[:.]/g, '-')}` : null;
    if (kept !== null) await keep(path, kept);
    renameSync(copy, path);
    sync(dataDir);
    return kept;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Gives a database a second name. */
async function keep(path: string, kept: string): Promise<void> {
  // Its last connection merges what a killed gateway has left beside it.
  await SqliteConnection.open(path, ['wal_checkpoint(TRUNCATE)']).then(
    (database) => database.close(),
    () => {},
  );
  linkSync(path, kept);
  // Of a damaged one: the new database must not take them for its own.
  for (const part of ['-wal', '-shm']) {
    if (existsSync(`${path}${part}`)) renameSync(`${path}${part}`, `${kept}${part}`);
  }
}
