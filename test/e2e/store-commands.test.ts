import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { openSqlite } from '../../src/store/sql/sqlite.js';
import { headgate, type Ran, run } from '../support/command.js';
import { examplesOf } from '../support/examples.js';
import { mainFile, type RunningGateway, startGateway } from '../support/gateway.js';

const chat = { model: '@simulated/gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] };

describe('the commands that work on the store itself', function () {
  this.timeout(60_000);
  let gateway: RunningGateway;
  let folder: string;

  const start = (): Promise<RunningGateway> => startGateway({ env: { HEADGATE_SIMULATED: 'true' } });
  const command = (...args: string[]): Promise<Ran> => headgate(gateway.env, args);
  const backup = (name: string): string => join(folder, name);
  /** The status of a call to the stored provider, whose credential must open for it. */
  async function call(): Promise<number> {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'x-gateway-api-key': gateway.workspaceKey, 'content-type': 'application/json' },
      body: JSON.stringify(chat),
    });
    await response.text();
    return response.status;
  }
  const configNames = async (): Promise<string[]> =>
    (await gateway.admin().configs.list({ page_size: 1000 })).data.map(({ name }) => name);
  const addConfig = (name: string) =>
    gateway.admin().configs.create({ name, config: { retry: { attempts: 1 } } });
  const stop = () => gateway.stop({ keep: true });

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'headgate-backup-'));
    gateway = await start();
  });
  afterEach(async () => {
    await gateway?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('back up what is acknowledged while it is being added to, and restore it once the gateway has stopped', async () => {
    expect(await call()).to.equal(200);
    let acknowledged = 0;
    let adding = true;
    const adder = (async () => {
      for (; adding; acknowledged++) await addConfig(`c${acknowledged}`);
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

    expect((await command('restore', backup('r'))).stderr).to.match(/is in use by process \d+\. Stop that/);
    await stop();
    writeFileSync(backup('damaged'), readFileSync(backup('r')).fill(7, 5000, 9000));
    expect((await command('restore', backup('damaged'))).stderr).to.match(/is not a sound SQLite database/);
    const other = { ...gateway.env, HEADGATE_MASTER_KEY: randomBytes(32).toString('hex') };
    expect((await headgate(other, ['restore', backup('r')])).stderr).to.match(
      /^headgate: The master key is not/,
    );

    const restored = await command('restore', backup('r'), '--ledger', backup('l'));
    expect(restored.code, restored.stderr).to.equal(0);
    const kept = /before: (.+headgate\.db\.before-.+)$/m.exec(restored.stdout)?.[1] ?? '';
    expect(existsSync(kept)).to.equal(true);
    gateway = await gateway.restart();
    const names = await configNames();
    expect(names.length).to.be.within(before, after + 1);
    expect(await call()).to.equal(200);
    expect((await gateway.admin().logs.list()).data.length).to.be.greaterThan(0);
    expect((await command('audit', 'verify')).stdout).to.match(
      new RegExp(`: ${names.length} rows, all as written`),
    );
    const left = readdirSync(gateway.dataDir).filter((name) => /restoring|\.tmp$/.test(name));
    expect(left).to.deep.equal([]);
  });

  it('restore into an empty directory that has the master key, and make none where it is missing', async () => {
    await addConfig('kept');
    expect((await command('backup', backup('r'))).code).to.equal(0);
    const fresh = join(folder, 'data');
    const env = { ...gateway.env, HEADGATE_DATA_DIR: fresh };
    expect((await headgate(env, ['restore', backup('r')])).stderr).to.match(
      /has no master\.key: put it back/,
    );
    expect(existsSync(fresh)).to.equal(false);
    const key = readFileSync(join(gateway.dataDir, 'master.key'), 'utf8').trim();
    const restored = await headgate({ ...env, HEADGATE_MASTER_KEY: key }, ['restore', backup('r')]);
    expect(restored.code, restored.stderr).to.equal(0);
    const verified = await headgate({ ...env, HEADGATE_MASTER_KEY: key }, ['audit', 'verify']);
    expect(verified.stdout).to.match(/: 1 rows, all as written/);
  });

  it('change the master key of a stopped gateway, which then serves as before', async () => {
    expect((await command('master-key', 'rotate')).stderr).to.match(/is in use by process/);
    await stop();
    const before = readFileSync(join(gateway.dataDir, 'master.key'), 'utf8');
    const rotated = await command('master-key', 'rotate');
    expect(rotated.code, rotated.stderr).to.equal(0);
    expect(rotated.stderr).to.include('3 of 3 keys are wrapped by the new master key.');
    const after = readFileSync(join(gateway.dataDir, 'master.key'), 'utf8');
    expect(after).to.not.equal(before);
    const kept = readdirSync(gateway.dataDir).filter((name) => name.startsWith('master.key.'));
    expect(kept).to.have.length(1);
    expect(readFileSync(join(gateway.dataDir, kept[0] ?? ''), 'utf8')).to.equal(before);
    rmSync(join(gateway.dataDir, kept[0] ?? ''));
    gateway = await gateway.restart();
    expect(await call()).to.equal(200);
    expect((await command('audit', 'verify')).code).to.equal(0);
  });

  it('finish a change of the master key that was killed before the new key was in its place', async () => {
    await stop();
    const path = join(gateway.dataDir, 'master.key');
    const before = readFileSync(path);
    expect((await command('master-key', 'rotate')).code).to.equal(0);
    writeFileSync(`${path}.new`, readFileSync(path), { mode: 0o600 });
    writeFileSync(path, before);
    expect((await command('serve')).stderr).to.match(
      /was not finished: run headgate master-key rotate again/,
    );
    expect((await command('master-key', 'rotate')).stderr).to.match(/wrapped by the new master key already/);
    gateway = await gateway.restart();
    expect(await call()).to.equal(200);
  });

  it('take a master key that is not in the data directory from a file, or from standard input', async () => {
    await stop();
    const [old = '', next = ''] = [1, 2].map(() => randomBytes(32).toString('hex'));
    expect((await headgate(gateway.env, ['master-key', 'rotate', '--new-key-file', '-'], old)).code).to.equal(
      0,
    );
    rmSync(join(gateway.dataDir, 'master.key'));
    const env = { ...gateway.env, HEADGATE_MASTER_KEY: old };
    expect((await headgate(env, ['master-key', 'rotate'])).stderr).to.match(/--new-key-file <file>/);
    writeFileSync(join(folder, 'next'), `${next}\n`, { mode: 0o600 });
    const rotated = await headgate(env, ['master-key', 'rotate', '--new-key-file', join(folder, 'next')]);
    expect(rotated.code, rotated.stderr).to.equal(0);
    expect(`${rotated.stdout}${rotated.stderr}`).to.not.include(next).and.not.include(old);
    const nextEnv = { ...gateway.env, HEADGATE_MASTER_KEY_FILE: join(folder, 'next') };
    expect((await headgate(nextEnv, ['audit', 'verify'])).code).to.equal(0);
    expect((await headgate(env, ['audit', 'verify'])).stderr).to.match(
      /^headgate: The master key is not the one/,
    );
  });

  it('verify the audit log while the gateway serves, name the first bad row, and export what there is', async () => {
    for (const name of ['=1+1', 'plain']) await addConfig(name);
    const fine = await command('audit', 'verify', '--json');
    expect(JSON.parse(fine.stdout)).to.deep.equal({
      organisation: gateway.organisationId,
      ok: true,
      rows: 2,
    });

    const lines = (await command('audit', 'export')).stdout.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).to.have.nested.property('[0].resource_type', 'config');
    const table = (await command('audit', 'export', '--format', 'csv')).stdout.trimEnd().split('\r\n');
    expect(table[0]).to.match(/^seq,timestamp,allowed,action,/);
    expect(table).to.have.length(3);
    expect((await command('audit', 'export', '--to', '2020-01-01')).stdout.trim()).to.equal('');

    const cut = `${process.execPath} ${mainFile} audit export --format csv | head -c 5`;
    const read = await run('bash', ['-o', 'pipefail', '-c', cut], { env: gateway.env });
    expect(read).to.deep.equal({ code: 0, stdout: 'seq,t', stderr: '' });

    const bare = await openSqlite(gateway.dataDir);
    await bare.write((sql) => sql('audit_logs').where({ seq: 2 }).update({ actor_name: 'Nobody' }));
    await bare.close();
    const bad = await command('audit', 'verify');
    expect(bad.code).to.equal(1);
    expect(bad.stdout).to.include('row 2 was edited.');
    expect(bad.stderr).to.equal('headgate: The audit log is not as it was written.\n');
  });

  it('make nothing where there is no store', async () => {
    const env = {
      HEADGATE_DATA_DIR: join(folder, 'none'),
      HEADGATE_MASTER_KEY: randomBytes(32).toString('hex'),
    };
    for (const args of [
      ['audit', 'verify'],
      ['backup', backup('r')],
      ['audit', 'export'],
    ]) {
      const ran = await headgate(env, args);
      expect(ran.code, args.join(' ')).to.equal(1);
      expect(ran.stderr).to.match(/^headgate: There is no .+\n$/);
    }
    expect(readdirSync(folder)).to.deep.equal([]);
  });

  it('do what docs/backup.md says to type', async () => {
    expect(await call()).to.equal(200);
    const examples = examplesOf('docs/backup.md').filter(({ language }) => language === 'sh');
    expect(examples.length).to.be.greaterThan(5);
    for (const { text } of examples) {
      if (text.startsWith('pg_')) continue; // test/contract/store-dump.test.ts types them
      if (text.includes('restore')) await stop();
      if (text.includes('audit verify')) gateway = await gateway.restart();
      const line = text.replaceAll('npx headgate', `${process.execPath} ${mainFile}`);
      const ran = await run('bash', ['-euo', 'pipefail', '-c', line], { env: gateway.env, cwd: folder });
      expect(ran.code, `${text}${ran.stderr}`).to.equal(0);
    }
  });
});
