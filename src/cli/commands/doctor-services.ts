import type { Secret } from '../../common/access/secret.js';
import { parseRedisUrl } from '../../common/settings/redis-address.js';
import type { Settings } from '../../common/settings/settings.js';

/** What a server that the settings name answers. `ok`: `text` is what was found; else why it cannot be used, as sentences. */
export interface ServiceState {
  readonly check: string;
  readonly ok: boolean;
  readonly text: string;
}

/** Milliseconds. */
const redisMs = 2000;
/** Of an answer to a probe: a few words. */
const maxReplyBytes = 64 * 1024;

/** Asks PostgreSQL and Redis, where the settings name them. Nothing is made or changed there. */
export async function examineServices(
  { databaseUrl, ledgerDatabaseUrl, redisUrl }: Settings,
  newest: number,
): Promise<ServiceState[]> {
  const asked: Promise<ServiceState>[] = [];
  if (databaseUrl !== null) asked.push(database('database', databaseUrl, 'schema_version', newest));
  if (ledgerDatabaseUrl !== null)
    asked.push(database('ledger database', ledgerDatabaseUrl, 'ledger_version', Number.POSITIVE_INFINITY));
  if (redisUrl !== null) asked.push(redis(redisUrl));
  return Promise.all(asked);
}

/** `table`: has the version of the others. `newest`: of those that this program can use. */
async function database(
  check: string,
  url: Secret,
  table: 'schema_version' | 'ledger_version',
  newest: number,
): Promise<ServiceState> {
  const { reach } = await import('../../control-plane/store/sql/connection/postgres.js');
  try {
    const [server, version] = await reach(url, async (client) => {
      const { rows: servers } = await client.query<{ server_version: string }>('SHOW server_version');
      const { rows: tables } = await client.query<{ found: string | null }>(
        `SELECT to_regclass('${table}') AS found`,
      );
      if (tables[0]?.found == null) return [servers[0]?.server_version, 0] as const;
      const { rows } = await client.query<{ version: number | null }>(
        `SELECT max(version) AS version FROM ${table}`,
      );
      return [servers[0]?.server_version, Number(rows[0]?.version ?? 0)] as const;
    });
    if (version > newest) return { check, ok: false, text: newerSchema(version, newest) };
    const schema = version === 0 ? 'its tables are made on the first start' : `schema version ${version}`;
    return { check, ok: true, text: `PostgreSQL ${server} answers; ${schema}` };
  } catch (error) {
    return { check, ok: false, text: error instanceof Error ? error.message : String(error) };
  }
}

const newerSchema = (version: number, newest: number): string =>
  `version ${version} of the schema is newer than this program (${newest}). Start the newer program.`;

async function redis(url: Secret): Promise<ServiceState> {
  const check = 'redis';
  const { openLink } = await import('../../control-plane/shared-state/redis-link.js');
  try {
    const address = parseRedisUrl(url.reveal());
    const link = await openLink({
      address,
      prefix: 'headgate:doctor:',
      openMs: redisMs,
      maxReplyBytes,
      onLost: () => {},
    });
    await link.probe().finally(() => link.close());
    return { check, ok: true, text: 'answers, and takes writes' };
  } catch (error) {
    const why = error instanceof Error ? error.message || error.name : String(error);
    return {
      check,
      ok: false,
      text: `does not answer (${why}). Start it, or correct REDIS_URL; until then each node works by itself.`,
    };
  }
}
