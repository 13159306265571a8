import { type ChildProcess, execFile, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Command } from 'commander';
import { checkDataDir } from '../../src/cli/commands/serve.js';
import { buildProgram } from '../../src/cli/program.js';
import { settingsTable } from '../../src/common/settings/settings.js';
import { headgateHere } from '../support/cli-bench.js';
import { withoutSettings } from '../support/command.js';
import { freePorts, mainFile } from '../support/gateway.js';
import { root } from '../support/root.js';
import { server as postgres } from '../support/stores.js';

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

describe('the command line', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'headgate-cli-'));
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function headgate(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
    return new Promise((done) => {
      execFile(
        process.execPath,
        [mainFile, ...args],
        { cwd: folder, env: { ...withoutSettings, ...env }, timeout: 25_000 },
        (error, stdout, stderr) => {
          done({
            code: error === null ? 0 : typeof error.code === 'number' ? error.code : -1,
            stdout,
            stderr,
          });
        },
      );
    });
  }

  /** The same in this process, which is quicker, for what starts nothing. */
  const typed = (args: readonly string[], env: Record<string, string> = {}) =>
    headgateHere(args, env, folder);

  const oneLine = (text: string): string => {
    expect(text.trimEnd().split('\n'), text).to.have.length(1);
    return text.trimEnd();
  };

  describe('wrong usage', () => {
    for (const line of [
      'bogus',
      'keys',
      'keys bogus',
      'keys create',
      'keys create --bogus',
      'keys create --name x --expires soon',
      'keys create --name x --organisation',
      'keys list more',
      'keys revoke',
      'keys list --workspace',
      'logs --limit x',
      'logs get',
      'configs list extra arguments',
      'configs get',
      'configs list --page-size many',
      'workspaces bogus',
      'serve --bogus',
      'serve extra',
      'serve --port x',
      'doctor --bogus',
      'simulate --port x',
      'explain',
      'cost explain',
      'audit bogus',
      'audit verify extra',
      'backup',
      'restore',
      'master-key bogus',
      'selftest --bogus',
      'help bogus',
    ]) {
      it(`is exit code 2 with a message: ${line}`, async () => {
        const { code, stderr, stdout } = await typed(line.split(' '));
        expect(code).to.equal(2);
        expect(stderr + stdout).to.not.equal('');
      });
    }
  });

  describe('help', () => {
    it('names every command, and --version the version', async () => {
      const { code, stdout } = await headgate(['--help']);
      expect(code).to.equal(0);
      for (const command of ['serve', 'keys', 'providers', 'configs', 'logs', 'simulate', 'doctor']) {
        expect(stdout).to.match(new RegExp(`^ {2}${command}\\b`, 'm'));
      }
      const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
      expect((await typed(['--version'])).stdout).to.equal(`${version}\n`);
    });

    for (const command of ['keys', 'providers', 'configs', 'logs', 'simulate', 'doctor']) {
      it(`is there for ${command}`, async () => {
        const { code, stdout } = await headgateHere([command, '--help']);
        expect(code).to.equal(0);
        expect(stdout).to.include(`Usage: headgate ${command}`);
      });
    }

    it('has one flag for the workspace, with every command', async () => {
      let found = 0;
      const check = (command: Command): void => {
        for (const { flags } of command.options) {
          expect(flags, command.name()).to.not.include('workspace-id');
          if (flags.startsWith('--workspace ')) found += 1;
        }
        command.commands.forEach(check);
      };
      check(
        await buildProgram(['keys', 'logs', 'explain', 'providers', 'configs', 'api-keys', 'virtual-keys']),
      );
      expect(found).to.be.greaterThan(15);
    });

    it('of serve names every setting with its variable', async () => {
      const { code, stdout } = await headgateHere(['serve', '--help']);
      expect(code).to.equal(0);
      const words = stdout.replace(/\s+/g, ' ');
      for (const { flag, env } of settingsTable) {
        expect(words).to.include(`${flag} `);
        expect(words).to.include(env);
      }
    });

    it('is shown when the name is typed alone', async () => {
      const { code, stdout } = await typed([]);
      expect(code).to.equal(2);
      expect(stdout).to.include('Usage: headgate');
    });
  });

  describe('wrong usage', () => {
    it('of a command is refused with the one that was meant', async () => {
      const { code, stdout, stderr } = await typed(['srve']);
      expect(code).to.equal(2);
      expect(stdout).to.equal('');
      expect(stderr)
        .to.match(/unknown command 'srve'/)
        .and.match(/Did you mean serve\?/);
    });

    it('of a flag is refused with the one that was meant', async () => {
      const { code, stderr } = await typed(['serve', '--prot', '1']);
      expect(code).to.equal(2);
      expect(stderr)
        .to.match(/unknown option '--prot'/)
        .and.match(/--port/);
    });

    it('of a setting is refused with its place', async () => {
      writeFileSync(join(folder, 'headgate.yaml'), 'grcp_port: 1\n');
      const { code, stderr } = await typed(['serve', '--port', 'high'], { HEADGATE_TRANSPORT: 'tcp' });
      expect(code).to.equal(2);
      expect(stderr.trimEnd().split('\n')).to.have.members([
        'headgate: headgate.yaml: grcp_port: no such setting; did you mean grpc_port?',
        'headgate: --port: must be a whole number.',
        'headgate: HEADGATE_TRANSPORT: must be one of uws, node.',
      ]);
    });
  });

  describe('a start that cannot be', () => {
    let taken: Server;
    let takenPort: number;

    before((done) => {
      taken = createServer().listen(0, '127.0.0.1', () => {
        const address = taken.address();
        takenPort = typeof address === 'object' && address !== null ? address.port : 0;
        done();
      });
    });

    after((done) => {
      taken.close(() => done());
    });

    it('reports a busy port in one line and exits', async () => {
      const { code, stdout, stderr } = await headgate([
        'serve',
        '--port',
        '0',
        '--grpc-port',
        String(takenPort),
        '--ops-port',
        '0',
      ]);
      expect(code).to.equal(1);
      expect(stdout).to.equal('');
      expect(oneLine(stderr)).to.match(
        new RegExp(`^headgate: Port ${takenPort} on 127.0.0.1 is in use\\..*--grpc-port`),
      );
    });

    it('reports an address that is not of this machine in one line and exits', async () => {
      const { code, stderr } = await headgate(['serve', '--host', '192.0.2.1']);
      expect(code).to.equal(1);
      expect(oneLine(stderr)).to.match(/^headgate: 192\.0\.2\.1 is not an address of this machine/);
    });

    it('reports a data directory that cannot be written in one line and exits', async () => {
      writeFileSync(join(folder, 'file'), '');
      // Node 20's recursive mkdir never comes back from /proc.
      for (const place of ['file/data', '/proc/headgate/data']) {
        const { code, stderr } = await headgate(['serve', '--data-dir', place]);
        expect(code).to.equal(1);
        expect(oneLine(stderr)).to.match(
          new RegExp(`^headgate: The data directory .*${place} cannot be written to .*--data-dir`),
        );
      }
    });

    it('for a data directory whose parents are missing makes them, for this user alone', async () => {
      const place = join(folder, 'a', 'b', 'data');
      await checkDataDir(place);
      await checkDataDir(place);
      expect(statSync(place).mode & 0o777).to.equal(0o700);
      expect(statSync(join(folder, 'a')).mode & 0o777).to.equal(0o700);
    });

    it('reports a weak master key in one line and exits', async () => {
      const { code, stderr } = await headgate(
        ['serve', '--port', '0', '--grpc-port', '0', '--ops-port', '0'],
        {
          HEADGATE_MASTER_KEY: 'a'.repeat(40),
        },
      );
      expect(code).to.equal(1);
      expect(oneLine(stderr)).to.match(/^headgate: The master key .* too weak/);
    });
  });

  describe('a master key file', () => {
    const anyPorts = ['--port', '0', '--grpc-port', '0', '--ops-port', '0'];
    const key = '0123456789abcdef'.repeat(4);

    const keyFile = (mode: number): string => {
      const file = join(folder, 'secret.key');
      writeFileSync(file, `${key}\n`);
      chmodSync(file, mode);
      return file;
    };

    it('that others can read is refused in one line, however it was named', async () => {
      const file = keyFile(0o644);
      writeFileSync(join(folder, 'headgate.yaml'), 'master_key_file: secret.key\n');
      const refused = [await headgate(['serve', ...anyPorts])];
      rmSync(join(folder, 'headgate.yaml'));
      refused.push(
        await headgate(['serve', ...anyPorts, '--master-key-file', 'secret.key']),
        await headgate(['serve', ...anyPorts], { HEADGATE_MASTER_KEY_FILE: file }),
      );
      for (const { code, stdout, stderr } of refused) {
        expect(code).to.equal(1);
        expect(stdout).to.equal('');
        expect(oneLine(stderr)).to.match(/^headgate: The master key file .*secret\.key .*chmod 600/);
        expect(stderr).not.to.include(key);
      }
    });

    it('of the data directory that is a link, or that others may replace, is refused in one line, and found by doctor', async () => {
      const dataDir = join(folder, 'private');
      mkdirSync(dataDir, { mode: 0o700 });
      symlinkSync(keyFile(0o600), join(dataDir, 'master.key'));
      const settings = ['--data-dir', dataDir, ...anyPorts];
      const linked = await headgate(['serve', ...settings]);
      expect(linked.code).to.equal(1);
      expect(oneLine(linked.stderr)).to.match(/^headgate: .*master\.key: a symbolic link\. /);
      rmSync(join(dataDir, 'master.key'));
      chmodSync(dataDir, 0o777);
      const open = await headgate(['serve', ...settings]);
      expect(open.code).to.equal(1);
      expect(oneLine(open.stderr)).to.match(/^headgate: .*mode 0777\. .* chmod go-w /);
      const { code, stdout } = await typed(['doctor', ...settings]);
      expect(code).to.equal(1);
      expect(stdout).to.match(
        /FAIL {2}data directory privacy: mode 0777\. Other users can write to it: chmod go-w /,
      );
    });

    for (const mode of [0o644, 0o604, 0o606]) {
      it(`of mode ${mode.toString(8)} is found by doctor`, async () => {
        const { code, stdout } = await typed(['doctor', ...anyPorts], {
          HEADGATE_MASTER_KEY_FILE: keyFile(mode),
        });
        expect(code).to.equal(1);
        expect(stdout).to.match(
          /FAIL {2}master key: mode 0\d+\. Other users can read it: chmod 600 .*secret\.key/,
        );
      });
    }
  });

  describe('serve', () => {
    let children: ChildProcess[] = [];

    afterEach(async () => {
      await Promise.all(children.map((child) => ended(child, 'SIGKILL')));
      children = [];
    });

    interface Served {
      readonly child: ChildProcess;
      readonly readyMs: number;
      stdout(): string;
      stderr(): string;
    }

    /** Starts `command` on ports of its own and waits for the example at the end of the greeting. */
    async function started(
      command: string,
      args: readonly string[],
      ports: readonly number[],
    ): Promise<Served> {
      const [port, grpcPort, opsPort] = ports;
      const begun = performance.now();
      const child = spawn(command, args, {
        cwd: root,
        env: {
          ...withoutSettings,
          HEADGATE_PORT: String(port),
          HEADGATE_GRPC_PORT: String(grpcPort),
          HEADGATE_OPS_PORT: String(opsPort),
          HEADGATE_DATA_DIR: join(folder, 'data'),
          HEADGATE_WORKERS: '1',
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      children.push(child);
      let stdout = '';
      let stderr = '';
      child.stderr.on('data', (text: Buffer) => {
        stderr += text.toString();
      });
      await new Promise<void>((done, fail) => {
        child.stdout.on('data', (text: Buffer) => {
          stdout += text.toString();
          if (/-d '\{.*\}'\n/.test(stdout)) done();
        });
        child.on('exit', (code) => fail(new Error(`ended with ${code}:\n${stdout}\n${stderr}`)));
      });
      return { child, readyMs: performance.now() - begun, stdout: () => stdout, stderr: () => stderr };
    }

    function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
      if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode);
      return new Promise((done) => {
        child.once('exit', (code) => done(code));
        child.kill(signal);
      });
    }

    /** Runs the example out of a greeting in a shell, as a reader would paste it. */
    function paste(greeting: string): Promise<{ choices: { message: { content: string } }[] }> {
      const command = greeting.slice(greeting.indexOf('  curl ')).trim();
      expect(command).to.match(/^curl http:\/\/127\.0\.0\.1:\d+\/v1\/chat\/completions/);
      return new Promise((done, fail) => {
        execFile('/bin/sh', ['-c', command], { cwd: root, timeout: 25_000 }, (error, stdout) => {
          if (error) fail(error);
          else done(JSON.parse(stdout));
        });
      });
    }

    /** Of another's port it says whose it is not. */
    async function isKnownToDoctor(ports: readonly number[]): Promise<void> {
      const flags = ['--port', '--grpc-port', '--ops-port'].flatMap((flag, i) => [flag, String(ports[i])]);
      const running = await typed(['doctor', '--json', '--data-dir', 'data', ...flags]);
      const report = JSON.parse(running.stdout) as {
        ok: boolean;
        findings: { check: string; ok: boolean; found: string }[];
      };
      expect(report.findings.filter(({ ok }) => !ok)).to.deep.equal([]);
      expect(running.code).to.equal(0);
      expect(report.findings.map(({ found }) => found)).to.include(
        'in use by a running headgate (data plane)',
      );
      expect(report.findings.find(({ check }) => check === 'store schema')?.found).to.match(/^version \d+$/);
      expect(report.findings.find(({ check }) => check === 'master.key')?.found).to.equal('mode 0600');
    }

    it('shows the first keys once, an example that works as printed, then and later, and is known to doctor', async function () {
      this.timeout(30_000);
      const ports = await freePorts(3);
      const serve = [mainFile, 'serve', '--simulated'];
      const first = await started(process.execPath, serve, ports);
      const keysFile = join(folder, 'data', 'first-keys.json');
      const keys = JSON.parse(readFileSync(keysFile, 'utf8')) as Record<string, string>;
      expect(first.stdout())
        .to.include(keys['admin_key'])
        .and.include(keys['workspace_key'])
        .and.include(keysFile);
      expect(statSync(keysFile).mode & 0o777).to.equal(0o600);
      expect(statSync(join(folder, 'data')).mode & 0o777).to.equal(0o700);
      expect((await paste(first.stdout())).choices[0]?.message.content).to.be.a('string');
      expect(await ended(first.child, 'SIGTERM')).to.equal(0);

      const second = await started(process.execPath, serve, ports);
      expect(second.stdout()).to.match(/is ready at http:\/\/127\.0\.0\.1:\d+ /);
      expect(second.stdout()).not.to.include(keys['admin_key']).and.not.include(keys['workspace_key']);
      expect((await paste(second.stdout())).choices[0]?.message.content).to.be.a('string');
      await isKnownToDoctor(ports);
      expect(await ended(second.child, 'SIGINT')).to.equal(0);
      expect(second.stderr()).to.equal('');
    });
  });

  describe('doctor', () => {
    const free = ['--port', '0', '--grpc-port', '0', '--ops-port', '0'];

    it('finds no problem on a fresh machine, and leaves no file', async () => {
      const { code, stdout } = await headgate(['doctor', ...free]);
      expect(stdout)
        .to.match(/^ok {4}node: 2/m)
        .and.match(/^ok {4}sqlite3: SQLite 3\.\d/m)
        .and.match(/^ok {4}uWebSockets.js: loads/m);
      expect(stdout).to.match(/All is well\.\n$/);
      expect(code).to.equal(0);
      expect(existsSync(join(folder, 'data'))).to.equal(false);
    });

    it('explains what to do about files that other users can read', async () => {
      mkdirSync(join(folder, 'data'), { mode: 0o700 });
      writeFileSync(join(folder, 'data', 'first-keys.json'), '{}', { mode: 0o644 });
      const { code, stdout } = await typed(['doctor', ...free]);
      expect(code).to.equal(1);
      expect(stdout).to.match(/^FAIL {2}first-keys.json: mode 0644\. .*chmod 600 /m);
      expect(stdout).to.match(/1 of \d+ need attention\.\n$/);
    });

    it('reports that a database cannot be opened without its master key', async () => {
      mkdirSync(join(folder, 'data'));
      writeFileSync(join(folder, 'data', 'headgate.db'), 'not a database, either', { mode: 0o600 });
      const { code, stdout } = await typed(['doctor', ...free]);
      expect(code).to.equal(1);
      expect(stdout).to.match(/^FAIL {2}master key: none, though there is a database/m);
      expect(stdout).to.match(/^FAIL {2}store schema: .*SQLITE_NOTADB/m);
    });

    it('asks PostgreSQL and Redis where the settings name them', async () => {
      const { stdout } = await typed(['doctor', ...free], {
        DATABASE_URL: postgres,
        REDIS_URL: 'redis://127.0.0.1:6379',
      });
      expect(stdout)
        .to.match(/^ok {4}database: PostgreSQL \d.* answers; /m)
        .and.match(/^ok {4}redis: answers/m)
        .and.not.match(/store schema/);
    });

    it('explains why PostgreSQL and Redis cannot be used', async () => {
      const { code, stdout } = await typed(['doctor', ...free], {
        DATABASE_URL: 'postgres://gateway:hunter2@127.0.0.1:1/x',
        REDIS_URL: 'redis://:hunter2@127.0.0.1:1',
      });
      expect(code).to.equal(1);
      expect(stdout)
        .to.match(/^FAIL {2}database: The database postgres:\S+ cannot be opened \(ECONNREFUSED\): /m)
        .and.match(/^FAIL {2}redis: does not answer \(.*ECONNREFUSED.*\)\. Start it, or correct REDIS_URL/m)
        .and.not.contain('hunter2');
    });

    it('reports settings that cannot be used along with the rest', async () => {
      const { code, stdout } = await typed(['doctor', '--workers', '0']);
      expect(code).to.equal(1);
      expect(stdout)
        .to.match(/^FAIL {2}settings: --workers: must be at least 1\./m)
        .and.match(/^ok {4}tiktoken/m);
    });
  });

  describe('simulate', () => {
    it('prints an address at which a provider answers', async () => {
      const child = spawn(process.execPath, [mainFile, 'simulate', '--port', '0'], {
        cwd: folder,
        env: withoutSettings,
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      try {
        const url = await new Promise<string>((done, fail) => {
          let text = '';
          child.stdout.on('data', (chunk: Buffer) => {
            text += chunk.toString();
            const found = /http:\/\/127\.0\.0\.1:\d+/.exec(text);
            if (found !== null) done(found[0]);
          });
          child.on('exit', (code) => fail(new Error(`ended with ${code}: ${text}`)));
        });
        const answer = await fetch(`${url}/v1/chat/completions`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: 'Bearer any' },
          body: '{"model":"any","messages":[{"role":"user","content":"Hello"}]}',
        });
        expect(answer.status).to.equal(200);
        expect(await answer.json()).to.have.property('choices');
      } finally {
        const code = new Promise<number | null>((done) => child.once('exit', done));
        child.kill('SIGTERM');
        expect(await code).to.equal(0);
      }
    });

    it('reports a port that is not a number', async () => {
      const { code, stderr } = await typed(['simulate', '--port', '89000']);
      expect(code).to.equal(2);
      expect(oneLine(stderr)).to.match(/^headgate: --port/);
    });
  });
});
