// lane: slow
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { root } from '../support/root.js';

const plugin = `
import { definePlugin, type Exchange, type Host, type Reply, type UpstreamCall } from 'headgate/plugin';

export default definePlugin<{ readonly region: string }>({
  name: 'region',
  options: { type: 'object', properties: { region: { type: 'string' } }, required: ['region'] },
  setup({ region }, host: Host) {
    return {
      request(x: Exchange): Reply | undefined {
        if (x.metadata['region'] === region) return undefined;
        throw host.error('invalid_request', 'This gateway serves another region.');
      },
      attempt: (_x, call: UpstreamCall) => void call.headers.push('x-region', region),
    };
  },
});
`;

const pluginTest = `
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inject } from 'headgate/plugin';
import region from './plugin.js';

test('the region is sent', async () => {
  const { status, calls, text } = await inject(region, { region: 'eu' }, { metadata: { region: 'eu' }, stream: true });
  assert.equal(status, 200);
  assert.equal(calls[0]?.headers['x-region'], 'eu');
  assert.notEqual(text, '');
});
`;

const client = `
import { AdminCallError, type AdminClient, connectAdmin } from 'headgate/client';

export async function firstConfig(client: AdminClient): Promise<string | undefined> {
  const { data } = await client.configs.list({ workspace_id: 'ws' });
  return data[0]?.slug;
}
const opened: AdminClient = connectAdmin({ address: '127.0.0.1:1', key: 'k', timeoutMs: 100 });
try {
  await firstConfig(opened);
} catch (error) {
  console.log(error instanceof AdminCallError);
}
opened.close();
`;

