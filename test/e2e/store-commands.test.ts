// lane: slow
import { randomBytes } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { SqliteConnection } from '../../src/control-plane/database/sqlite.js';
import { openSqlite } from '../../src/control-plane/store/sql/connection/sqlite.js';
import { headgateHere } from '../support/cli-bench.js';
import { headgate, type Ran, run } from '../support/command.js';
import { examplesOf } from '../support/examples.js';
import { mainFile, type RunningGateway, startGateway } from '../support/gateway.js';
import { root } from '../support/root.js';
import { runTyped } from '../support/typed-commands.js';

const chat = { model: '@simulated/gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] };

describe('the commands that work on the store itself', function () {
  this.timeout(60_000);
  /** Where a gateway has served a call and made two configs; copied for every test. */
  let served: RunningGateway;
  /** How its audit log ended after the first of these. */
  let headAfterOneRow: Record<string, unknown>;
  /** Of the one that runs, if one does. */
  let gateway: RunningGateway | null = null;
  let folder: string;
  let dataDir: string;
  let env: Readonly<Record<string, string>>;

  const simulated = { HEADGATE_SIMULATED: 'true' };
  const start = async (): Promise<RunningGateway> => {
    gateway = await startGateway({ env: simulated, dataDir });
    return gateway;
  };
  const stop = async (): Promise<void> => {
    await gateway?.stop({ keep: true });
    gateway = null;
  };
  const command = (...args: string[]): Promise<Ran> => headgateHere(args, env);
  const backup = (name: string): string => join(folder, name);
  /** The status of a call to the stored provider, whose credential must open for it. */
  async function call({ url, workspaceKey }: RunningGateway): Promise<number> {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'x-gateway-api-key': workspaceKey, 'content-type': 'application/json' },
      body: JSON.stringify(chat),
    });
    await response.text();
    return response.status;
  }
  const configNames = async (of: RunningGateway): Promise<string[]> =>
    (await of.admin().configs.list({ page_size: 1000 })).data.map(({ name }) => name);
  const addConfig = (to: RunningGateway, name: string) =>
    to.admin().configs.create({ name, config: { retry: { attempts: 1 } } });

  before(async () => {
    served = await startGateway({ env: simulated });
    expect(await call(served)).to.equal(200);
    await addConfig(served, '=1+1');
    const bare = await openSqlite(served.dataDir);
    const { seq, hash, mac } = await bare.read((sql) => sql('audit_heads').first());
    await bare.close();
    headAfterOneRow = { seq, hash, mac };
    await addConfig(served, 'plain');
    await served.stop({ keep: true });
  });
  after(() => {
    rmSync(served.dataDir, { recursive: true, force: true });
  });

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'headgate-backup-'));
    dataDir = mkdtempSync(join(tmpdir(), 'headgate-backup-data-'));
    cpSync(served.dataDir, dataDir, { recursive: true });
    env = { HEADGATE_DATA_DIR: dataDir };
  });
  afterEach(async () => {
    await stop();
    for (const path of [folder, dataDir]) rmSync(path, { recursive: true, force: true });
  });

  it('back up what is acknowledged while it is being added to, and restore it once the gateway has stopped', async () => {
    const running = await start();
    let acknowledged = 0;
    let adding = true;
    const adder = (async () => {
      for (; adding; acknowledged++) await addConfig(running, `c${acknowledged}`);
    })();
    while (acknowledged < 3) await new Promise((wait) => setTimeout(wait, 5));
    const before = acknowledged;
    const made = await command('backup', backup('r'), '--ledger', backup('l'));
    const after = acknowledged;
    adding = false;
    await adder;
    expect(made.code, made.stderr).to.equal(0);
    expect(statSync(backup('r')).mode & 0o777).to.equal(0o600);
    expect((await command('backup', backup('r'))).stderr).to.match(/exists already: name another file/);
    expect((await command('backup', join(backup('none'), 'r'))).stderr).to.match(
      /There is no folder .*none for the copy/,
    );

    expect((await command('restore', backup('r'))).stderr).to.match(/is in use by process \d+\. Stop that/);
    expect((await command('master-key', 'rotate')).stderr).to.match(/is in use by process/);
    await stop();
    writeFileSync(backup('damaged'), readFileSync(backup('r')).fill(7, 5000, 9000));
    expect((await command('restore', backup('damaged'))).stderr).to.match(/is not a sound SQLite database/);
    const other = { ...env, HEADGATE_MASTER_KEY: randomBytes(32).toString('hex') };
    expect((await headgateHere(['restore', backup('r')], other)).stderr).to.match(
      /^headgate: The master key is not/,
    );

    const restored = await command('restore', backup('r'), '--ledger', backup('l'));
    expect(restored.code, restored.stderr).to.equal(0);
    const kept = /before: (.+headgate\.db\.before-.+)$/m.exec(restored.stdout)?.[1] ?? '';
    expect(existsSync(kept)).to.equal(true);
    const again = await start();
    const names = await configNames(again);
    expect(names.length).to.be.within(2 + before, 2 + after + 1);
    expect(await call(again)).to.equal(200);
    expect((await again.admin().logs.list()).data.length).to.be.greaterThan(0);
    expect((await command('audit', 'verify')).stdout).to.match(
      new RegExp(`: ${names.length} rows, all as written`),
    );
    const left = readdirSync(dataDir).filter((name) => /restoring|\.tmp$/.test(name));
    expect(left).to.deep.equal([]);
  });

  it('restore into an empty directory that has the master key, and make none where it is missing', async () => {
    expect((await command('backup', backup('r'))).code).to.equal(0);
    const fresh = join(folder, 'data');
    const elsewhere = { HEADGATE_DATA_DIR: fresh };
    expect((await headgateHere(['restore', backup('r')], elsewhere)).stderr).to.match(
      /has no master\.key: put it back/,
    );
    expect(existsSync(fresh)).to.equal(false);
    const key = readFileSync(join(dataDir, 'master.key'), 'utf8').trim();
    const withKey = { ...elsewhere, HEADGATE_MASTER_KEY: key };
    const restored = await headgateHere(['restore', backup('r')], withKey);
    expect(restored.code, restored.stderr).to.equal(0);
    expect((await headgateHere(['audit', 'verify'], withKey)).stdout).to.match(/: 2 rows, all as written/);
  });

  it('change the master key of a stopped gateway, which then serves as before', async () => {
    const before = readFileSync(join(dataDir, 'master.key'), 'utf8');
    const rotated = await command('master-key', 'rotate');
    expect(rotated.code, rotated.stderr).to.equal(0);
    expect(rotated.stderr).to.include('3 of 3 keys are wrapped by the new master key.');
    const after = readFileSync(join(dataDir, 'master.key'), 'utf8');
    expect(after).to.not.equal(before);
    const kept = readdirSync(dataDir).filter((name) => name.startsWith('master.key.'));
    expect(kept).to.have.length(1);
    expect(readFileSync(join(dataDir, kept[0] ?? ''), 'utf8')).to.equal(before);
    rmSync(join(dataDir, kept[0] ?? ''));
    expect(await call(await start())).to.equal(200);
    expect((await command('audit', 'verify')).code).to.equal(0);
  });

  it('finish a change of the master key that was killed before the new key was in its place', async () => {
    const path = join(dataDir, 'master.key');
    const before = readFileSync(path);
    expect((await command('master-key', 'rotate')).code).to.equal(0);
    writeFileSync(`${path}.new`, readFileSync(path), { mode: 0o600 });
    writeFileSync(path, before);
    expect((await headgate({ ...served.env, ...env }, ['serve'])).stderr).to.match(
      /was not finished: run headgate master-key rotate again/,
    );
    expect((await command('master-key', 'rotate')).stderr).to.match(/wrapped by the new master key already/);
    expect((await command('audit', 'verify')).code, 'which opens its keys').to.equal(0);
  });

  it('take a master key that is not in the data directory from a file, or from standard input', async () => {
    const [old = '', next = ''] = [1, 2].map(() => randomBytes(32).toString('hex'));
    expect((await headgate(env, ['master-key', 'rotate', '--new-key-file', '-'], old)).code).to.equal(0);
    rmSync(join(dataDir, 'master.key'));
    const withOld = { ...env, HEADGATE_MASTER_KEY: old };
    expect((await headgateHere(['master-key', 'rotate'], withOld)).stderr).to.match(/--new-key-file <file>/);
    writeFileSync(join(folder, 'next'), `${next}\n`, { mode: 0o600 });
    const rotation = ['master-key', 'rotate', '--new-key-file', join(folder, 'next')];
    const rotated = await headgateHere(rotation, withOld);
    expect(rotated.code, rotated.stderr).to.equal(0);
    expect(`${rotated.stdout}${rotated.stderr}`).to.not.include(next).and.not.include(old);
    const withNext = { ...env, HEADGATE_MASTER_KEY_FILE: join(folder, 'next') };
    expect((await headgateHere(['audit', 'verify'], withNext)).code).to.equal(0);
    expect((await headgateHere(['audit', 'verify'], withOld)).stderr).to.match(
      /^headgate: The master key is not the one/,
    );
  });

  it('verify the audit log, name the first bad row, and export what there is', async () => {
    const fine = await command('audit', 'verify', '--json');
    expect(JSON.parse(fine.stdout)).to.deep.equal({
      organisation: served.organisationId,
      ok: true,
      rows: 2,
      anchored_rows: 2,
    });

    const lines = (await command('audit', 'export')).stdout.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).to.have.nested.property('[0].resource_type', 'config');
    const table = (await command('audit', 'export', '--format', 'csv')).stdout.trimEnd().split('\r\n');
    expect(table[0]).to.match(/^seq,timestamp,allowed,action,/);
    expect(table).to.have.length(3);
    expect((await command('audit', 'export', '--to', '2020-01-01')).stdout.trim()).to.equal('');

    const cut = `${process.execPath} ${mainFile} audit export --format csv | head -c 5`;
    const read = await run('bash', ['-o', 'pipefail', '-c', cut], { env });
    expect(read).to.deep.equal({ code: 0, stdout: 'seq,t', stderr: '' });

    const bare = await openSqlite(dataDir);
    await bare.write((sql) => sql('audit_logs').where({ seq: 2 }).update({ actor_name: 'Nobody' }));
    await bare.close();
    const bad = await command('audit', 'verify');
    expect(bad.code).to.equal(1);
    expect(bad.stdout).to.include('row 2 was edited.');
    expect(bad.stderr).to.equal('headgate: The audit log is not as it was written.\n');
  });

  /** Deletes the rows of the audit log after the first; `head`: the end to put in place, null leaves the present one. */
  async function setLogBack(folderOfStore: string, head: Record<string, unknown> | null): Promise<void> {
    const bare = await openSqlite(folderOfStore);
    await bare.write(async (sql) => {
      await sql('audit_logs').where('seq', '>', 1).delete();
      if (head !== null) await sql('audit_heads').update(head);
    });
    await bare.close();
  }

  it('notice an audit log whose last rows were removed together with its end, and accept it on demand', async () => {
    await setLogBack(dataDir, headAfterOneRow);
    const bad = await command('audit', 'verify');
    expect(bad.stdout).to.include('row 2 and all after it are gone.');
    expect(bad.code).to.equal(1);
    const running = await start();
    const refused = await addConfig(running, 'third').then(
      () => null,
      (error: Error) => error,
    );
    expect(refused?.message).to.include('its last rows are gone');
    expect(await call(running), 'requests are served').to.equal(200);
    await stop();

    const shown = await command('audit', 'accept');
    expect(shown.code).to.equal(2);
    expect(shown.stdout).to.include('rows 2 to 2 were anchored and are gone.');
    expect((await command('audit', 'accept', '--yes')).code).to.equal(0);
    expect((await command('audit', 'verify')).stdout).to.match(
      /: 1 rows, all as written; anchored up to row 1 /,
    );
    await addConfig(await start(), 'third');
  });

  it('notice it by lines of the process log as well, without the file', async () => {
    env = { ...env, HEADGATE_AUDIT_ANCHORS: 'log' };
    gateway = await startGateway({ env: { ...simulated, ...env }, dataDir });
    await addConfig(gateway, 'third');
    const { output } = gateway;
    await stop();
    writeFileSync(join(folder, 'process.log'), output());
    const lines = join(folder, 'process.log');
    const fine = await command('audit', 'verify', '--anchors', lines);
    expect(fine.stdout).to.match(/: 3 rows, all as written; anchored up to row 3 /);
    const bare = await openSqlite(dataDir);
    await bare.write((sql) => sql('audit_logs').where({ seq: 3 }).delete());
    await bare.close();
    expect((await command('audit', 'verify', '--anchors', lines)).stdout).to.include(
      'row 3 and all after it',
    );
    expect((await command('audit', 'verify', '--anchors', mainFile)).stderr).to.include('holds no anchor');
  });

  it('refuse a backup with a trigger, a view or a table that is missing', async () => {
    expect((await command('backup', backup('r'), '--ledger', backup('l'))).code).to.equal(0);
    const alter = async (name: string, sql: string): Promise<void> => {
      cpSync(backup(name), backup(`altered-${name}`));
      const database = await SqliteConnection.open(backup(`altered-${name}`), []);
      await database.exec(sql);
      await database.close();
    };
    const trigger = 'CREATE TRIGGER t AFTER INSERT ON api_keys BEGIN DELETE FROM audit_logs; END';
    for (const [sql, what] of [
      [trigger, 'its trigger t'],
      ['CREATE VIEW v AS SELECT * FROM api_keys', 'its view v'],
      ['DROP TABLE labels', 'no table labels'],
      ['ALTER TABLE api_keys ADD COLUMN more text', 'its table api_keys'],
    ] as const) {
      await alter('r', sql);
      const ran = await command('restore', backup('altered-r'), '--accept-unverified');
      expect(ran.code, sql).to.equal(1);
      expect(ran.stderr).to.include('was altered').and.include(what);
    }
    await alter('l', trigger.replaceAll('api_keys', 'exchanges').replace('audit_logs', 'exchanges'));
    const ran = await command('restore', backup('r'), '--ledger', backup('altered-l'));
    expect(ran.stderr).to.include('it has the trigger t');
    const ofProgram = 'feedbacks_added';
    await alter(
      'l',
      `DROP TRIGGER ${ofProgram}; ${trigger.replace(' t ', ` ${ofProgram} `).replaceAll('api_keys', 'exchanges').replace('audit_logs', 'exchanges')}`,
    );
    const renamed = await command('restore', backup('r'), '--ledger', backup('altered-l'));
    expect(renamed.stderr).to.include(`it has the trigger ${ofProgram}`);
    expect((await command('audit', 'verify')).code, 'what was there is still there').to.equal(0);
  });

  it('show the upgrade of a ledger of an earlier version while it is restored', async () => {
    expect((await command('backup', backup('r'))).code).to.equal(0);
    const old = join(root, 'test/fixtures/ledger-v2/ledger.db');
    const ran = await command('restore', backup('r'), '--ledger', old);
    expect(ran.code, ran.stderr).to.equal(0);
    expect(ran.stderr).to.match(/^The ledger is upgraded: 100 % of \d+ rows\.$/m);
    expect(ran.stdout).to.include(`${old} is restored.`);
  });

  it('refuse a backup whose audit log was cut, with its end or without, unless that is accepted', async () => {
    expect((await command('backup', backup('r'))).code).to.equal(0);
    const altered = join(folder, 'altered');
    for (const [name, change] of [
      ['removed', () => setLogBack(altered, headAfterOneRow)],
      ['not as it was written from row 2', () => setLogBack(altered, null)],
    ] as const) {
      mkdirSync(altered);
      cpSync(backup('r'), join(altered, 'headgate.db'));
      await change();
      const ran = await command('restore', join(altered, 'headgate.db'));
      expect(ran.code, name).to.equal(1);
      expect(ran.stderr).to.include(name).and.include('--accept-unverified');
      const accepted = await command('restore', join(altered, 'headgate.db'), '--accept-unverified');
      expect(accepted.code, accepted.stderr).to.equal(0);
      rmSync(altered, { recursive: true });
    }
    expect((await command('restore', backup('r'))).code).to.equal(0);
    expect((await command('audit', 'verify')).stdout).to.match(
      /: 2 rows, all as written; anchored up to row 2 /,
    );
  });

  it('make nothing where there is no store', async () => {
    const nowhere = {
      HEADGATE_DATA_DIR: join(folder, 'none'),
      HEADGATE_MASTER_KEY: randomBytes(32).toString('hex'),
    };
    for (const args of [
      ['audit', 'verify'],
      ['backup', backup('r')],
      ['audit', 'export'],
    ]) {
      const ran = await headgateHere(args, nowhere);
      expect(ran.code, args.join(' ')).to.equal(1);
      expect(ran.stderr).to.match(/^headgate: There is no .+\n$/);
    }
    expect(readdirSync(folder)).to.deep.equal([]);
  });

  it('do what docs/backup.md describes', async () => {
    const examples = examplesOf('docs/backup.md').filter(({ language }) => language === 'sh');
    expect(examples.length).to.be.greaterThan(5);
    cpSync(join(dataDir, 'audit-anchors.jsonl'), join(folder, 'process.log'));
    for (const { text } of examples) {
      if (text.startsWith('pg_')) continue; // test/contract/store-dump.test.ts types them
      const ran = await runTyped(text, { env, cwd: folder });
      expect(ran.code, `${text}${ran.stderr}`).to.equal(0);
    }
  });
});
