// lane: heap, not quick
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { expect } from 'chai';
import type { InsertedPlugin } from '../../src/common/plugin-host/files/inserted.js';
import { packPlugin, pluginFile } from '../../src/common/plugin-host/files/pack.js';
import { loadSettings } from '../../src/common/settings/settings.js';
import { inject } from '../../src/plugin-kit/index.js';
import { BareWorker, type Client, soon } from '../support/bare-worker.js';
import { examplesOf } from '../support/examples.js';
import { eventually } from '../support/gateway.js';

describe('plugins that run', () => {
  let dir: string;
  let worker: BareWorker;
  let key: string;
  let lines: Record<string, unknown>[];

  const write = (file: string, text: string): void => {
    mkdirSync(join(dir, file, '..'), { recursive: true });
    writeFileSync(join(dir, file), text);
  };
  const start = async (...insert: InsertedPlugin[]): Promise<void> => {
    worker = await new BareWorker().start({ plugins: { directory: dir, insert }, lines });
    key = worker.key();
    worker.onAsked = ({ handler }) => {
      setImmediate(() => {
        handler.head(200, ['content-type', 'application/json']);
        handler.data(Buffer.from('{"object":"chat.completion","choices":[],"usage":{"prompt_tokens":1}}'));
        handler.end();
      });
    };
  };
  const ask = async (how: Parameters<BareWorker['ask']>[1] = {}, by = key): Promise<Client> => {
    const client = worker.ask(by, { stream: false, ...how });
    await soon('it is answered', () => client.ended);
    return client;
  };
  const headerOf = ({ headers }: Client, name: string): string | undefined =>
    headers[headers.indexOf(name) + 1];

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'headgate-running-'));
    lines = [];
  });
  afterEach(async () => {
    await worker?.live.close();
    worker?.close();
    rmSync(dir, { recursive: true, force: true });
  });

  const plugin = (name: string, hooks: string, more = ''): string =>
    `export default { name: '${name}', options: { type: 'object' }, ${more} setup(options, host) { return { ${hooks} }; } };`;

  describe('may change', () => {
    it('the body, for the provider, the cache and the log alike', async () => {
      write(
        'brief.js',
        plugin(
          'brief',
          `request(x) { x.edit((body) => { body.messages[0].content += ' Be brief.'; body.model = 'gpt-4o'; }); x.edit((body) => ({ ...body, user: 'u' })); }`,
        ),
      );
      await start({ name: 'brief', after: 'config' });
      const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello.' }], big: 'x' };
      expect((await ask({ body })).status).to.equal(200);
      const sent = JSON.parse(String(worker.asked[0]!.request.body)) as object;
      expect(sent).to.deep.include({ model: 'gpt-4o', user: 'u', big: 'x' });
      expect(sent).to.have.deep.property('messages', [{ role: 'user', content: 'Hello. Be brief.' }]);
      await soon('it is settled', () => worker.settled.length === 1);
      expect(worker.settled[0]!.attempts[0]!.model).to.equal('gpt-4o');
    });

    it('a body only before the cache, and never whether it is streamed', async () => {
      write('late.js', plugin('late', `request(x) { x.edit((body) => { body.a = 1; }); }`));
      write('mode.js', plugin('mode', `request(x) { x.edit((body) => ({ ...body, stream: true })); }`));
      for (const [insert, reason] of [
        [{ name: 'late', after: 'cache' }, 'in a request hook before the cache'],
        [{ name: 'late', before: 'auth' }, 'inserted after config'],
        [{ name: 'mode', after: 'config' }, 'cannot change stream'],
      ] as const) {
        await start(insert);
        expect((await ask()).status).to.equal(500);
        expect(String((lines.at(-1) as { err: Error }).err)).to.include(reason);
        worker.close();
      }
    });

    it('metadata from any stage, and read and set headers', async () => {
      write(
        'tag.mjs',
        `import { defineSlot } from 'headgate/plugin';
        const seen = defineSlot('tag.seen', () => 'nothing');
        export default { name: 'tag', options: {}, setup: () => ({
          request(x) { x.set(seen, x.header('X-Team')); x.addMetadata('team', x.get(seen)); },
          attempt(x, call) { call.setHeader('X-Team', x.get(seen)); call.setHeader('authorization', null); },
          reply(x) { x.addMetadata('late', 'yes'); },
        }) };`,
      );
      await start({ name: 'tag', after: 'auth' });
      await ask({ headers: ['x-team', 'blue'] });
      const { headers } = worker.asked[0]!.request;
      expect(headers[headers.indexOf('x-team') + 1]).to.equal('blue');
      expect(headers).to.not.include('authorization');
      await soon('it is settled', () => worker.settled.length === 1);
      expect(worker.settled[0]!.metadata).to.deep.include({ team: 'blue', late: 'yes' });
    });

    for (const [what, name, value] of [
      ['of the framing', 'content-length', '1'],
      ['with a line end', 'x-a', 'a\\r\\nb: c'],
      ['without a name', '', 'a'],
    ] as const) {
      it(`no header of a call ${what}`, async () => {
        write('bad.js', plugin('bad', `attempt(x, call) { call.setHeader('${name}', '${value}'); }`));
        await start({ name: 'bad', after: 'config' });
        expect((await ask()).status).to.equal(500);
        expect((lines.at(-1) as { err: Error }).err).to.be.an.instanceof(TypeError);
      });
    }
  });

  it('may read what differs by config, which a request cannot change', async () => {
    const example = examplesOf('docs/plugins-running.md').find(({ file }) => file === 'tone.js')!;
    write('tone.js', example.text);
    const messages = [
      { role: 'system', content: 'You help.' },
      { role: 'user', content: 'Hello' },
    ];
    for (const [tone, status] of [
      ['formal', 200],
      ['rude', 400],
    ] as const) {
      const answered = await inject(
        join(dir, 'tone.js'),
        {},
        {
          config: { provider: '@simulated', plugins: ['tone'], metadata: { tone } },
          metadata: { tone: 'brief' },
          body: { model: 'gpt-4o-mini', messages },
        },
      );
      expect(answered.status).to.equal(status);
      if (status === 200)
        expect(answered.calls[0]!.json.messages[0].content).to.equal('You help. Be formal.');
      else expect(answered.json.error.param).to.equal('metadata.tone');
    }
  });

  it('are as docs/plugins-running.md has them', async () => {
    const examples = examplesOf('docs/plugins-running.md');
    for (const { file, text } of examples) if (file !== undefined && file !== null) write(file, text);
    await start({ name: 'brief', after: 'config' });
    await ask({ headers: ['x-team', 'blue'] });
    const { headers, body } = worker.asked[0]!.request;
    expect(headers[headers.indexOf('x-team') + 1]).to.equal('blue');
    expect(String(body)).to.include('Be brief.');
    const { plugins } = loadSettings({ file: join(dir, 'scoped.yaml'), env: {} });
    expect(plugins.insert[0]).to.deep.include({ name: 'region', scope: 'config' });
    write('early.yaml', 'plugins: { insert: [{ name: a, after: auth, scope: config }] }');
    expect(() => loadSettings({ file: join(dir, 'early.yaml'), env: {} })).to.throw(
      'the config is not known',
    );
  });

  describe('are written', () => {
    it('in TypeScript, in several files, with packages and JSON, in ES modules and CommonJS', async () => {
      write(
        'many/index.ts',
        `import { readFileSync as read } from 'node:fs';
import type { Exchange } from 'headgate/plugin';
import { definePlugin } from 'headgate/plugin';
import { greet } from './lib/greet.js';
import old from './old.cjs';
import settings from './settings.json' with { type: 'json' };
interface Options { readonly word?: string }
export default definePlugin<Options>({
  name: 'many', options: { type: 'object' }, replyHeaders: { said: 'What it says.' },
  setup: ({ word = 'none' }: Options, host) => ({
    async request(x: Exchange): Promise<void> {
      const later = await import('./later.js');
      host.setReplyHeader(x, 'said', [greet(word), old.name, settings.a, later.late, typeof read, import.meta.dirname!.endsWith('many')].join(' '));
    },
  }),
});`,
      );
      write(
        'many/lib/greet.ts',
        'export * from "./deep.ts";\nexport const greet = (name: string): string => "Hello " + name;',
      );
      write('many/lib/deep.ts', 'export const deep: number = 1;');
      write('many/later.js', 'export let late = 0; late = 7;');
      write(
        'many/old.cjs',
        "module.exports = { name: require('./settings.json').a + 1, path: require('node:path') };",
      );
      write('many/settings.json', '{ "a": 5 }');
      await start({ name: 'many', after: 'config', options: { word: 'you' } });
      expect(headerOf(await ask(), 'x-gateway-said')).to.equal('Hello you 6 5 7 function true');
    });

    it('and have file and line in the log when a type cannot be stripped or a hook throws', async () => {
      write('typed.ts', '\nconst a: number = 1;\nenum Bad { a }\nexport default {};');
      const refused = await start({ name: 'typed', after: 'config' }).then(
        () => 'accepted',
        (error: Error) => error.message,
      );
      expect(refused).to.include('enum is not supported').and.include('typed.ts:3');
      write(
        'throws.ts',
        `interface A {\n  b: string;\n}\n${plugin('throws', `\nrequest(x: object): void { throw new Error('boom' as string); }`)}`,
      );
      await start({ name: 'throws', after: 'config' });
      await ask();
      expect((lines.at(-1) as { err: Error }).err.stack).to.match(/throws\.ts:5:\d+/);
    });

    it('in files of which those that no setting names are not loaded', async () => {
      write('used.js', plugin('used', ''));
      write('unused.js', `globalThis.loadedUnused = true; ${plugin('unused', '')}`);
      await start({ name: 'used', after: 'config' });
      expect(globalThis).to.not.have.property('loadedUnused');
    });
  });

  it('refuse what they would see while they are required and switched off', async () => {
    await start({
      name: 'gone',
      after: 'config',
      required: true,
      off: true,
      scope: { workspaces: ['other'] },
    });
    expect((await ask()).status).to.equal(200);
    await worker.live.close();
    worker.close();
    await start({ name: 'gone', after: 'config', required: true, off: true });
    const { status, text } = await ask();
    expect([status, worker.asked.length]).to.deep.equal([503, 0]);
    expect(text).to.include('plugin_off').and.include('The plugin gone');
  });

  describe('have a scope', () => {
    const marks = plugin(
      'mark',
      `request(x) { host.setReplyHeader(x, 'marked', 'yes'); }`,
      `replyHeaders: { marked: 'Ran.' },`,
    );
    const isMarked = async (how: Parameters<BareWorker['ask']>[1] = {}, by = key): Promise<boolean> =>
      (await ask(how, by)).headers.includes('x-gateway-marked');

    it('of organisations and workspaces', async () => {
      write('mark.js', marks);
      await start({ name: 'mark', after: 'config', scope: { organisations: ['o2'], workspaces: ['w3'] } });
      expect(await isMarked()).to.equal(false);
      expect(await isMarked({}, worker.key({ organisationId: 'o2' }))).to.equal(true);
      expect(await isMarked({}, worker.key({ workspaceId: 'w3' }))).to.equal(true);
      expect(await isMarked({}, worker.key({ workspaceId: 'w4' }))).to.equal(false);
      expect((await ask({}, 'gw-unknown')).status).to.equal(401);
    });

    it('of configs that name them', async () => {
      write('mark.js', marks);
      await start({ name: 'mark', after: 'config', scope: 'config' });
      expect(await isMarked()).to.equal(false);
      expect(await isMarked({ config: '{"provider":"@p","plugins":["mark"]}' })).to.equal(true);
      expect(await isMarked({ config: '{"provider":"@p","plugins":["other"]}' })).to.equal(false);
    });
  });

  describe('are replaced', () => {
    const version = (n: number | string): string =>
      plugin(
        'v',
        `async request(x) { if (x.header('x-wait')) await globalThis.headgateWait; host.setReplyHeader(x, 'version', '${n}'); },
         close() { globalThis.headgateClosed.push('${n}'); }`,
        `replyHeaders: { version: 'Its version.' },`,
      );
    const shared = globalThis as unknown as { headgateWait: Promise<void>; headgateClosed: string[] };
    const change = async (): Promise<void> => {
      const pack = await packPlugin(pluginFile(dir, 'v'));
      await worker.live.prepare({ insert: [{ name: 'v', after: 'config', pack }] });
      worker.live.commit();
      worker.pipeline.chain = worker.live.chain;
    };
    const versionOf = (client: Client): string | undefined => headerOf(client, 'x-gateway-version');
    beforeEach(() => {
      shared.headgateClosed = [];
    });

    it('for new requests, while those under way end with what they began with, which is closed then', async () => {
      write('v.js', version(1));
      await start({ name: 'v', after: 'config' });
      let go!: () => void;
      shared.headgateWait = new Promise((resolve) => {
        go = resolve;
      });
      const old = worker.ask(key, { stream: false, headers: ['x-wait', '1'] });
      write('v.js', version(2));
      await change();
      expect(versionOf(await ask())).to.equal('2');
      expect(shared.headgateClosed).to.deep.equal([]);
      go();
      await soon('the old one is answered', () => old.ended);
      expect(versionOf(old)).to.equal('1');
      await soon('it is closed', () => shared.headgateClosed.length > 0);
      expect(shared.headgateClosed).to.deep.equal(['1']);
      await worker.live.close();
      expect(shared.headgateClosed).to.deep.equal(['1', '2']);
    });

    it('not by one that cannot be loaded or set up, whose place the old one keeps', async () => {
      write('v.js', version(1));
      await start({ name: 'v', after: 'config' });
      for (const [text, reason] of [
        ['\n\nexport default {', /v\.js:\d+/],
        ['\nthrow new Error("no licence");', /no licence.*v\.js:2/],
        [plugin('v', 'requests() {}'), /did you mean request/],
        ['import { none } from "./w.js";', /There is no file \.\/w\.js\. \(.*v\.js:1\)/],
      ] as const) {
        write('v.js', text);
        const message = await change().then(
          () => 'accepted',
          (error: Error) => error.message,
        );
        expect(message).to.match(reason);
        expect(versionOf(await ask())).to.equal('1');
      }
      expect(shared.headgateClosed).to.deep.equal([]);
    });

    it('fifty times without a trace in memory', async function () {
      this.timeout(60_000);
      write('v.js', version(0));
      await start({ name: 'v', after: 'config' });
      const { heapInUse } = await import('../support/heap.js');
      // V8 has a cache of scripts, which it empties when memory is short.
      setFlagsFromString('--no-compilation-cache');
      const filler = `// ${'x'.repeat(50_000)}\nconst table = [${'1234567,'.repeat(5000)}];\n`;
      const reload = async (n: number): Promise<void> => {
        write('v.js', `${filler}${version(n)}`);
        await change();
        expect(versionOf(await ask())).to.equal(String(n));
        // They lead to the exchange, which keeps its chain.
        worker.asked.length = 0;
      };
      for (let n = 1; n <= 10; n++) await reload(n);
      const before = heapInUse();
      for (let n = 11; n <= 60; n++) await reload(n);
      // What is kept forever would be 6 MB.
      await eventually('what was replaced is gone', async () => heapInUse() - before < 2 * 1024 * 1024);
      setFlagsFromString('--compilation-cache');
      expect(shared.headgateClosed).to.have.length(60);
    });
  });
});
