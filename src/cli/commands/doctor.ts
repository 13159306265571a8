import type { Stats } from 'node:fs';
import { access, constants, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { type Settings, SettingsError } from '../../common/settings/settings.js';
import {
  effectiveUser,
  examineDataDir,
  judgeMasterKey,
} from '../../control-plane/store/files/private-files.js';
import { writeJson, writeLine } from '../output/output.js';
import { codeOf, portProblem, portsOf, tryPort } from '../ports.js';

/** One check. `todo`: what to do where `ok` is false. */
export interface Finding {
  readonly check: string;
  readonly ok: boolean;
  readonly found: string;
  readonly todo?: string;
}

const good = (check: string, found: string): Finding => ({ check, ok: true, found });
const bad = (check: string, found: string, todo: string): Finding => ({ check, ok: false, found, todo });

/** Looks at everything that a start needs, prints one line each, and sets exit code 1 when any is not as it must be. */
export async function doctor(settings: () => Settings, json: boolean): Promise<void> {
  const findings = await examine(settings);
  const failed = findings.filter((finding) => !finding.ok).length;
  if (json) writeJson({ ok: failed === 0, findings }, 2);
  else {
    for (const { ok, check, found, todo } of findings) {
      writeLine(`${ok ? 'ok  ' : 'FAIL'}  ${check}: ${found}${todo === undefined ? '' : `. ${todo}`}`);
    }
    writeLine(failed === 0 ? 'All is well.' : `${failed} of ${findings.length} need attention.`);
  }
  if (failed > 0) process.exitCode = 1;
}

/** The findings alone. */
export async function examine(read: () => Settings): Promise<readonly Finding[]> {
  const native = [nodeVersion(process.versions.node), uWebSockets(), sqlite(), tiktoken()];
  let settings: Settings;
  try {
    settings = read();
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return [
      ...native,
      ...error.problems.map((problem) => bad('settings', problem, 'Correct it and ask again.')),
    ];
  }
  return [
    ...native,
    good('settings', 'valid'),
    ...(await ports(settings)),
    await dataDirectory(settings.dataDir),
    ...(await privateFiles(settings.dataDir)),
    await masterKey(settings),
    ...(await records(settings)),
  ];
}

/** Where the records are, and what nodes share. */
async function records(settings: Settings): Promise<Finding[]> {
  const { migrations } = await import('../../control-plane/store/migrations/list.js');
  const newest = migrations.at(-1)?.version ?? 0;
  const schema = settings.databaseUrl === null ? [await storeSchema(settings.dataDir, newest)] : [];
  const { examineServices } = await import('./doctor-services.js');
  const services = await examineServices(settings, newest);
  return [...schema, ...services.map(({ check, ok, text }): Finding => ({ check, ok, found: text }))];
}

/** Node lines that the native parts have binaries for. */
export function nodeVersion(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const fits = (major === 20 && minor >= 19) || (major > 20 && major < 24);
  return fits
    ? good('node', version)
    : bad('node', version, 'Install Node 20.19 or newer, below 24 (22 is the long-term line).');
}

// The one place besides their drivers that loads native packages by name: it asks whether they load at all.
const load = createRequire(import.meta.url);

function loads(check: string, name: string, look: (loaded: Record<string, unknown>) => Finding): Finding {
  try {
    return look(load(name) as Record<string, unknown>);
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n')[0] : String(error);
    return bad(check, `does not load (${reason})`, 'Run npm ci again on this machine, with this Node.');
  }
}

function uWebSockets(): Finding {
  return loads('uWebSockets.js', 'uWebSockets.js', ({ App }) =>
    typeof App === 'function'
      ? good('uWebSockets.js', 'loads')
      : bad('uWebSockets.js', 'loads, without an App', 'Run npm ci again, or start with --transport node.'),
  );
}

function sqlite(): Finding {
  return loads('sqlite3', 'sqlite3', ({ VERSION, VERSION_NUMBER }) =>
    Number(VERSION_NUMBER) >= 3_051_003
      ? good('sqlite3', `SQLite ${String(VERSION)}`)
      : bad(
          'sqlite3',
          `SQLite ${String(VERSION)}`,
          '3.51.3 mends a bug that corrupts databases: reinstall sqlite3.',
        ),
  );
}

function tiktoken(): Finding {
  return loads('tiktoken', 'tiktoken/lite', ({ Tiktoken }) =>
    typeof Tiktoken === 'function'
      ? good('tiktoken', 'loads')
      : bad('tiktoken', 'loads, without an encoder', 'Run npm ci again.'),
  );
}

async function ports(settings: Settings): Promise<Finding[]> {
  const { host } = settings;
  const running = await isHeadgate(host, settings.opsPort);
  return Promise.all(
    portsOf(settings).map(async ({ port, flag, use }) => {
      const check = `port ${port}`;
      const code = port === 0 ? null : await tryPort(host, port);
      if (code === null) return good(check, `free (${use})`);
      if (code === 'EADDRINUSE' && running) return good(check, `in use by a running headgate (${use})`);
      return bad(check, `not to be had (${use})`, portProblem(host, port, flag, code));
    }),
  );
}

/** Does a gateway answer the probes where these settings put them? */
async function isHeadgate(host: string, opsPort: number): Promise<boolean> {
  const reachable =
    host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  try {
    const answer = await fetch(`http://${reachable}:${opsPort}/livez`, { signal: AbortSignal.timeout(1000) });
    return answer.ok && (await answer.text()).trim() === 'ok';
  } catch {
    return false;
  }
}

async function dataDirectory(dataDir: string): Promise<Finding> {
  const check = 'data directory';
  try {
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
    return good(check, dataDir);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') {
      return bad(check, `${dataDir} (${codeOf(error)})`, 'Give this user the right to write there.');
    }
  }
  const parent = await nearestExisting(dirname(dataDir));
  const writable = await access(parent, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
  return writable
    ? good(check, `${dataDir} (made on the first start)`)
    : bad(check, `${dataDir} is not there`, `Make it, or let this user write to ${parent}.`);
}

async function nearestExisting(folder: string): Promise<string> {
  for (let at = folder; ; at = dirname(at)) {
    const found = await stat(at).catch(() => null);
    if (found !== null || at === dirname(at)) return at;
  }
}

/** Files that hold keys, or what was asked and answered: shown also where nothing is wrong with them. */
const privateNames = ['master.key', 'first-keys.json', 'headgate.db'];

async function privateFiles(dataDir: string): Promise<Finding[]> {
  const wrong = examineDataDir(dataDir);
  const findings = wrong.map(({ path, found, todo }) =>
    bad(path === dataDir ? 'data directory privacy' : basename(path), found, todo),
  );
  for (const name of privateNames) {
    const file = join(dataDir, name);
    const stats = await stat(file).catch(() => null);
    if (stats === null || wrong.some(({ path }) => path === file)) continue;
    findings.push(good(name, `mode ${(stats.mode & 0o777).toString(8).padStart(4, '0')}`));
  }
  return findings;
}

/** A file that a setting names. */
async function masterKeyFile(check: string, path: string): Promise<Finding> {
  const stats = await stat(path).catch((error: unknown) => error);
  if (stats instanceof Error) {
    return bad(check, `${path} cannot be read (${codeOf(stats)})`, 'Put the file there, or name another.');
  }
  const user = effectiveUser();
  const wrong = user === null ? null : judgeMasterKey(path, stats as Stats, user);
  return wrong === null ? good(check, `in ${path}`) : bad(check, wrong.found, wrong.todo);
}

async function masterKey({ masterKey: given, dataDir }: Settings): Promise<Finding> {
  const check = 'master key';
  if (given?.file) return masterKeyFile(check, given.file);
  if (given !== null) return good(check, 'given by setting');
  const has = (name: string) =>
    stat(join(dataDir, name)).then(
      () => true,
      () => false,
    );
  if (await has('master.key'))
    return good(check, 'in the data directory; back it up apart from the database');
  return (await has('headgate.db'))
    ? bad(
        check,
        'none, though there is a database',
        'Set the HEADGATE_MASTER_KEY it was made with, or put master.key back.',
      )
    : good(check, 'made on the first start');
}

/** Reads the version and nothing else: a gateway may be running on the same file. */
async function storeSchema(dataDir: string, newest: number): Promise<Finding> {
  const check = 'store schema';
  const path = join(dataDir, 'headgate.db');
  const there = await stat(path).catch(() => null);
  if (there === null) return good(check, 'made on the first start');
  let version: number;
  try {
    version = await readVersion(path);
  } catch (error) {
    return bad(check, `${path} cannot be read (${codeOf(error)})`, 'Restore it from a backup.');
  }
  if (version > newest) {
    return bad(check, `version ${version}, newer than this program (${newest})`, 'Start the newer program.');
  }
  return good(
    check,
    version === newest ? `version ${version}` : `version ${version}; the next start brings it to ${newest}`,
  );
}

interface SqliteDatabase {
  get(sql: string, done: (error: Error | null, row?: { version: number | null }) => void): void;
  close(): void;
}

function readVersion(path: string): Promise<number> {
  const { Database, OPEN_READONLY } = load('sqlite3') as {
    OPEN_READONLY: number;
    Database: new (path: string, mode: number, done: (error: Error | null) => void) => SqliteDatabase;
  };
  return new Promise((resolve, reject) => {
    const database = new Database(path, OPEN_READONLY, (failed) => {
      if (failed !== null) return reject(failed);
      database.get('SELECT max(version) AS version FROM schema_version', (error, row) => {
        database.close();
        if (error === null) resolve(row?.version ?? 0);
        else reject(error);
      });
    });
  });
}
