import type { Secret } from '../../common/access/secret.js';
import type { VectorEngine } from './engine.js';

/** A call waits for a look-up no longer than this; the server need not go on either. */
const statementMs = 2000;

/** In the schema that the deployment's records are in. Dimensions differ by model: the column has none of its own. */
const schema = `
  CREATE TABLE IF NOT EXISTS cached_questions (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    wall TEXT NOT NULL,
    "key" TEXT NOT NULL,
    until BIGINT NOT NULL,
    bytes INTEGER NOT NULL,
    embedding vector NOT NULL,
    UNIQUE (wall, "key")
  );
  CREATE INDEX IF NOT EXISTS cached_questions_wall ON cached_questions (wall, seq);
  CREATE INDEX IF NOT EXISTS cached_questions_until ON cached_questions (until);`;

/** One node at a time makes the table. */
const lock = "SELECT pg_advisory_xact_lock(hashtext('headgate vectors'), hashtext(current_schema()))";

/**
 * The table of questions in a PostgreSQL database, shared by all nodes. null: the server has no pgvector, or `creates`
 * is false and no node has made the table. Rejects where there is one that may not be used.
 */
export async function openPostgresVectors(url: Secret, creates = true): Promise<VectorEngine | null> {
  // Loaded only where it is wanted: it costs a start 40 ms.
  const { Pool } = (await import('pg')).default;
  const pool = new Pool({
    connectionString: url.reveal(),
    application_name: 'headgate vectors',
    connectionTimeoutMillis: statementMs,
    statement_timeout: statementMs,
    query_timeout: 2 * statementMs,
    keepAlive: true,
    max: 1,
  });
  // Of a connection that breaks while nothing runs on it: the next statement gets a new one, or fails.
  pool.on('error', () => {});
  try {
    const offered = await pool.query(
      creates
        ? "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"
        : "SELECT 1 WHERE to_regclass('cached_questions') IS NOT NULL",
    );
    if (offered.rowCount === 0) {
      await pool.end();
      return null;
    }
    if (creates) await pool.query(`BEGIN; ${lock}; CREATE EXTENSION IF NOT EXISTS vector; ${schema}; COMMIT`);
  } catch (error) {
    await pool.end().catch(() => {});
    throw error;
  }
  return {
    name: 'PostgreSQL',
    run: async <Row>(sql: string, parameters: readonly unknown[]) =>
      (await pool.query(sql, [...parameters])).rows as Row[],
    parameter: (vector) => `[${vector.join(',')}]`,
    distance: (a, b) => `(${a} <=> ${b}::vector)`,
    close: () => pool.end(),
  };
}
