import { closeSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { SqliteConnection } from '../database/sqlite.js';
import type { VectorEngine } from './engine.js';

const schema = `
  CREATE TABLE IF NOT EXISTS cached_questions (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    wall TEXT NOT NULL,
    "key" TEXT NOT NULL,
    until INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    embedding BLOB NOT NULL,
    UNIQUE (wall, "key")
  );
  CREATE INDEX IF NOT EXISTS cached_questions_wall ON cached_questions (wall, seq);
  CREATE INDEX IF NOT EXISTS cached_questions_until ON cached_questions (until);`;

/**
 * Opens (or makes) `<dataDir>/vectors.db`; one that cannot be read is made again, since nothing in it is missed. Rejects
 * where sqlite-vec cannot be loaded, or no file be made.
 */
export async function openSqliteVectors(dataDir: string): Promise<VectorEngine> {
  // Loaded only where it is wanted. Of its own, it has no binary for some platforms.
  const { getLoadablePath } = await import('sqlite-vec');
  const path = join(dataDir, 'vectors.db');
  try {
    return await open(path, getLoadablePath());
  } catch {
    for (const ending of ['', '-wal', '-shm']) rmSync(path + ending, { force: true });
  }
  return open(path, getLoadablePath());
}

async function open(path: string, extension: string): Promise<VectorEngine> {
  // Made here for its mode, which SQLite gives to the files beside it as well.
  closeSync(openSync(path, 'a', 0o600));
  const connection = await SqliteConnection.open(path, [
    'busy_timeout = 1000',
    'journal_mode = WAL',
    'synchronous = NORMAL',
  ]);
  try {
    await connection.loadExtension(extension);
    await connection.exec(schema);
  } catch (error) {
    await connection.close().catch(() => {});
    throw error;
  }
  return {
    name: 'vectors.db',
    run: (sql, parameters) => connection.all(sql, parameters),
    parameter: ({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength),
    distance: (a, b) => `vec_distance_cosine(${a}, ${b})`,
    close: () => connection.close(),
  };
}
