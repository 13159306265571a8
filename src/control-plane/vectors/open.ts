import type { Secret } from '../../common/access/secret.js';
import type { Logger } from '../../common/plugin-host/plugin.js';
import { openPostgresVectors } from './postgres.js';
import { openSqliteVectors } from './sqlite.js';
import { VectorStore } from './store.js';

export interface OpenVectors {
  readonly dataDir: string;
  readonly databaseUrl: Secret | null;
  /** May tables be made in PostgreSQL? Yes unless given. */
  readonly creates?: boolean;
  /** Bytes of vectors; beyond them the oldest go. */
  readonly maxBytes: number;
  readonly log: Logger;
}

/**
 * Opens the questions' vectors: in PostgreSQL where its server has pgvector, else in `<dataDir>/vectors.db`. null: they
 * cannot be had at all, which is reported in the log only.
 */
export async function openVectors(options: OpenVectors): Promise<VectorStore | null> {
  const { dataDir, databaseUrl, creates = true, log } = options;
  try {
    const shared = databaseUrl === null ? null : await openPostgres(databaseUrl, creates, log);
    return new VectorStore(shared ?? (await openSqliteVectors(dataDir)), options);
  } catch (error) {
    log.error({ err: error }, 'vectors.db cannot be opened: no question is found by its meaning');
    return null;
  }
}

async function openPostgres(url: Secret, creates: boolean, log: Logger) {
  try {
    const engine = await openPostgresVectors(url, creates);
    if (engine === null) log.info({}, 'PostgreSQL has no pgvector: each node finds its own questions only');
    return engine;
  } catch (error) {
    log.warn({ err: error }, 'pgvector cannot be used: each node finds its own questions only');
    return null;
  }
}
