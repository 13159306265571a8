// lane: not quick
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { SqliteConnection } from '../../src/control-plane/database/sqlite.js';
import { RefusedStart } from '../../src/control-plane/store/files/refused-start.js';
import { migrations } from '../../src/control-plane/store/migrations/list.js';
import { MasterKey } from '../../src/control-plane/store/secrets/master-key.js';
import { takeManifest } from '../../src/control-plane/store/sql/backup-manifest.js';
import type { Database } from '../../src/control-plane/store/sql/connection/driver.js';
import { databasePath, openSqlite } from '../../src/control-plane/store/sql/connection/sqlite.js';
import { DataKeys } from '../../src/control-plane/store/sql/keys/data-keys.js';
import { SystemKeys } from '../../src/control-plane/store/sql/keys/system-keys.js';
import { migrate } from '../../src/control-plane/store/sql/migrate.js';
import { AuditChain } from '../../src/control-plane/store/sql/records/audit-chain.js';
import { checkSchema } from '../../src/control-plane/store/sql/schema-check.js';
import { openStore } from '../../src/control-plane/store/store.js';

describe('checks of a backup', () => {
  let folder: string;
  const masterKey = new MasterKey(randomBytes(32));

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'headgate-backup-checks-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const change = async (work: (database: Database) => Promise<unknown>): Promise<void> => {
    const database = await openSqlite(folder);
    try {
      await work(database);
    } finally {
      await database.close();
    }
  };

  it('find the schema of every version as it was made, and after it was brought up to date', async () => {
    // A released migration does not change: every fourth version, and all of the last ones, which are new.
    const isTried = (version: number) =>
      process.env['CI'] === 'true' || version % 4 === 0 || version > migrations.length - 3;
    const systemKeys = new SystemKeys(masterKey, Date.now);
    for (const { version } of migrations) {
      await change((database) =>
        migrate(
          database,
          migrations.filter((migration) => migration.version <= version),
          {
            storeName: database.name,
            systemKeys,
            dataKeys: new DataKeys(masterKey, Date.now),
            chain: new AuditChain(() => systemKeys.audit),
          },
          Date.now,
        ),
      );
      if (isTried(version)) await checkSchema(folder, `version ${version}`);
    }
    const store = await openStore({ dataDir: folder, masterKey });
    await store.close();
    await checkSchema(folder, 'the present version');
  });

  it('report that a backup is of a newer version, not that it was altered', async () => {
    await (await openStore({ dataDir: folder, masterKey })).close();
    const newer = migrations.at(-1)!.version + 1;
    await change((database) =>
      database.write(async (sql) => {
        await sql.raw('CREATE TABLE later (id text)');
        await sql('schema_version').insert({ version: newer, name: 'later', applied_at: 0 });
      }),
    );
    const refused = await checkSchema(folder, 'records.backup').catch((error: Error) => error);
    expect(refused).to.be.instanceOf(RefusedStart);
    expect((refused as Error).message).to.equal(
      `records.backup is at version ${newer} and this program supports versions up to ${newer - 1}: restore it with the newer program.`,
    );
  });

  it('find a trigger under a name that SQLite keeps for itself', async () => {
    await (await openStore({ dataDir: folder, masterKey })).close();
    const trigger = 'CREATE TRIGGER sqlite_evil AFTER INSERT ON meta BEGIN DELETE FROM audit_logs; END';
    const bare = await SqliteConnection.open(databasePath(folder), ['writable_schema = ON']);
    await bare.run(
      "INSERT INTO sqlite_master (type, name, tbl_name, rootpage, sql) VALUES ('trigger', 'sqlite_evil', 'meta', 0, ?)",
      [trigger],
    );
    await bare.close();
    const refused = await checkSchema(folder, 'records.backup').catch((error: Error) => error);
    expect(refused).to.be.instanceOf(RefusedStart);
    expect((refused as Error).message).to.include('its trigger sqlite_evil');
  });

  it('do not object to the statistics that SQLite makes for its planner', async () => {
    await (await openStore({ dataDir: folder, masterKey })).close();
    await change((database) => database.write((sql) => sql.raw('ANALYZE')));
    await checkSchema(folder, 'records.backup');
  });

  it('take a manifest that cannot be read for an altered one', async () => {
    await (await openStore({ dataDir: folder, masterKey })).close();
    for (const value of ['', 'x', 'null', '{}', '[]', '{"made_at":1,"mac":null}']) {
      await change(async (database) => {
        await database.write((sql) => sql('meta').insert({ name: 'backup', value }));
        expect(await takeManifest(database, randomBytes(32)), value).to.equal('altered');
        expect(await takeManifest(database, randomBytes(32)), value).to.equal('missing');
      });
    }
  });
});
