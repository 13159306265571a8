// The PostgreSQL database that test/support/stores.ts makes once in a run of `npm test`, and copies for each store.
import { randomUUID } from 'node:crypto';

const server = process.env.TEST_DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/test';

/** Names it for the processes that this one starts. Returns what removes it, also where it was not made. */
export function nameTemplate() {
  const name = `headgate_template_${randomUUID().slice(0, 8)}`;
  process.env.TEST_TEMPLATE = name;
  return async () => {
    // Installed by then.
    const { default: pg } = await import('pg');
    const client = new pg.Client({ connectionString: server, connectionTimeoutMillis: 3000 });
    try {
      await client.connect();
      for (const each of [name, `${name}_new`])
        await client.query(`DROP DATABASE IF EXISTS ${each} WITH (FORCE)`);
    } catch (error) {
      // Without a server there is none; the tests have said so.
      if (error.code !== 'ECONNREFUSED')
        console.error(`The database ${name} was not removed: ${error.message}`);
    } finally {
      await client.end();
    }
  };
}
