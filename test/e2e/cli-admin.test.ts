import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { headgateHere } from '../support/cli-bench.js';
import { mainFile, type RunningGateway, startGateway } from '../support/gateway.js';

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

describe('administrative commands, typed at a running gateway', function () {
  this.timeout(20_000);
  let gateway: RunningGateway;

  before(async () => {
    gateway = await startGateway();
  });

  after(() => gateway?.stop());

  /** `input`: what standard input holds. Without any, in this process, which is quicker. */
  function headgate(args: readonly string[], input = '', env: Record<string, string> = {}): Promise<Ended> {
    if (input === '') return headgateHere(args, { ...gateway.env, ...env });
    return new Promise((done) => {
      const child = spawn(process.execPath, [mainFile, ...args], {
        env: { ...process.env, ...gateway.env, ...env },
      });
      let [stdout, stderr] = ['', ''];
      child.stdout.on('data', (text: Buffer) => {
        stdout += text.toString();
      });
      child.stderr.on('data', (text: Buffer) => {
        stderr += text.toString();
      });
      child.on('close', (code) => done({ code, stdout, stderr }));
      child.stdin.end(input);
    });
  }

  describe('a refusal', () => {
    const past = ['--expires', '2001-01-01'];
    for (const [args, said, exitCode] of [
      [
        ['providers', 'add', 'x', '--no-key', '--base-url', 'ftp://x'],
        /^headgate: --base-url must be an http/,
        2,
      ],
      [
        ['providers', 'add', 'x', '--no-key', '--workspace', 'nowhere'],
        /^headgate: --workspace: there is no/,
        3,
      ],
      [['guardrails', 'list', '--workspace', 'nowhere'], /^headgate: --workspace: there is no such/, 3],
      [
        ['keys', 'create', '--name', 'x', '--config', 'pc-none'],
        /^headgate: --config: there is no such config/,
        3,
      ],
      [['keys', 'create', '--name', 'x', ...past], /^headgate: --expires must be in the future/, 2],
    ] as const) {
      it(`names the flag that was typed: ${said.source.slice(11)}`, async () => {
        const { code, stdout, stderr } = await headgate([
          ...args,
          ...(args[0] === 'providers' ? ['--provider', 'openai'] : []),
        ]);
        expect([code, stdout]).to.deep.equal([exitCode, '']);
        expect(stderr)
          .to.match(said)
          .and.not.match(/custom_host|workspace_id|config_id|expires_at/);
        expect(stderr.trimEnd().split('\n')).to.have.length(1);
      });
    }

    it('leaves the names of fields inside of a config as they are: there they are what was written', async () => {
      const config = '{"targets":[{"provider":"openai","custom_host":"ftp://x"}]}';
      const { code, stderr } = await headgate(['configs', 'create', '-', '--name', 'bad'], config);
      expect(code).to.equal(2);
      expect(stderr).to.include('targets[0].custom_host').and.not.include('--base-url');
    });
  });

  describe('the key to sign in with', () => {
    const list = ['keys', 'list', '--json'];

    it('is that of a file, or of standard input', async () => {
      const file = join(gateway.dataDir, 'admin.key');
      writeFileSync(file, `${gateway.adminKey}\n`, { mode: 0o600 });
      const env = { HEADGATE_ADMIN_KEY: 'gw_not_the_one' };
      expect((await headgate(list, '', env)).code).to.equal(1);
      for (const [args, input] of [
        [['--admin-key-file', file], ''],
        [['--admin-key-file', '-'], `${gateway.adminKey}\n`],
      ] as const) {
        const { code, stdout, stderr } = await headgate([...list, ...args], input, env);
        expect([code, stderr]).to.deep.equal([0, '']);
        expect(JSON.parse(stdout)).to.have.length(2);
      }
      const { code, stderr } = await headgate([...list, '--admin-key-file', `${file}.none`]);
      expect(code).to.equal(2);
      expect(stderr).to.match(/^headgate: .*admin\.key\.none cannot be read: .*\.\n$/);
    });

    it('works on the command line too, with a word about who can read it there', async () => {
      const { code, stdout, stderr } = await headgate([...list, '--admin-key', gateway.adminKey]);
      expect(code).to.equal(0);
      expect(JSON.parse(stdout)).to.have.length(2);
      expect(stderr.trimEnd().split('\n')).to.have.length(1);
      expect(stderr).to.include('--admin-key-file').and.not.include(gateway.adminKey);
    });
  });

  it('keys list --json prints one line of the same few fields in the same order, for keys of every type', async () => {
    const { stdout } = await headgate(['keys', 'list', '--json']);
    expect(stdout.trimEnd().split('\n')).to.have.length(1);
    const fields = 'id name type key status workspace_id created_at last_updated_at expires_at'.split(' ');
    const keys = JSON.parse(stdout) as Record<string, unknown>[];
    expect(keys.map((key) => key['type'])).to.have.members(['workspace-service', 'organisation-service']);
    for (const key of keys) {
      expect(Object.keys(key)).to.deep.equal(fields);
      expect(key['created_at']).to.match(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/);
      expect(key['workspace_id']).to.equal(key['type'] === 'workspace-service' ? gateway.workspaceId : null);
      expect(stdout).to.not.include(gateway.adminKey).and.not.include(gateway.workspaceKey);
    }
  });
});
