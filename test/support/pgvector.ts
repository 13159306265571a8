import { setFlagsFromString } from 'node:v8';
import { PGlite } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import pg from 'pg';
import { Secret } from '../../src/common/access/secret.js';
import { server } from './stores.js';

export interface PgvectorServer {
  readonly url: Secret;
  close(): Promise<void>;
}

/** A PostgreSQL server in this process, with the extension or without; takes seconds to start. */
export async function startPgvector(has = true): Promise<PgvectorServer> {
  // To optimize a whole PostgreSQL takes longer than it runs: 5.1 s of the processor in place of 2.8 s.
  setFlagsFromString('--liftoff-only');
  const db = await PGlite.create(has ? { extensions: { vector } } : {});
  const server = new PGLiteSocketServer({ db, port: 0, host: '127.0.0.1', maxConnections: 8 });
  await server.start();
  return {
    url: new Secret(`postgres://postgres:secret@${server.getServerConn()}/postgres`),
    async close() {
      await server.stop();
      await db.close();
      setFlagsFromString('--no-liftoff-only');
    },
  };
}

/** One without the extension: that of the other tests where it has none, else one in this process. */
export async function withoutPgvector(): Promise<Pick<PgvectorServer, 'url' | 'close'>> {
  const client = new pg.Client({ connectionString: server, connectionTimeoutMillis: 3000 });
  const lacks = await client
    .connect()
    .then(() => client.query("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"))
    .then(
      ({ rowCount }) => rowCount === 0,
      () => false,
    )
    .finally(() => client.end().catch(() => {}));
  return lacks ? { url: new Secret(server), close: async () => {} } : startPgvector(false);
}
