import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { expect } from 'chai';
import {
  loadSettings,
  SettingsError,
  type SettingsSources,
  settingsTable,
} from '../../src/common/settings/settings.js';
import { checkPrices } from '../../src/process/own-prices.js';

describe('settings', () => {
  let folder: string;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'headgate-settings-'));
  });

  after(() => rmSync(folder, { recursive: true }));

  function yaml(text: string, name = 'headgate.yaml'): string {
    const file = join(folder, name);
    writeFileSync(file, text);
    return file;
  }

  function problemsOf(sources: Parameters<typeof loadSettings>[0]): readonly string[] {
    try {
      loadSettings({ env: {}, file: null, ...sources });
    } catch (error) {
      expect(error).to.be.instanceOf(SettingsError);
      return (error as SettingsError).problems;
    }
    throw new Error('the settings were accepted');
  }

  it('has the defaults that scripts and tests lean on', () => {
    const settings = loadSettings({ env: {}, file: null });
    expect(settings).to.include({
      host: '127.0.0.1',
      port: 8787,
      grpcPort: 50051,
      dataGrpcPort: 8789,
      opsPort: 9464,
      transport: 'uws',
      simulated: false,
      logBodies: true,
      masterKey: null,
      drainTimeoutMs: 30_000,
      bodyLimitBytes: 10 * 1024 * 1024,
    });
    expect(settings.dataDir).to.equal(join(process.cwd(), 'data'));
    expect(settings.headerPrefixes).to.deep.equal(['x-gateway-']);
    expect(settings.workers).to.be.at.least(1);
    expect(Object.isFrozen(settings)).to.equal(true);
  });

  it('lets a node serve model calls alone only where the records are in PostgreSQL', () => {
    expect(problemsOf({ env: { HEADGATE_ROLE: 'data' } })).to.deep.equal([
      'role: data needs DATABASE_URL: the records are kept by nodes with the role all.',
    ]);
    const env = { HEADGATE_ROLE: 'data', DATABASE_URL: 'postgres://127.0.0.1/x' };
    expect(loadSettings({ env, file: null }).role).to.equal('data');
    expect(problemsOf({ env: { HEADGATE_ROLE: 'admin' } })).to.deep.equal([
      'HEADGATE_ROLE: must be one of all, data.',
    ]);
  });

  it('takes seconds between the runs of schedules that there are, and nothing else', () => {
    const of = (text: string) => loadSettings({ env: { HEADGATE_SCHEDULES: text }, file: null }).schedules;
    expect(loadSettings({ env: {}, file: null }).schedules).to.deep.include({ prune: 600 });
    expect(of('prune=5')).to.deep.include({ prune: 5 });
    expect(loadSettings({ env: {}, file: yaml('schedules: {prune: 7}') }).schedules['prune']).to.equal(7);
    for (const [text, problem] of [
      ['prune=0', '.prune: must be at least 1.'],
      ['prune=often', '.prune: must be a whole number.'],
      ['prune', '.prune: must be a whole number.'],
      ['prune=100000', '.prune: must be at most 86400.'],
      ['prun=5', '.prun: no such key; did you mean prune?'],
    ] as const) {
      expect(problemsOf({ env: { HEADGATE_SCHEDULES: text } })).to.deep.equal([
        `HEADGATE_SCHEDULES${problem}`,
      ]);
    }
  });

  it('names every setting alike as flag, variable and YAML key', () => {
    for (const row of settingsTable) {
      const flag = row.flag.replace(/^--/, '').replaceAll('-', '_');
      expect(flag).to.equal(row.secret ? `${row.yaml}_file` : row.yaml);
      expect(row.env.replace('HEADGATE_', '').toLowerCase()).to.equal(row.yaml);
      expect(row.doc, row.key).to.match(/\.$/);
    }
  });

  it('takes a flag over a variable over the file over the default', () => {
    const file = yaml('port: 1001\ngrpc_port: 1002\nops_port: 1003\n');
    const settings = loadSettings({
      file,
      env: { HEADGATE_PORT: '2001', HEADGATE_GRPC_PORT: '2002' },
      flags: { port: '3001' },
    });
    expect(settings).to.include({ port: 3001, grpcPort: 2002, opsPort: 1003, dataGrpcPort: 8789 });
  });

  it('finds the file by flag and by variable', () => {
    const file = yaml('workers: 3\n', 'other.yaml');
    expect(loadSettings({ env: {}, flags: { config: file } }).workers).to.equal(3);
    expect(loadSettings({ env: { HEADGATE_CONFIG: file } }).workers).to.equal(3);
  });

  it('starts relative paths of the file at the folder of the file', () => {
    const settings = loadSettings({ env: {}, file: yaml('data_dir: ./d\nplugins: { directory: ./p }\n') });
    expect(settings.dataDir).to.equal(join(folder, 'd'));
    expect(settings.plugins.directory).to.equal(join(folder, 'p'));
  });

  it('reads lists, switches and numbers from text', () => {
    const env = {
      HEADGATE_HEADER_PREFIXES: 'x-gateway-, x-portkey-',
      HEADGATE_EGRESS_ALLOW: 'models.internal:8080,10.0.0.0/8',
      HEADGATE_SIMULATED: 'on',
      HEADGATE_LOG_BODIES: 'FALSE',
      HEADGATE_IDLE_TIMEOUT_MS: '0',
    };
    const settings = loadSettings({ env, file: null });
    expect(settings.headerPrefixes).to.deep.equal(['x-gateway-', 'x-portkey-']);
    expect(settings.egressAllow).to.deep.equal(['models.internal:8080', '10.0.0.0/8']);
    expect(settings).to.include({ simulated: true, logBodies: false, idleTimeoutMs: 0 });
  });

  it('reads prices of one’s own from the file, or as JSON from text', () => {
    const written =
      'prices:\n  vllm:\n    llama-4: { input: 0.1, output: 0, cached: 0.05, cache_write: 0.2, above: { tokens: 200000, input: 1, output: 2 } }\n';
    const own = {
      vllm: {
        'llama-4': {
          input: 0.1,
          output: 0,
          cached: 0.05,
          cacheWrite: 0.2,
          above: { tokens: 200_000, input: 1, output: 2 },
        },
      },
    };
    expect(loadSettings({ env: {}, file: yaml(written) }).prices).to.deep.equal(own);
    const env = { HEADGATE_PRICES: '{"openai":{"gpt-5":{"input":1,"output":8}}}' };
    expect(loadSettings({ env, file: null }).prices).to.deep.equal({
      openai: { 'gpt-5': { input: 1, output: 8 } },
    });
    expect(loadSettings({ env: {}, file: null }).prices).to.deep.equal({});
    for (const bad of [
      '{',
      '{"openai":{"gpt-5":{"input":1}}}',
      '{"openai":{"gpt-5":{"input":-1,"output":8}}}',
      '{"openai":{"gpt-5":{"input":1,"output":8,"cache":1}}}',
      '{"openai":{"gpt-5":{"input":1,"output":8,"above":{"input":1,"output":1}}}}',
    ])
      expect(() => loadSettings({ env: { HEADGATE_PRICES: bad }, file: null }), bad).to.throw(
        /^HEADGATE_PRICES/,
      );
  });

  it('refuses prices of a provider that cannot be called, and names the nearest', () => {
    expect(() => checkPrices({ openai: {}, vllm: {} })).to.not.throw();
    for (const name of ['mistral', 'mistral-a'])
      expect(() => checkPrices({ [name]: {} }), name).to.throw(
        SettingsError,
        `prices.${name}: is no provider that the gateway can call; did you mean mistral-ai?`,
      );
  });

  it('checks every entry of egress_allow, and names the first thing that is wrong with each', () => {
    const refused: Record<string, string> = {
      '10.0.0.0/99': 'has the prefix length "99": of IPv4 it is 0 to 32.',
      '10.0.0.0/33': 'has the prefix length "33": of IPv4 it is 0 to 32.',
      'fd00::/129': 'has the prefix length "129": of IPv6 it is 0 to 128.',
      '10.0.0.0/': 'has the prefix length ""',
      '10.0.0.0/-1': 'has the prefix length "-1"',
      '10.0.0.0/8/8': 'must have an IPv4 or IPv6 address before its /',
      '10.0.0/8': 'must have an IPv4 or IPv6 address before its /',
      'example.org/8': 'must have an IPv4 or IPv6 address before its /',
      'http://example.org': 'must have an IPv4 or IPv6 address before its /',
      'example.org:0': 'has "0" for a port: a port is 1 to 65535.',
      'example.org:65536': 'has "65536" for a port',
      'example.org:': 'has "" for a port',
      'example.org:http': 'has "http" for a port',
      '[fd00::7]:99999': 'has "99999" for a port',
      '[fd00::7': 'must be a host, host:port, address or CIDR',
      '[10.0.0.1]:80': 'must have an IPv6 address in its brackets',
      'fd00::7::8': 'must be a host, host:port, address or CIDR',
      'fe80::1%eth0': 'must not name a zone',
      '*.example.org': 'has a wildcard: name each host, or a range of addresses.',
      'exa mple.org': 'must be a host, host:port, address or CIDR',
      'user@example.org': 'must be a host, host:port, address or CIDR',
      '-example.org': 'must be a host, host:port, address or CIDR',
      'a..b': 'must be a host, host:port, address or CIDR',
      '10.0.0.256': 'must be a host, host:port, address or CIDR',
      '10.1': 'must be a host, host:port, address or CIDR',
      '0x7f.1': 'must be a host, host:port, address or CIDR',
    };
    for (const [entry, problem] of Object.entries(refused)) {
      const env = { HEADGATE_EGRESS_ALLOW: `good.example.org,${entry}` };
      let message = '';
      try {
        loadSettings({ env, file: null });
      } catch (error) {
        message = (error as Error).message;
      }
      expect(message, entry).to.include(`HEADGATE_EGRESS_ALLOW[1]: ${entry} ${problem}`);
      expect(message.split('\n')).to.have.length(1);
    }
    const taken =
      '10.0.0.1/8, 0.0.0.0/0, fd00::/8, ::/0, localhost, example.org., example.org:8080, b\u00fccher.example:1, 10.0.0.1, 10.0.0.1:80, fd00::7, [fd00::7], [fd00::7]:80';
    expect(loadSettings({ env: { HEADGATE_EGRESS_ALLOW: taken }, file: null }).egressAllow).to.have.length(
      13,
    );
  });

  it('takes an empty variable for an unset one', () => {
    expect(loadSettings({ env: { HEADGATE_PORT: '', DATABASE_URL: '' }, file: null }).port).to.equal(8787);
  });

  it('is not confused by the variables Kubernetes sets for a Service of its name', () => {
    const env = {
      HEADGATE_PORT: 'tcp://10.0.0.7:80',
      HEADGATE_PORT_80_TCP: 'tcp://10.0.0.7:80',
      HEADGATE_PORT_80_TCP_ADDR: '10.0.0.7',
      HEADGATE_SERVICE_HOST: '10.0.0.7',
      HEADGATE_SERVICE_PORT_HTTP: '80',
      HEADGATE_OPS_PORT: 'tcp://10.0.0.8:9464',
    };
    expect(loadSettings({ env, file: null })).to.include({ port: 8787, opsPort: 9464 });
  });

  it('refuses an unknown variable and suggests the one that was meant', () => {
    expect(problemsOf({ env: { HEADGATE_PROT: '1' } })).to.deep.equal([
      'HEADGATE_PROT: no such setting; did you mean HEADGATE_PORT?',
    ]);
    expect(problemsOf({ env: { HEADGATE_ELSEWHERE_ALTOGETHER: '1' } })).to.deep.equal([
      'HEADGATE_ELSEWHERE_ALTOGETHER: no such setting.',
    ]);
  });

  it('refuses an unknown YAML key at any depth with its path', () => {
    const file = yaml('grcp_port: 1\nplugins:\n  insert:\n    - { name: a, befor: auth }\n');
    const problems = problemsOf({ file });
    expect(problems).to.include(`${file}: grcp_port: no such setting; did you mean grpc_port?`);
    expect(problems).to.include(`${file}: plugins.insert[0].befor: no such key; did you mean before?`);
  });

  it('refuses a proxy for the client that cannot use one', () => {
    const env = { HEADGATE_UPSTREAM_PROXY: 'http://proxy.example:3128' };
    expect(problemsOf({ env })).to.deep.equal(['upstream_proxy: needs upstream_client: undici.']);
    const both = loadSettings({ env: { ...env, HEADGATE_UPSTREAM_CLIENT: 'undici' }, file: null });
    expect(both.upstreamProxy?.reveal()).to.equal('http://proxy.example:3128');
    const wrong = { HEADGATE_UPSTREAM_PROXY: 'socks5://proxy.example' };
    expect(problemsOf({ env: wrong })).to.have.length(1);
  });

  it('reports where a wrong value is and what would be right', () => {
    const file = yaml(
      'port: "8787"\nworkers: 0\nplugins:\n  insert:\n    - { name: a, before: auht }\n    - { name: b, before: auth, after: auth }\n    - { before: auth }\n',
    );
    expect(
      problemsOf({ file, env: { HEADGATE_TRANSPORT: 'uwss' }, flags: { opsPort: '70000' } }),
    ).to.have.members([
      `${file}: port: must be a whole number.`,
      `${file}: workers: must be at least 1.`,
      `${file}: plugins.insert[0].before: must be one of auth, config, guardrails, cache, limits, router, logger; did you mean auth?`,
      `${file}: plugins.insert[1]: must say either before or after, and name a stage.`,
      `${file}: plugins.insert[2]: name is missing.`,
      'HEADGATE_TRANSPORT: must be one of uws, node; did you mean uws?',
      '--ops-port: must be at most 65535.',
    ]);
  });

  it('refuses two listeners on one port', () => {
    expect(problemsOf({ flags: { grpcPort: '8787' } })[0]).to.match(/^grpc_port: 8787 is the port already/);
    expect(loadSettings({ env: {}, file: null, flags: { port: '0', grpcPort: '0' } }).port).to.equal(0);
  });

  it('takes a secret from a variable or from a file, never both, and never prints it', () => {
    const key = 'k'.repeat(44);
    const keyFile = join(folder, 'master.key');
    writeFileSync(keyFile, `${key}\n`);
    const places: [SettingsSources, string | null][] = [
      [{ env: { HEADGATE_MASTER_KEY: key } }, null],
      [{ env: { HEADGATE_MASTER_KEY_FILE: keyFile } }, keyFile],
      [{ flags: { masterKeyFile: keyFile } }, keyFile],
      [{ file: yaml('master_key_file: master.key\n') }, keyFile],
    ];
    for (const [sources, from] of places) {
      const settings = loadSettings({ env: {}, file: null, ...sources });
      expect(settings.masterKey?.reveal()).to.equal(key);
      expect(settings.masterKey?.file).to.equal(from);
      expect(inspect(settings) + JSON.stringify(settings)).not.to.include(key);
    }
    expect(problemsOf({ env: { HEADGATE_MASTER_KEY: key, HEADGATE_MASTER_KEY_FILE: keyFile } })[0]).to.match(
      /^HEADGATE_MASTER_KEY_FILE: HEADGATE_MASTER_KEY is set too/,
    );
    expect(problemsOf({ env: { HEADGATE_MASTER_KEY: 'hunter2' } })).to.deep.equal([
      'HEADGATE_MASTER_KEY: must be at least 16 characters.',
    ]);
    expect(problemsOf({ env: { HEADGATE_MASTER_KEY_FILE: join(folder, 'none') } })[0]).to.match(/ENOENT/);
  });

  it('takes plugins from a variable as JSON', () => {
    const env = { HEADGATE_PLUGINS: '{"insert":[{"name":"check-region","after":"auth"}]}' };
    expect(loadSettings({ env, file: null }).plugins.insert).to.deep.equal([
      { name: 'check-region', after: 'auth' },
    ]);
    expect(problemsOf({ env: { HEADGATE_PLUGINS: 'check-region' } })).to.deep.equal([
      'HEADGATE_PLUGINS: must be a mapping.',
    ]);
  });

  it('reports what is wrong with a file that is not settings', () => {
    expect(problemsOf({ file: join(folder, 'absent.yaml') })[0]).to.match(
      /absent.yaml: cannot be read: .*no such file/i,
    );
    expect(problemsOf({ file: yaml('- 1\n') })[0]).to.match(/must be a mapping of settings/);
    expect(problemsOf({ file: yaml('port: [1\n') })[0]).to.match(/not valid YAML/);
    expect(problemsOf({ file: yaml('port: 1\nport: 2\n') })[0]).to.match(
      /not valid YAML: Map keys must be unique/,
    );
    expect(loadSettings({ env: {}, file: yaml('') }).port).to.equal(8787);
  });
});
