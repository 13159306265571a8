import { rmSync } from 'node:fs';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';

/** What the file may use; DuckDB spills what exceeds the memory into a folder beside it. */
const options = { threads: '1', memory_limit: '256MB', preserve_insertion_order: 'false' };

/**
 * DuckDB's default is an old format that many versions read; grouping by a column with nulls takes ten times as long in it. Tables
 * of earlier files keep that format until they are rebuilt.
 */
const storageVersion = 'v1.5.0';

export interface OpenFile {
  readonly instance: DuckDBInstance;
  readonly connection: DuckDBConnection;
}

/** Opens a file, in which statements find their tables. Throws if it cannot be read, or another process has it open. */
async function attach(path: string): Promise<OpenFile> {
  // Only a file that is attached can be given the version of its format.
  const instance = await DuckDBInstance.create(':memory:', { ...options, temp_directory: `${path}.tmp` });
  const connection = await instance.connect();
  try {
    await connection.run(
      `ATTACH '${path.replaceAll("'", "''")}' AS analytics (STORAGE_VERSION '${storageVersion}'); USE analytics`,
    );
  } catch (error) {
    connection.closeSync();
    instance.closeSync();
    throw error;
  }
  return { instance, connection };
}

/** A file that cannot be read is replaced by an empty one. */
export async function openFile(path: string): Promise<OpenFile> {
  try {
    return await attach(path);
  } catch (error) {
    if (/lock/i.test((error as Error).message)) throw error;
    for (const end of ['', '.wal']) rmSync(path + end, { force: true });
    return attach(path);
  }
}
