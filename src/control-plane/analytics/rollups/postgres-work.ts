import { dayMs } from '../buckets.js';

/** A connection whose statements may take a minute. */
export interface WorkConnection {
  query<Row extends object>(text: string): Promise<{ readonly rows: readonly Row[] }>;
}
export type InConnection = <T>(work: (connection: WorkConnection) => Promise<T>) => Promise<T>;

/** Locked while tables of rollups are created. */
export const rollupsLock = "pg_advisory_xact_lock(hashtext('headgate rollups'), hashtext(current_schema()))";

/** `exchanges_20261123`. */
function dayOfPartition(name: string): number {
  const [, year, month, day] = /_(\d{4})(\d{2})(\d{2})$/.exec(name) ?? [];
  return Date.UTC(Number(year), Number(month) - 1, Number(day)) / dayMs;
}

export async function transaction(
  connection: WorkConnection,
  isolation: 'READ COMMITTED' | 'REPEATABLE READ',
  work: () => Promise<void>,
): Promise<void> {
  await connection.query(`BEGIN ISOLATION LEVEL ${isolation}`);
  try {
    await work();
    await connection.query('COMMIT');
  } catch (error) {
    await connection.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

/** Errors where another node works on the same day: a changed row, a deadlock, a row, table or partition that is there already. */
const isBeside = (error: unknown): boolean =>
  ['40001', '40P01', '23505', '42P07', '42P17', '42809'].includes(String((error as { code?: unknown }).code));
const maxTries = 5;

/** Work on one day, again where another node has worked on it at the same time. */
export async function again(work: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (tries === maxTries || !isBeside(error)) throw error;
    }
  }
}

/** The days that a table has partitions of. */
export async function partitionedDays(
  connection: WorkConnection,
  table: 'exchanges' | 'copied_requests',
): Promise<readonly number[]> {
  const { rows } = await connection.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = '${table}'::regclass`,
  );
  return rows.map(({ name }) => dayOfPartition(name));
}
