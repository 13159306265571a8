import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import { expect } from 'chai';
import { parseAllDocuments } from 'yaml';
import type { Replay } from '../../src/client/index.js';
import { headgateHere } from '../support/cli-bench.js';
import { headgate, type Ran } from '../support/command.js';
import { examplesOf } from '../support/examples.js';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';
import { runTyped } from '../support/typed-commands.js';

const page = examplesOf('docs/files.md');
const example = (file: string): string => page.find((one) => one.file === file)!.text;
const documentsIn = (text: string): unknown[] => parseAllDocuments(text).map((one) => one.toJS());

describe('configuration as files', function () {
  this.timeout(60_000);
  let gateway: RunningGateway;
  let folder: string;
  let env: Record<string, string>;

  before(async () => {
    gateway = await startGateway({ env: { HEADGATE_SIMULATED: 'true' } });
  });
  after(() => gateway?.stop());

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'headgate-files-'));
    env = { ...gateway.env, HEADGATE_ADMIN_KEY: gateway.adminKey, OPENAI_API_KEY: 'sk-canary-of-the-files' };
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  function write(file: string, text: string): string {
    const path = join(folder, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  }
  const command = (...args: string[]): Promise<Ran> => headgateHere(args, env);
  const sh = (text: string): Promise<Ran> => runTyped(text, { env, cwd: folder });
  const label = (name: string, colour = '#00ff00'): string =>
    `kind: Label\nname: ${name}\nworkspace: default\nspec:\n  color_code: "${colour}"\n`;

  it('runs every command of the page as it is written', async () => {
    for (const { language, file, text } of page) {
      if (file !== null) write(file, text);
      if (language !== 'sh') continue;
      const { code, stdout, stderr } = await sh(text);
      expect(code, `${text}${stdout}${stderr}`).to.equal(0);
      expect(stdout + stderr).to.not.include('sk-canary');
    }
    env['VAULT_TOKEN'] = 'hvs.canary-of-vault';
    const vault = await command('apply', '-f', join(folder, 'more'), '--set', 'more');
    expect(vault.stdout, vault.stderr).to.include('Applied: 5 created').and.not.include('canary');
    expect(statSync(join(folder, 'keys.yaml')).mode & 0o777).to.equal(0o600);
    expect(documentsIn(readFileSync(join(folder, 'all.yaml'), 'utf8'))).to.deep.include({
      kind: 'Provider',
      name: 'openai-shop',
      workspace: 'shop',
      spec: { integration_id: 'openai', usage_limits: { credit_limit: 100, periodic_reset: 'monthly' } },
    });
  });

  it('prints a plan without secrets, with an exit code for whether something would change', async () => {
    write('a.yaml', label('planned'));
    const plan = await command('apply', '-f', folder, '--dry-run', '--detailed-exitcode');
    expect(plan.code, plan.stderr).to.equal(2);
    expect(plan.stdout).to.include('+ Label default/planned').and.include('Nothing was changed');
    expect((await command('apply', '-f', folder)).code).to.equal(0);
    const again = await command('apply', '-f', folder, '--dry-run', '--detailed-exitcode');
    expect(again.code, again.stdout).to.equal(0);
    write('a.yaml', label('planned', '#0000ff'));
    const change = await command('apply', '-f', folder, '--dry-run');
    expect(change.stdout)
      .to.include('- spec.color_code: "#00ff00"')
      .and.include('+ spec.color_code: "#0000ff"');
  });

  it('reports everything that is wrong, each with file, line and column, and changes nothing', async () => {
    write('good.yml', label('never-made'));
    const one = write('sub/one.yaml', 'kind: Label\nname: x\nworkspace: default\nspec:\n  colour: red\n');
    const two = write(
      'sub/two.json',
      JSON.stringify(
        { kind: 'Integration', name: 'y', spec: { ai_provider_id: 'openai', key: 'sk-literal' } },
        null,
        2,
      ),
    );
    const { code, stderr } = await command('apply', '-f', folder);
    expect(code).to.equal(1);
    expect(stderr).to.include(`${one}:5:3: spec.colour is not a field of spec`);
    expect(stderr).to.include(`${two}:6:5: spec.key is a secret: write {env: NAME}`);
    expect(stderr).to.not.include('sk-literal');
    expect((await command('export', '--kind', 'Label')).stdout).to.not.include('never-made');
  });

  it('suggests the kind and the field that were meant, and names a workspace that is not there', async () => {
    const file = write(
      'typos.yaml',
      [
        'kind: Confg\nname: a',
        'kind: Label\nname: b\nspec: { descripton: x }',
        'kind: Label\nname: c\nworkspace: nowhere',
      ].join('\n---\n'),
    );
    const { code, stderr } = await command('apply', '-f', file);
    expect(code).to.equal(1);
    expect(stderr).to.include(`${file}:1:1: kind is none: did you mean Config?`);
    expect(stderr).to.include('spec.descripton is not a field of spec: did you mean description?');
    const place = await command(
      'apply',
      '-f',
      write('place.yaml', 'kind: Label\nname: c\nworkspace: nowhere\n'),
    );
    expect(place.stderr).to.include('workspace names "nowhere": there is no such workspace.');
    const provider =
      'kind: Config\nname: c\nworkspace: default\nspec: { config: { provider: "@nowhere" } }\n';
    expect((await command('apply', '-f', write('config.yaml', provider))).stderr).to.include(
      'spec.config.provider is refused: the workspace has no provider @nowhere.',
    );
  });

  it('reports where YAML cannot be read', async () => {
    const file = write('broken.yaml', 'kind: Label\nname: [x\n');
    const { code, stderr } = await command('apply', '-f', file);
    expect(code).to.equal(1);
    expect(stderr).to.match(/broken\.yaml:\d+:\d+: /);
  });

  it('refuses a folder without documents, in which --prune would find that everything is to go', async () => {
    const args = ['apply', '--set', 'emptied', '--prune', '-f'];
    const file = write('a.yaml', label('not-pruned'));
    expect((await command(...args, file)).stdout).to.include('1 created');
    for (const path of [mkdtempSync(join(folder, 'empty-')), write('b.yaml', '# nothing\n')]) {
      const { code, stderr } = await command(...args, path);
      expect(code, stderr).to.equal(2);
      expect(stderr).to.include(`${path}: there is no document of configuration`);
    }
    expect((await command(...args, write('c.yaml', '[]\n'))).stdout).to.include('1 deleted');
  });

  it('exports records of one kind, and names the kinds there are', async () => {
    const { code, stderr } = await command('export', '--kind', 'config');
    expect(code).to.equal(2);
    expect(stderr).to.include('must be one of Workspace, ');
  });

  it('refuses links that leave the folder', async () => {
    write('inside/a.yaml', label('linked'));
    write('outside.yaml', label('outside'));
    symlinkSync(join(folder, 'outside.yaml'), join(folder, 'inside/link.yaml'));
    const { code, stderr } = await command('apply', '-f', join(folder, 'inside'));
    expect(code).to.equal(2);
    expect(stderr).to.include('is a link that leaves the folder');
  });

  it('takes a secret from standard input or a file, and shows that it is another one', async () => {
    const text =
      'kind: Integration\nname: by-input\nspec: { ai_provider_id: openai, key: { env: NOT_SET } }\n';
    const file = write('integration.yaml', text);
    const missing = await command('apply', '-f', file);
    expect(missing.stderr).to.include(':3:33: spec.key has no value: the variable NOT_SET is not set.');
    const args = ['apply', '-f', file, '--secret', 'NOT_SET=-'];
    expect((await headgate(env, args, 'sk-canary-first\n')).code).to.equal(0);
    expect((await headgate(env, args, 'sk-canary-first\n')).stdout).to.include('1 unchanged');
    const secret = write('secret', 'sk-canary-second\n');
    const changed = await command('apply', '-f', file, '--secret', `NOT_SET=@${secret}`);
    expect(changed.stdout).to.include('~ spec.key: (changed)').and.not.include('canary');
    const typed = await command('apply', '-f', file, '--secret', 'NOT_SET=sk-canary-typed');
    expect(typed.code).to.equal(2);
  });

  it('takes an export of the same gateway without any variable, and changes nothing', async () => {
    const file = write(
      'secret.yaml',
      'kind: Integration\nname: kept\nspec: { ai_provider_id: openai, key: { stdin: true } }\n',
    );
    expect((await headgate(env, ['apply', '-f', file], 'sk-canary-kept\n')).code).to.equal(0);
    delete env['OPENAI_API_KEY'];
    const all = write('all.yaml', (await command('export')).stdout);
    const applied = await command('apply', '-f', all);
    expect(applied.code, applied.stderr).to.equal(0);
    expect(applied.stdout).to.include('Applied: 0 created, 0 changed, 0 deleted');
    const notices = applied.stderr.trim().split('\n');
    const stays =
      /all\.yaml:\d+:\d+: spec\.key stays as it is stored: the variable INTEGRATION_KEPT_KEY is not set\.$/;
    expect(notices.filter((line) => stays.test(line))).to.have.length(1);
    expect(new Set(notices).size).to.equal(notices.length);
    const strict = await command('apply', '-f', all, '--strict-secrets');
    expect(strict.code).to.equal(1);
    expect(strict.stderr).to.include('spec.key has no value: the variable INTEGRATION_KEPT_KEY is not set.');
    const again = await headgate(env, ['apply', '-f', file], '');
    expect(again.code, again.stderr).to.equal(0);
    expect(again.stderr).to.include(
      'secret.yaml:3:33: spec.key stays as it is stored: standard input is empty.',
    );
  });

  it('prints the text of a new key once, and does not overwrite a file of keys', async () => {
    const file = write(
      'key.yaml',
      'kind: ApiKey\nname: once\nworkspace: default\nspec: { scopes: [completions.write] }\n',
    );
    const keys = join(folder, 'keys.yaml');
    writeFileSync(keys, 'mine');
    const refused = await command('apply', '-f', file, '--keys-out', keys);
    expect(refused.code, refused.stderr).to.equal(2);
    expect(refused.stderr).to.include('keys.yaml is there already, and a key would be made');
    expect(readFileSync(keys, 'utf8')).to.equal('mine');
    const made = await command('apply', '-f', file);
    expect(made.stdout).to.match(/^default\/once: gw_\S{20,}$/m);
    const again = await command('apply', '-f', file, '--keys-out', join(folder, 'none.yaml'));
    expect(again.stdout)
      .to.include('1 unchanged')
      .and.not.match(/gw_\S{20,}/);
    expect(existsSync(join(folder, 'none.yaml'))).to.equal(false);
    const repeated = await command('apply', '-f', file, '--keys-out', keys);
    expect(repeated.stdout, repeated.stderr).to.include('1 unchanged');
    expect(readFileSync(keys, 'utf8')).to.equal('mine');
  });

  it('refuses an edited export of a record that has changed since', async () => {
    const file = write('label.yaml', label('edited'));
    await command('apply', '-f', file);
    const { stdout } = await command('export', '--kind', 'Label', '--editing', '--workspace', 'default');
    const edited = write('edited.yaml', stdout.replace('#00ff00', '#111111'));
    write('label.yaml', label('edited', '#222222'));
    await command('apply', '-f', file);
    const refused = await command('apply', '-f', edited);
    expect(refused.code, refused.stdout).to.equal(1);
    expect(refused.stderr).to.include('edited.yaml:');
  });

  it('applies a plan only while the records are as the plan found them', async () => {
    const file = write('label.yaml', label('of-a-plan'));
    await command('apply', '-f', file);
    const next = write('next.yaml', label('of-a-plan', '#333333'));
    const [, etag = ''] = /--etag (\S+)/.exec((await command('apply', '-f', next, '--dry-run')).stdout) ?? [];
    write('label.yaml', label('of-a-plan', '#444444'));
    await command('apply', '-f', file);
    const refused = await command('apply', '-f', next, '--etag', etag);
    expect(refused.code).to.equal(4);
    expect(refused.stderr).to.include('changed since the plan');
  });

  it('exports what an empty gateway takes, and that one exports the same bytes', async () => {
    for (const { file, text } of page) if (file?.startsWith('gateway/')) write(file, text);
    expect((await command('apply', '-f', join(folder, 'gateway'))).code).to.equal(0);
    const exported = await command('export');
    expect(exported.stdout).to.include('env: INTEGRATION_OPENAI_KEY').and.not.include('canary');
    const other = await startGateway({ env: { HEADGATE_SIMULATED: 'true' } });
    try {
      // What differs by itself: where the simulated provider listens.
      const fixed = (text: string): string => text.replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:1');
      const names = [...exported.stdout.matchAll(/env: (\w+)/g)].map(([, name]) => name!);
      const there = {
        ...other.env,
        HEADGATE_ADMIN_KEY: other.adminKey,
        ...Object.fromEntries(names.map((name) => [name, `sk-canary-${name}`])),
      };
      const file = write('exported.yaml', fixed(exported.stdout));
      const applied = await headgateHere(['apply', '-f', file], there);
      expect(applied.code, applied.stderr).to.equal(0);
      expect(fixed((await headgateHere(['export'], there)).stdout)).to.equal(fixed(exported.stdout));
    } finally {
      await other.stop();
    }
  });

  it('replays recorded requests through a draft, and prints how many it took', async () => {
    for (const question of ['one', 'two', 'one', 'three'])
      await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'x-gateway-api-key': gateway.workspaceKey, 'content-type': 'application/json' },
        body: JSON.stringify({ model: '@simulated/gpt-4o', messages: [{ role: 'user', content: question }] }),
      }).then((response) => response.text());
    const draft = write(
      'draft.yaml',
      [
        'strategy: { mode: loadbalance }',
        'targets:',
        '  - { provider: "@simulated", weight: 3, override_params: { model: gpt-4o-mini } }',
        '  - { provider: "@simulated", weight: 1 }',
      ].join('\n'),
    );
    const args = ['replay', '--config', draft, '--last', '4', '--workspace', 'default'];
    const replay = await eventually('four requests in the ledger', async () => {
      const { stdout, stderr } = await command(...args, '--json');
      expect(stderr).to.equal('');
      const found = JSON.parse(stdout) as Replay;
      return found.requests === 4 && found;
    });
    expect(replay.moves).to.deep.equal([
      { before: '@simulated/gpt-4o', after: '@simulated/gpt-4o-mini', requests: 3 },
      { before: '@simulated/gpt-4o', after: '@simulated/gpt-4o', requests: 1 },
    ]);
    expect(replay.after.cost).to.be.below(replay.before.cost);
    const shown = await command(...args);
    expect(shown.stdout).to.include('4 requests replayed').and.include('Nothing was sent');
    const bad = write('bad.yaml', 'strategy: { mode: fallback }\ntargets:\n  - provider: "@nowhere"\n');
    const refused = await command('replay', '--config', bad, '--workspace', 'default');
    expect(refused.stderr).to.include('config.targets[0].provider: the workspace has no provider @nowhere');
    const two = write('two.yaml', '{}\n---\n{}\n');
    const several = await command('replay', '--config', two);
    expect(several.stderr).to.include(
      '--config has 2 documents: give a file that holds the one draft alone.',
    );
  });

  describe('their JSON Schema', () => {
    let valid: ValidateFunction;

    before(async () => {
      const { stdout } = await headgateHere(['schema'], gateway.env);
      valid = new Ajv({ strict: false, validateFormats: false }).compile(JSON.parse(stdout));
    });

    const problemsOf = (document: unknown): string[] =>
      valid(document)
        ? []
        : (valid.errors ?? []).map(({ instancePath, keyword }) => `${instancePath} ${keyword}`);

    it('takes every example of the page, and an export', async () => {
      const examples = page
        .filter(({ file }) => /^(?:gateway|more)\//.test(file ?? ''))
        .flatMap(({ text }) => documentsIn(text));
      const { stdout } = await command('export');
      for (const document of [...examples, ...documentsIn(stdout)])
        expect(problemsOf(document), JSON.stringify(document)).to.deep.equal([]);
      expect(examples.length).to.be.above(4);
    });

    const [chat] = documentsIn(example('gateway/shop/chat.yaml')) as [{ spec: { config: object } }];
    const mistakes: Readonly<Record<string, readonly [document: unknown, problem: string]>> = {
      'an unknown field': [{ ...chat, spec: { ...chat.spec, colour: 'red' } }, '/spec additionalProperties'],
      'an unknown field in a config': [
        { ...chat, spec: { config: { ...chat.spec.config, retires: 3 } } },
        '/spec/config additionalProperties',
      ],
      'a value that is none of those allowed': [
        { ...chat, spec: { config: { ...chat.spec.config, strategy: { mode: 'fallbak' } } } },
        '/spec/config/strategy/mode enum',
      ],
      'a field at the wrong level': [{ ...chat, config: {} }, ' additionalProperties'],
      'an unknown kind': [{ kind: 'Konfig', name: 'x', spec: {} }, '/kind enum'],
      'a secret that is written out': [
        { kind: 'Integration', name: 'x', spec: { ai_provider_id: 'openai', key: 'sk-1' } },
        '/spec/key type',
      ],
      'a missing field': [{ kind: 'ApiKey', name: 'x', spec: {} }, '/spec required'],
    };
    for (const [what, [document, problem]] of Object.entries(mistakes))
      it(`underlines ${what}`, () => {
        expect(problemsOf(document)).to.include(problem);
      });
  });
});
