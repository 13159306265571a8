import type { Sql } from './connection/driver.js';

/** Unix milliseconds of PostgreSQL's clock, which is one for all nodes. */
export async function databaseNow(sql: Sql): Promise<number> {
  const { rows } = await sql.raw('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now');
  return Number(rows[0].now);
}
