// lane: slow
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect } from 'chai';
import { benchPlugin } from '../../src/plugin-kit/bench/bench-plugin.js';
import { checkPlugin } from '../../src/plugin-kit/check/check-plugin.js';
import { findingLine } from '../../src/plugin-kit/check/finding.js';
import { definePlugin } from '../../src/plugin-kit/index.js';
import { newPlugin } from '../../src/plugin-kit/new/new-plugin.js';
import { tryPlugin } from '../../src/plugin-kit/trial.js';
import { root } from '../support/root.js';

describe('the check of a plugin', () => {
  let folder: string;
  let written = 0;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'headgate-check-'));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** What it finds in a plugin, line by line. */
  const findings = async (code: string, sample?: string): Promise<string[]> => {
    const file = join(folder, `index-${++written}.mjs`);
    rmSync(join(folder, 'sample.json'), { force: true });
    writeFileSync(file, code);
    const sampleFile = join(folder, 'sample.json');
    if (sample !== undefined) writeFileSync(sampleFile, sample);
    const checked = await checkPlugin(file, sample === undefined ? null : sampleFile);
    return checked.findings.map((finding) =>
      findingLine({ ...finding, file: basename(finding.file).replace(/-\d+/, '') }),
    );
  };

  const region = `
export default {
  name: 'region',
  options: {
    type: 'object',
    properties: { allowed: { type: 'array', items: { type: 'string' }, minItems: 1 } },
    required: ['allowed'],
    additionalProperties: false,
  },
  setup: ({ allowed }) => ({ request() {}, log() {} }),
};
`;

  it('finds nothing in a plugin that is in order, and names its hooks', async () => {
    expect(await findings(region, '{ "options": { "allowed": ["eu"] } }')).to.deep.equal([]);
    const { hooks, plugin } = await checkPlugin(
      join(folder, `index-${written}.mjs`),
      join(folder, 'sample.json'),
    );
    expect(plugin?.name).to.equal('region');
    expect(hooks).to.deep.equal(['request', 'log']);
  });

  it('names the providers, formats, checks and sinks that a plugin brings', async () => {
    const file = join(folder, 'all.mjs');
    writeFileSync(
      file,
      `
export default {
  name: 'acme',
  options: { type: 'object' },
  providers: () => ({ acme: { base: 'https://acme.example/v1', paths: { 'openai-chat': '/chat/completions' } } }),
  setup(_options, host) {
    host.sink({ name: 'events', deliver: async () => {} });
    return { checks: { polite: { run: () => true } } };
  },
};
`,
    );
    const { findings, providers, sinks, checks, hooks } = await checkPlugin(file, null);
    expect({ findings, providers, sinks, checks, hooks }).to.deep.equal({
      ...{ findings: [], hooks: [] },
      ...{ providers: ['acme'], sinks: ['events'], checks: ['polite'] },
    });
  });

  for (const [code, reason] of [
    ['export const a = 1;', 'it has no default export.'],
    ['export default 7;', 'its default export is a number, and not an object.'],
    ['export default { setup() {}, options: {} };', 'name is missing, or no text.'],
    ["export default { name: 'a', options: {} };", 'setup is missing, or no function.'],
    [
      "export default { name: 'a', setup: () => ({}) };",
      "options is missing: without options, write options: { type: 'object' }.",
    ],
  ] as const) {
    it(`explains why a file is no plugin: ${reason}`, async () => {
      expect((await findings(code)).join()).to.include(reason);
    });
  }

  it('names file, line and path of each option that the schema refuses', async () => {
    const sample = '{\n  "options": {\n    "allowed": [\n      7\n    ],\n    "alowed": 1\n  }\n}';
    expect(await findings(region, sample)).to.have.members([
      'sample.json:6  options.alowed: is not known here.',
      'sample.json:4  options.allowed.0: must be string.',
    ]);
    expect(await findings(region, '{\n "option": {},\n "request": { "bdy": 1 }\n}')).to.have.members([
      'sample.json:2  option: is not read here: a sample has options and request.',
      'sample.json:3  request.bdy: there are method, path, headers, metadata, body, stream, config, principal.',
      "sample.json:1  options: must have required property 'allowed'.",
    ]);
    expect((await findings(region, '{ "options": {\n ] }'))[0]).to.match(
      /^sample\.json:2 {2}no valid JSON: /,
    );
  });

  it('names file and line of each member that the gateway would refuse', async () => {
    const found = await findings(`
const plugin = {
  name: 'Quota',
  option: {},
  options: { type: 'object', properties: { calls: { typ: 'integer' }, most: { type: 'int' } } },
  // errors: { none: 1 }
  errors: {
    quota_used_up: { status: 200, type: 'rate_limit_error', blame: 'nobody', doc: 'Too many.' },
    internal: { status: 500, type: 'server_error', blame: 'gateway', doc: 'Its own.' },
  },
  state: {
    calls: { kind: 'counters', seconds: 60, doc: 'Calls.' },
  },
  ledgerFields: {
    used: { type: 'int', doc: 'Calls.' },
  },
  needs: ['keys'],
  schedules: {},
  setup: () => ({}),
};
export default plugin;
`);
    expect(found).to.have.members([
      'index.mjs:3  name: must match pattern "^[a-z][a-z0-9-]*$".',
      'index.mjs:4  option: is no member of a plugin; did you mean options?',
      'index.mjs:5  options.properties.most.type: must be one of array, boolean, integer, null, number, object, string.',
      'index.mjs:8  errors.quota_used_up.status: must be >= 400.',
      'index.mjs:8  errors.quota_used_up.blame: must be one of client, upstream, gateway.',
      'index.mjs:9  errors.internal: this name is not possible, or is taken.',
      'index.mjs:12  state.calls.kind: must be one of counter, values.',
      'index.mjs:15  ledgerFields.used.type: must be one of integer, number, string, boolean.',
      'index.mjs:17  needs.0: must be one of upstream, costs, tokens, node.',
      "index.mjs:18  schedules: is for the gateway's own stages.",
    ]);
  });

  it('takes the sample of its own file where several plugins are in a folder', async () => {
    writeFileSync(join(folder, 'region.mjs'), region);
    writeFileSync(join(folder, 'sample.json'), '{ "options": { "allowed": 7 } }');
    const [missing] = (await checkPlugin(join(folder, 'region.mjs'), null)).findings;
    expect(missing?.message).to.include('Give options in region.sample.json');
    writeFileSync(join(folder, 'region.sample.json'), '{ "options": { "allowed": ["eu"] } }');
    const { findings: found, sample } = await checkPlugin(join(folder, 'region.mjs'), null);
    expect(found).to.deep.equal([]);
    expect(sample.options).to.deep.equal({ allowed: ['eu'] });
  });

  it('warns of a schema that lets misspelt options pass', async () => {
    const loose = region.replace('    additionalProperties: false,\n', '');
    expect(await findings(loose, '{ "options": { "allowed": ["eu"] } }')).to.deep.equal([
      'index.mjs:4  warning: options: a misspelt option is not refused: add additionalProperties: false.',
    ]);
  });

  it('names the line at which a file cannot be loaded, or its setup fails', async () => {
    expect(await findings('\n\nconst = 3;')).to.deep.equal([
      "index.mjs:3  the plugin cannot be loaded: Unexpected token '='",
    ]);
    expect(await findings('\nthrow new Error("no licence");')).to.deep.equal([
      'index.mjs:2  the plugin cannot be loaded: no licence',
    ]);
    writeFileSync(
      join(folder, 'second.mjs'),
      '\n\nexport default { name: "a", options: {},\n setup() { throw new Error("no licence"); } };',
    );
    const { findings: found } = await checkPlugin(join(folder, 'second.mjs'), null);
    expect(found.map(({ line, message }) => [line, message])).to.deep.equal([
      [4, 'plugin a: setup failed: no licence'],
    ]);
  });

  it('names a hook that does not exist', async () => {
    const misspelt = region.replace('log()', 'lgo()');
    expect(await findings(misspelt, '{ "options": { "allowed": ["eu"] } }')).to.deep.equal([
      'index.mjs:10  plugin region: setup returned lgo, which is no hook; did you mean log?',
    ]);
  });
});

