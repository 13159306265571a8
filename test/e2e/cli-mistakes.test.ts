import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { checkDataDir } from '../../src/cli/commands/serve.js';
import { type CliBench, headgateHere, startCliBench } from '../support/cli-bench.js';

describe('a mistake on the command line', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'headgate-mistakes-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const typed = (line: string, env: Record<string, string> = {}) =>
    headgateHere(line.split(' '), env, folder);

  for (const [line, hint] of [
    ['configs get', 'Run headgate configs get --help for its arguments and flags.'],
    ['configs gte', 'Run headgate configs --help for its commands.'],
    ['plugin nwe', 'Run headgate plugin --help for its commands.'],
    ['bogus', 'Run headgate --help for all commands.'],
  ] as const)
    it(`is followed by the help that lists what was meant: ${line}`, async () => {
      const { code, stderr } = await typed(line);
      expect(code).to.equal(2);
      expect(stderr.trimEnd().split('\n').at(-1)).to.equal(hint);
    });

  for (const [line, flag] of [
    [
      'serve --database-url postgres://a:hunter2@b/c',
      '--database-url-file, or in the variable DATABASE_URL.',
    ],
    ['integrations create --key hunter2', '--key-file; - is standard input.'],
  ] as const)
    it(`names the flag for a file where a secret was typed: ${line.split(' ').slice(0, 2).join(' ')}`, async () => {
      const { code, stderr } = await typed(line);
      expect(code).to.equal(2);
      expect(stderr.trimEnd().endsWith(flag), stderr).to.equal(true);
      expect(stderr).not.to.contain('hunter2');
    });

  it('explains why a file cannot be read, in words', async () => {
    const { code, stderr } = await typed('apply -f missing.yaml');
    expect([code, stderr]).to.deep.equal([
      2,
      'headgate: missing.yaml cannot be read: there is no such file.\n',
    ]);
  });

  describe('has exit code 2 where a file or an address that is named cannot be right', () => {
    const env = { HEADGATE_ADMIN_KEY: 'gw_org_x' };
    const noFile = 'headgate: /none cannot be read: there is no such file.\n';
    for (const [line, message] of [
      ['keys list --ca-file /none', noFile],
      ['keys list --admin-key-file /none', noFile],
      ['configs create --name x --config @/none', noFile],
      ['configs create --body @/none', noFile],
      ['explain -f /none', noFile],
      ['prices diff -f /none', noFile],
      ['selftest --provider @a/b --key-file /none', noFile],
      ['keys list --ca-file text', 'headgate: --ca-file: text has no certificate in PEM.\n'],
      ...['host:99999', 'host:0', 'host', 'host:x', '::1:5', 'http://host:1'].map(
        (address) =>
          [
            `keys list --address ${address}`,
            'headgate: --address must be host:port, with a port from 1 to 65535.\n',
          ] as const,
      ),
      [
        'selftest --provider @a/b --key-file text --url host',
        'headgate: --url must be an address such as http://127.0.0.1:8787.\n',
      ],
    ] as const)
      it(line, async () => {
        writeFileSync(join(folder, 'text'), 'no certificate');
        const { code, stderr } = await typed(line, env);
        expect([code, stderr]).to.deep.equal([2, message]);
      });
  });

  it('reports that a data directory is a file', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    const error: Error = await checkDataDir(file).then(
      () => expect.fail('must be refused'),
      (thrown: Error) => thrown,
    );
    expect(error.message).to.equal(`The data directory ${file} is a file. Choose another with --data-dir.`);
  });

  it('names the file of the first keys where it cannot be read as one', async () => {
    const dataDir = join(folder, 'data');
    mkdirSync(join(dataDir, 'first-keys.json'), { recursive: true });
    const { stderr } = await typed(`keys list --data-dir ${dataDir}`);
    expect(stderr).to.contain(`(${dataDir}/first-keys.json cannot be read: it is a folder)`);
  });

  it('prints the version for -v too', async () => {
    expect(await typed('-v')).to.deep.equal(await typed('--version'));
  });

  describe('in a call to a gateway', () => {
    let bench: CliBench;
    let other: Server;
    before(async () => {
      bench = await startCliBench();
      other = createServer((socket) => socket.on('error', () => {}).end('HTTP/1.1 400 Bad Request\r\n\r\n'));
      await new Promise<void>((ready) => other.listen(0, '127.0.0.1', ready));
    });
    after(async () => {
      other.close();
      await bench.close();
    });

    it('names the place of a key that the gateway does not know', async () => {
      const { stderr } = await typed(`keys list --address ${bench.address}`, {
        HEADGATE_ADMIN_KEY: 'gw_org_wrong',
      });
      expect(stderr).to.match(/^headgate: .+\. It was taken from HEADGATE_ADMIN_KEY\.\n$/);
      expect(stderr).not.to.contain('gw_org_wrong');
    });

    it('reports that a port is open where another protocol answers', async () => {
      const { port } = other.address() as { port: number };
      const { code, stderr } = await typed(`keys list --address 127.0.0.1:${port}`, {
        HEADGATE_ADMIN_KEY: 'x',
      });
      expect(code).to.equal(1);
      expect(stderr).to.contain(`127.0.0.1:${port} is open, but admin gRPC does not answer there`);
    });

    it('reports that a port does not use TLS', async () => {
      const { code, stderr } = await bench.type('keys list --tls');
      expect(code).to.equal(1);
      expect(stderr).to.contain(
        `The port at ${bench.address} is open, but does not use TLS: leave out --tls`,
      );
    });

    it('has exit code 3 where something that it names does not exist', async () => {
      expect(await bench.fails(3, 'keys list --workspace nope')).to.equal(
        'headgate: --workspace: there is no such workspace.',
      );
      await bench.fails(3, 'workspaces get nope');
    });

    it('has exit code 2 for a value that only the gateway finds wrong', async () => {
      const time = await bench.fails(2, 'analytics graph-requests --time-of-generation-min nope');
      expect(time).to.contain('--time-of-generation-min must be a time with its zone');
    });

    it('has exit code 4 where it exists already, and 1 where the key is not accepted', async () => {
      await bench.fails(4, 'workspaces create --name D --slug default');
      const { code } = await typed(`keys list --address ${bench.address}`, {
        HEADGATE_ADMIN_KEY: 'gw_org_x',
      });
      expect(code).to.equal(1);
    });

    /** From a plane without analytics, which checks times first. */
    const accepted = 'headgate: This node has no analytics.\n';

    it('is not reported for figures or the audit log without times, which are of the last day', async () => {
      expect((await bench.type('analytics graph-errors-status-codes')).stderr).to.equal(accepted);
      const log = await bench.type('audit-logs list');
      expect([log.code, log.stderr]).to.deep.equal([0, '']);
      expect(log.stdout).to.match(/^TIMESTAMP +WHO/);
    });

    it('is not reported for times in hours, now, or a date', async () => {
      const times = '--time-of-generation-min -6h --time-of-generation-max now';
      for (const words of [times, '--time-of-generation-min 2026-01-01 --time-of-generation-max 2026-01-02'])
        expect((await bench.type(`analytics graph-requests ${words}`)).stderr).to.equal(accepted);
    });
  });
});