describe('the package', function () {
  this.timeout(60_000);
  let folder: string;
  let installed: string;
  let files: string[];

  const run = (command: string, args: string[], cwd: string): string => {
    const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
    expect(status, `${command} ${args.join(' ')}\n${stdout}${stderr}`).to.equal(0);
    return stdout;
  };

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'headgate-package-'));
    installed = join(folder, 'node_modules', 'headgate');
    mkdirSync(installed, { recursive: true });
    const output = run('npm', ['pack', '--json', '--pack-destination', folder], root);
    const [packed] = JSON.parse(output.slice(output.indexOf('[\n'))) as [
      { filename: string; files: { path: string }[] },
    ];
    files = packed.files.map(({ path }) => path);
    run('tar', ['xzf', packed.filename, '-C', installed, '--strip-components=1'], folder);
    // What npm would install beside it is installed here already.
    symlinkSync(join(root, 'node_modules'), join(installed, 'node_modules'));
    mkdirSync(join(folder, 'node_modules', '@types'));
    symlinkSync(join(root, 'node_modules/@types/node'), join(folder, 'node_modules/@types/node'));
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    writeFileSync(join(folder, 'plugin.ts'), plugin);
    writeFileSync(join(folder, 'plugin.test.ts'), pluginTest);
    writeFileSync(join(folder, 'client.ts'), client);
  });
  after(() => rmSync(folder, { recursive: true }));

  it('holds the program, its pages and its licence, and no tests or sources', () => {
    expect(files).to.include.members([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'dist/src/main.js',
      'docs/plugins.md',
      'proto/headgate/admin/v1/configs.proto',
      'proto/tree.json',
    ]);
    const surplus = files.filter((file) => /\.map$|[^d]\.ts$|\.test\.|^(src|test|bench|\.ci)\//.test(file));
    expect(surplus).to.deep.equal([]);
  });

  it('holds every file that its files import', () => {
    const missing = files
      .filter((file) => /^dist\/.*(\.js|\.d\.ts)$/.test(file))
      .flatMap((file) => {
        const text = readFileSync(join(installed, file), 'utf8');
        const imports = [...text.matchAll(/(?:from|import|import\()\s*['"](\.\.?\/[^'"*]+)['"]/g)].map(
          ([, to]) => to!,
        );
        return imports
          .map((to) => join(dirname(file), file.endsWith('.d.ts') ? to.replace(/\.js$/, '.d.ts') : to))
          .filter((to) => !existsSync(join(installed, to)))
          .map((to) => `${file} imports ${to}`);
      });
    expect(missing).to.deep.equal([]);
  });

  it('has types for a plugin and for a caller of the client, which run as written', () => {
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const options = [
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2023',
      '--types',
      'node',
      '--skipLibCheck',
    ];
    run(process.execPath, [tsc, ...options, 'plugin.ts', 'plugin.test.ts', 'client.ts'], folder);
    expect(run(process.execPath, ['client.js'], folder).trim()).to.equal('true');
    expect(
      run(
        process.execPath,
        ['-e', "import('./plugin.js').then((it) => console.log(it.default.name))"],
        folder,
      ).trim(),
    ).to.equal('region');
  });

  it('has a chain in which node:test tries a plugin, with types', () => {
    run(process.execPath, ['--test', 'plugin.test.js'], folder);
  });

  describe('with a new plugin', () => {
    const headgate = (...args: string[]): string =>
      run(process.execPath, [join(installed, 'dist/src/main.js'), 'plugin', ...args], folder);
    before(() => {
      expect(headgate('new', 'asked-by'))
        .to.include('asked-by/index.ts')
        .and.include('npx headgate plugin test asked-by');
    });

    it('has its types', () => {
      run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'asked-by'], folder);
      const { dependencies } = JSON.parse(readFileSync(join(folder, 'asked-by/package.json'), 'utf8'));
      expect(dependencies.headgate).to.match(/^\^\d/);
    });

    it('passes its own test as it is, where headgate is not installed', () => {
      const elsewhere = mkdtempSync(join(tmpdir(), 'headgate-elsewhere-'));
      try {
        cpSync(join(folder, 'asked-by'), elsewhere, { recursive: true });
        const output = headgate('test', elsewhere);
        expect(output).to.match(/sample, stream +200 +1/);
        expect(output)
          .to.match(/^# pass 3$/m)
          .and.match(/^# fail 0$/m);
      } finally {
        rmSync(elsewhere, { recursive: true });
      }
    });

    it('names file, line and reason of what is wrong, with exit code 1', () => {
      const file = join(folder, 'asked-by/sample.json');
      const sample = readFileSync(file, 'utf8');
      writeFileSync(file, sample.replace('"gpt-4o-mini"', '7'));
      const { status, stderr } = spawnSync(
        process.execPath,
        [join(installed, 'dist/src/main.js'), 'plugin', 'check', 'asked-by'],
        { cwd: folder, encoding: 'utf8' },
      );
      writeFileSync(file, sample);
      expect(stderr.trim()).to.equal('asked-by/sample.json:4  options.models.0: must be string.');
      expect(status).to.equal(1);
      expect(JSON.parse(headgate('check', 'asked-by', '--json'))).to.deep.equal({
        name: 'asked-by',
        hooks: ['request', 'attempt'],
        ...{ checks: [], formats: [], providers: [], sinks: [], findings: [] },
      });
    });

    it('prints what it costs a request, by hook', () => {
      const output = headgate('bench', 'asked-by', '--seconds', '0.1');
      expect(output).to.match(/A whole answer: -?[\d.]+ µs of CPU .* requests each/);
      expect(output).to.match(/A stream: /);
      expect(output)
        .to.match(/^request +1 +\d+\.\d\d/m)
        .and.match(/^attempt +1 +\d+\.\d\d/m);
    });
  });

  it('has the declarations of what plugins and clients import, and no others', () => {
    const declared = files.filter((file) => file.endsWith('.d.ts'));
    expect(declared).to.include('dist/types/src/plugin-kit/index.d.ts');
    expect(declared.filter((file) => /(data|control)-plane|process/.test(file))).to.deep.equal([]);
  });

  it('has a command that prints its version', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    expect(run(process.execPath, [join(installed, 'dist/src/main.js'), '--version'], folder)).to.include(
      version,
    );
  });
});
