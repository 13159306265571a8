import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** With one of these a first start creates other records, or in another place. */
const otherPlaces =
  /^(DATABASE_URL|LEDGER_DATABASE_URL|REDIS_URL|HEADGATE_(CONFIG|ROLE|MASTER_KEY|DATABASE_URL|LEDGER_DATABASE_URL|REDIS_URL)(_FILE)?)$/;

/**
 * An empty folder for a gateway that is started with `env`, or one that has had its first start: with the databases, the master
 * key and the first keys. Creating these takes a quarter of a start's processor time. Such gateways have the same keys and ids,
 * but each has its own databases.
 */
export async function newDataDirectory(env: Readonly<Record<string, string>>): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), 'headgate-test-'));
  if (Object.keys(env).some((name) => otherPlaces.test(name))) return dataDir;
  made ??= make();
  cpSync(await made, dataDir, { recursive: true });
  return dataDir;
}

/** The files that a first start creates; created once a process. */
let made: Promise<string> | null = null;

async function make(): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), 'headgate-test-first-'));
  process.once('exit', () => rmSync(dataDir, { recursive: true, force: true }));
  const [{ loadMasterKey }, { openStore }, { bootstrap }, { openLedger }] = await Promise.all([
    import('../../src/control-plane/store/secrets/master-key.js'),
    import('../../src/control-plane/store/store.js'),
    import('../../src/control-plane/store/bootstrap.js'),
    import('../../src/control-plane/ledger/sql.js'),
  ]);
  const store = await openStore({ dataDir, masterKey: loadMasterKey({ dataDir }) });
  await bootstrap(store, { dataDir, simulated: false });
  await store.close();
  await (await openLedger({ dataDir })).close();
  return dataDir;
}