describe('headgate plugin', () => {
  const busy = definePlugin<{ readonly turns: number }>({
    name: 'busy',
    options: { type: 'object', properties: { turns: { type: 'integer' } }, additionalProperties: false },
    setup: ({ turns }) => ({
      request(x) {
        for (let i = 0; i < turns; i++) x.get;
        Math.hypot(...Array.from({ length: turns }, (_, i) => Math.sqrt(i)));
      },
      attempt: () => {},
      event: (_x, event) => event,
    }),
  });

  it('test sends requests in every format through it, whole and streamed, and reports what it did wrong', async () => {
    const tried = await tryPlugin(busy, { turns: 1 }, {});
    expect(tried.map(({ request, status, calls, faults }) => [request, status, calls, faults])).to.deep.equal(
      [
        'chat',
        'chat, stream',
        'messages',
        'messages, stream',
        'responses',
        'responses, stream',
        'gemini',
        'gemini, stream',
        'completions',
        'completions, stream',
        'embeddings',
      ].map((name) => [name, 200, 1, []]),
    );
    const broken = definePlugin({
      name: 'broken',
      options: {},
      setup: () => ({
        request: (x) => (x.streaming ? ({ text: 'no' } as never) : undefined),
      }),
    });
    const [whole, streamed] = await tryPlugin(
      broken,
      {},
      { body: { model: 'm', messages: [{ role: 'user', content: 'Hi' }] } },
    );
    expect(whole).to.deep.include({ request: 'sample', status: 200, faults: [] });
    expect(streamed).to.include({ request: 'sample, stream', status: 500 });
    expect(streamed!.faults[0]).to.match(
      /^the plugin broken failed in request: TypeError: It returned no Reply/,
    );
  });

  it('test sends nothing more after a hook that waits for too long', async () => {
    const waiting = definePlugin({
      name: 'waiting',
      options: {},
      setup: () => ({ request: () => new Promise<undefined>(() => {}) }),
    });
    const tried = await tryPlugin(waiting, {}, {}, 100);
    expect(tried).to.have.length(1);
    expect(tried[0]!.faults[0]).to.match(/took longer than 100 ms/);
  });

  it('bench prints what each hook costs a whole answer and a stream', async function () {
    this.timeout(20_000);
    const bench = () => benchPlugin({ plugin: busy, options: { turns: 2000 }, request: {}, seconds: 0.01 });
    let [whole, stream] = await bench();
    const isPaired = (): boolean => whole!.addedMicros > whole!.hooks[0]!.micros / 2;
    // Another program may take the processor from one of the two that are compared: one undisturbed round of several.
    for (let i = 0; i < 5 && !isPaired(); i++) [whole, stream] = await bench();
    expect(whole).to.include({ kind: 'whole', status: 200 });
    expect(whole!.hooks.map(({ hook, calls }) => [hook, calls])).to.deep.equal([
      ['request', 1],
      ['attempt', 1],
    ]);
    const [request, attempt] = whole!.hooks;
    expect(request!.micros).to.be.above(20).and.above(attempt!.micros);
    // Paired: what the hook takes is what the chain with it takes more.
    expect(isPaired(), `${whole!.addedMicros} µs more, ${request!.micros} µs in the hook`).to.equal(true);
    expect(whole!.emptyMicros).to.be.above(0);
    const events = stream!.hooks.find(({ hook }) => hook === 'event');
    expect(events!.calls).to.be.above(2);
  });

  // In one process, without the runner that starts another for each file: `headgate plugin test` runs in test/unit/package.test.ts.
  it('new makes a folder whose tests pass where headgate is not installed', function () {
    this.timeout(20_000);
    const folder = mkdtempSync(join(tmpdir(), 'headgate-new-'));
    try {
      newPlugin('asked-by', folder);
      const manifest = readFileSync(join(folder, 'asked-by/package.json'), 'utf8');
      expect(JSON.parse(manifest).dependencies.headgate).to.equal(`file:${root}/`);
      const { stdout, stderr } = spawnSync(
        process.execPath,
        ['--import', join(root, 'dist/src/plugin-kit/test-imports.js'), 'asked-by/index.test.js'],
        { cwd: folder, encoding: 'utf8' },
      );
      expect(stdout + stderr)
        .to.match(/^# pass 3$/m)
        .and.match(/^# fail 0$/m);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('new refuses a name that a plugin cannot have, and a folder that has files', () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-new-'));
    try {
      expect(() => newPlugin('No', folder)).to.throw('a-z, 0-9 and -');
      expect(() => newPlugin('cache', folder)).to.throw('cache is a stage of the gateway');
      const { files } = newPlugin('asked-by', folder);
      expect(files).to.have.members([
        'index.ts',
        'index.test.js',
        'sample.json',
        'package.json',
        'tsconfig.json',
        'README.md',
      ]);
      expect(() => newPlugin('asked-by', folder)).to.throw('has files already');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
