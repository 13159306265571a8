// lane: slow
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { SqliteConnection } from '../../src/control-plane/database/sqlite.js';
import { startSimulated } from '../../src/simulated/index.js';
import { type Example, examplesOf } from '../support/examples.js';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';
import { root } from '../support/root.js';
import { makeIssuerKey, nowS, signToken } from '../support/token-issuer.js';
import { runTyped } from '../support/typed-commands.js';

interface Ran {
  readonly code: number | null;
  readonly output: string;
}

function run(command: string, args: string[], env: Record<string, string>, cwd = root): Promise<Ran> {
  return new Promise((done) => {
    const child = spawn(command, args, { cwd, env: { ...process.env, ...env } });
    let output = '';
    child.stdout.on('data', (text: Buffer) => {
      output += text.toString();
    });
    child.stderr.on('data', (text: Buffer) => {
      output += text.toString();
    });
    // Not 'exit': what it printed may still be on its way.
    child.on('close', (code) => done({ code, output }));
  });
}

describe('the commands in the docs', () => {
  let gateway: RunningGateway;

  before(async function () {
    this.timeout(20_000);
    gateway = await startGateway({
      env: {
        HEADGATE_SIMULATED: 'true',
        HEADGATE_SECRET_ENV: 'OPENAI_API_KEY',
        OPENAI_API_KEY: 'sk-of-the-test',
      },
    });
  });

  after(async () => {
    await gateway?.stop();
  });

  /** Runs an example as written, but for the port and the data directory, which are the test's own. */
  const type = async (
    example: Example,
    more: Readonly<Record<string, string>> = {},
    folder = root,
  ): Promise<Ran> => {
    const text = example.text
      .replaceAll('http://127.0.0.1:8787', gateway.url)
      .replaceAll('./data/', `${gateway.dataDir}/`)
      .replaceAll('curl ', 'curl -sS --fail-with-body ');
    const env = {
      ...gateway.env,
      ADMIN_KEY: gateway.adminKey,
      GATEWAY_KEY: gateway.workspaceKey,
      OPENAI_API_KEY: 'sk-of-the-test',
      ...more,
    };
    if (example.language === 'sh') {
      const { code, stdout, stderr } = await runTyped(text, { env, cwd: folder });
      return { code, output: stdout + stderr };
    }
    const file = join(root, 'test', `.readme-${process.pid}.mjs`);
    writeFileSync(file, text);
    return run(process.execPath, [file], env).finally(() => rmSync(file));
  };

  it('README: every command works, and the first streamed answer streams', async function () {
    this.timeout(40_000);
    const examples = examplesOf('README.md').filter(({ language }) => language === 'sh' || language === 'js');
    expect(examples.length).to.be.greaterThan(5);
    for (const example of examples) {
      if (example.text.trim() === 'npm start') continue; // test/e2e/start.test.ts runs it
      const { code, output } = await type(example);
      expect(code, `${example.text}\n${output}`).to.equal(0);
      if (example.text.includes('"stream":true')) expect(output).to.include('data: [DONE]');
      else if (example.text.includes('chat/completions')) expect(output).to.include('"chat.completion"');
      else if (example.language === 'js') expect(output).to.include('Hello');
      else if (example.text.includes('headgate logs')) expect(output).to.include('gpt-4o-mini');
    }
  });

  it('README lists every page', () => {
    const text = readFileSync(join(root, 'README.md'), 'utf8');
    const pages = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'));
    expect(pages.filter((name) => !text.includes(`(docs/${name})`))).to.deep.equal([]);
  });

  it('README stays short', () => {
    expect(readFileSync(join(root, 'README.md'), 'utf8').split('\n').length).to.be.lessThan(160);
  });

  it('docs/ledger.md: the log commands run', async function () {
    this.timeout(20_000);
    const examples = examplesOf('docs/ledger.md');
    for (const example of examples.filter(({ language }) => language === 'sh')) {
      const { code, output } = await type(example);
      expect(code, output).to.equal(0);
    }
    const queries = examples.filter(({ language }) => language === 'sql');
    expect(queries).to.have.length.above(0);
    const ledger = await SqliteConnection.open(join(gateway.dataDir, 'ledger.db'), []);
    for (const { text } of queries) expect(await ledger.all(text)).to.be.an('array');
    await ledger.close();
  });

  it('docs/jwt.md: a token with the claims of the example is accepted', async function () {
    this.timeout(20_000);
    const examples = examplesOf('docs/jwt.md');
    const [settings, call] = examples.filter(({ language }) => language === 'sh');
    expect((await type(settings!)).code).to.equal(0);
    const key = await makeIssuerKey('docs');
    await gateway.admin().api.organisations.updateAuthSettings({ jwks: { keys: [key.jwk] } });
    const claims = JSON.parse(examples.find(({ language }) => language === 'json')?.text ?? '');
    const TOKEN = await signToken(key, { ...claims, gateway_oid: gateway.organisationId, exp: nowS() + 60 });
    const { code, output } = await type(call!, { TOKEN });
    expect(code, output).to.equal(0);
    expect(output).to.include('You said: Hello');
    const bare = await signToken(key, {
      ...claims,
      scope: '',
      gateway_oid: gateway.organisationId,
      exp: nowS() + 60,
    });
    const refused = await type(call!, { TOKEN: bare });
    expect(refused.output).to.include(
      'This token lacks the scope completions.write: have it added to its claim scope',
    );
  });

  it('docs/jwt.md: a key and a token of its own are accepted', async () => {
    const examples = examplesOf('docs/jwt.md');
    const folder = mkdtempSync(join(tmpdir(), 'headgate-docs-'));
    writeFileSync(join(folder, 'token.mjs'), examples.find(({ file }) => file === 'token.mjs')!.text);
    const commands = examples.find(({ text }) => text.includes('node token.mjs'));
    const { code, output } = await type(commands!, {}, folder);
    expect(code, output).to.equal(0);
    expect(output).to.include('You said: Hello');
    rmSync(folder, { recursive: true });
  });

  it('docs/cache.md: the second answer is a hit', async () => {
    const [example] = examplesOf('docs/cache.md');
    const { code, output } = await type(example!);
    expect(code, output).to.equal(0);
    expect(output.match(/cache-status: \w+/gi)).to.deep.equal(['cache-status: MISS', 'cache-status: HIT']);
  });

  it('docs/cache.md: the same question in other words has the same answer', async () => {
    const example = examplesOf('docs/cache.md').find(({ text }) => text.includes('semantic'));
    const { code, output } = await type(example!);
    expect(code, output).to.equal(0);
    expect(output).to.match(/MISS\r?\n.*SEMANTIC HIT/);
  });

  for (const page of ['docs/mail.md', 'docs/keys.md']) {
    it(`${page}: its commands run`, async function () {
      this.timeout(20_000);
      const examples = examplesOf(page).filter(({ language }) => language === 'sh');
      expect(examples.length).to.be.greaterThan(0);
      for (const example of examples) {
        const { code, output } = await type(example);
        expect(code, output).to.equal(0);
      }
    });
  }

  it('of docs/analytics.md answer', async () => {
    const examples = examplesOf('docs/analytics.md').filter(({ language }) => language === 'sh');
    expect(examples).to.have.lengthOf(5);
    for (const example of examples) {
      const { code, output } = await type(example);
      expect(code, output).to.equal(0);
      if (example.text.includes('what-if')) expect(output).to.include('"analytics-what-if"');
    }
  });

  it('docs/sign-in.md: the first owner signs up and signs in, by cookie and by command', async function () {
    this.timeout(40_000);
    const outputs: string[] = [];
    for (const example of examplesOf('docs/sign-in.md').filter(({ language }) => language === 'sh')) {
      const { code, output } = await type(example);
      expect(code, `${example.text}\n${output}`).to.equal(0);
      outputs.push(output);
    }
    expect(outputs[0]).to.include('"role":"owner"');
    expect(outputs[1]).to.match(/"csrf_token".*"pc-/s);
    expect(outputs[2]).to.include('owner@example.com');
  });

  it('docs/scim.md: a user comes into a workspace by a group, and is deactivated', async function () {
    this.timeout(20_000);
    const [provision, key] = examplesOf('docs/scim.md').filter(({ language }) => language === 'sh');
    const { code, output } = await type(provision!);
    expect(code, output).to.equal(0);
    expect(output).to.include('"role":"manager"').and.include('"active":false');
    const made = await type(key!);
    expect(made.code, made.output).to.equal(0);
    expect(made.output).to.match(/gw_/);
  });

  it('docs/exports.md: the example prints a table', async function () {
    this.timeout(20_000);
    const [example] = examplesOf('docs/exports.md').filter(({ language }) => language === 'sh');
    const { code, output } = await type(example!);
    expect(code, output).to.equal(0);
    expect(output).to.include('id,created_at,ai_model,total_units,cost,metadata');
  });

  it('docs/secret-references.md: a virtual key is called with the key of the environment', async function () {
    this.timeout(20_000);
    const provider = await startSimulated({ record: true });
    try {
      for (const example of examplesOf('docs/secret-references.md').filter(
        ({ language }) => language === 'sh',
      )) {
        const host = `"ai_provider_id":"openai","configurations":{"custom_host":"${provider.url}/v1"}`;
        const text = example.text.replace('"ai_provider_id":"openai"', host);
        const { code, output } = await type({ ...example, text });
        expect(code, `${text}\n${output}`).to.equal(0);
      }
      expect(provider.requests.map(({ headers }) => headers['authorization'])).to.deep.equal([
        'Bearer sk-of-the-test',
      ]);
    } finally {
      await provider.close();
    }
  });

  for (const page of ['docs/requests.md', 'docs/routing.md', 'docs/cache.md']) {
    it(`${page}: its configs are ones that the gateway takes`, async function () {
      this.timeout(20_000);
      const configs = examplesOf(page).filter(({ language }) => language === 'json');
      expect(configs.length).to.be.greaterThan(0);
      const { providers, configs: saved } = gateway.admin();
      for (const { text } of configs) {
        // The README's walk has stored @openai-main already where it ran before.
        const stored = (await providers.list()).data.map(({ slug }) => slug);
        const named = new Set([...text.matchAll(/"@([a-z-]+)"/g)].map(([, slug = '']) => slug));
        for (const slug of named)
          if (!stored.includes(slug)) await providers.create({ slug, provider: 'openai' });
        await saved.create({ name: 'example', config: JSON.parse(text) });
      }
    });
  }

  it('docs/routing.md: its commands work', async function () {
    this.timeout(20_000);
    for (const example of examplesOf('docs/routing.md').filter(({ language }) => language === 'sh')) {
      const { code, output } = await type(example);
      expect(code, `${example.text}\n${output}`).to.equal(0);
    }
  });

  it('docs/prices.md: prices of an integration and of an organisation are set as described', async function () {
    this.timeout(20_000);
    const made = await fetch(`${gateway.url}/v1/integrations`, {
      method: 'POST',
      headers: { 'x-gateway-api-key': gateway.adminKey, 'content-type': 'application/json' },
      body: '{"name":"Main","slug":"openai-main","ai_provider_id":"openai","key":"sk-of-the-test"}',
    });
    expect(made.status, await made.text()).to.equal(200);
    const examples = examplesOf('docs/prices.md').filter(({ text }) => text.startsWith('curl'));
    expect(examples).to.have.length(2);
    for (const example of examples) {
      const { code, output } = await type(example);
      expect(code, `${example.text}\n${output}`).to.equal(0);
    }
  });

  it('docs/plugins.md: the plugin refuses and adds as described, at the place the settings give it', async function () {
    this.timeout(20_000);
    const dir = mkdtempSync(join(tmpdir(), 'headgate-plugin-'));
    const examples = examplesOf('docs/plugins.md');
    const plugin = examples.find(({ file }) => file === 'region.js');
    const settings = examples.find(({ file }) => file === 'headgate.yaml');
    expect(plugin?.text.trimEnd().split('\n').length).to.be.lessThan(26);
    mkdirSync(join(dir, 'my-plugins'));
    writeFileSync(join(dir, 'my-plugins/package.json'), '{"type":"module"}');
    writeFileSync(join(dir, 'my-plugins/region.js'), plugin?.text ?? '');
    writeFileSync(
      join(dir, 'headgate.yaml'),
      (settings?.text ?? '').replace('./my-plugins', join(dir, 'my-plugins')),
    );
    const own = await startGateway({
      env: { HEADGATE_SIMULATED: 'true', HEADGATE_CONFIG: join(dir, 'headgate.yaml') },
    });
    try {
      const curl = examples.find(({ text }) => text.startsWith('curl'));
      const text = (curl?.text ?? '').replaceAll('http://127.0.0.1:8787', own.url);
      const env = { GATEWAY_KEY: own.workspaceKey };
      const allowed = await run('bash', ['-c', text.replace('curl', 'curl -sS')], env);
      expect(allowed.output).to.include('chat.completion');
      const refused = await run(
        'bash',
        ['-c', text.replace('curl', 'curl -sS').replace('"eu"', '"moon"')],
        env,
      );
      expect(refused.output).to.include('Send a metadata').and.include('"param":"region"');
    } finally {
      await own.stop();
      rmSync(dir, { recursive: true, force: true });
    }
  });

  it('docs/plugins.md: the plugin with state of its own counts over the workers, refuses, and is in the log', async function () {
    this.timeout(30_000);
    const dir = mkdtempSync(join(tmpdir(), 'headgate-plugin-'));
    const examples = examplesOf('docs/plugins.md');
    const textOf = (name: string): string => examples.find(({ file }) => file === name)?.text ?? '';
    writeFileSync(join(dir, 'package.json'), '{"type":"module"}');
    writeFileSync(join(dir, 'quota.js'), textOf('quota.js'));
    writeFileSync(join(dir, 'headgate.yaml'), textOf('quota.yaml').replace('./my-plugins', dir));
    const own = await startGateway({
      env: {
        HEADGATE_SIMULATED: 'true',
        HEADGATE_WORKERS: '2',
        HEADGATE_CONFIG: join(dir, 'headgate.yaml'),
      },
    });
    try {
      const curl = examples.find(({ text }) => text.startsWith('curl'))?.text ?? '';
      const text = curl.replaceAll('http://127.0.0.1:8787', own.url).replace('curl', 'curl -sS -i');
      const env = { GATEWAY_KEY: own.workspaceKey };
      const outputs: string[] = [];
      for (let i = 0; i < 3; i++) outputs.push((await run('bash', ['-c', text], env)).output);
      const left = outputs.map((output) => /x-gateway-quota-left: (\d)/i.exec(output)?.[1]);
      expect(left, outputs.join('\n')).to.deep.equal(['1', '0', '0']);
      expect(outputs[2])
        .to.match(/^HTTP\/1.1 429/)
        .and.include('"quota_used_up"');
      const id = /x-gateway-request-id: (\S+)/i.exec(outputs[2]!)?.[1] ?? '';
      const logged = await eventually('the request is in the log', () =>
        own
          .admin()
          .logs.get(id)
          .catch(() => null),
      );
      expect(logged.metrics?.stage_fields).to.deep.equal({ quota: { used: 3 } });
    } finally {
      await own.stop();
      rmSync(dir, { recursive: true, force: true });
    }
  });

  it('a plugin whose options break its schema is refused at start with the path', async function () {
    this.timeout(20_000);
    const dir = mkdtempSync(join(tmpdir(), 'headgate-plugin-'));
    const plugin = examplesOf('docs/plugins.md').find(({ file }) => file === 'region.js');
    writeFileSync(join(dir, 'package.json'), '{"type":"module"}');
    writeFileSync(join(dir, 'region.js'), plugin?.text ?? '');
    const plugins = JSON.stringify({
      directory: dir,
      insert: [{ name: 'region', after: 'config', options: { allowed: [] } }],
    });
    const failed = await startGateway({ env: { HEADGATE_PLUGINS: plugins } }).then(
      async (running) => {
        await running.stop();
        return '';
      },
      (error: Error) => error.message,
    );
    rmSync(dir, { recursive: true, force: true });
    expect(failed).to.include('plugin region').and.include('allowed');
  });
});
