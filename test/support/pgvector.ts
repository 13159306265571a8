import { PGlite } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import { Secret } from '../../src/core/secret.js';

export interface PgvectorServer {
  readonly url: Secret;
  close(): Promise<void>;
}

/** A PostgreSQL server in this process, with the extension or without. */
export async function startPgvector(has = true): Promise<PgvectorServer> {
  const db = await PGlite.create(has ? { extensions: { vector } } : {});
  const server = new PGLiteSocketServer({ db, port: 0, host: '127.0.0.1', maxConnections: 8 });
  await server.start();
  return {
    url: new Secret(`postgres://postgres:secret@${server.getServerConn()}/postgres`),
    async close() {
      await server.stop();
      await db.close();
    },
  };
}
