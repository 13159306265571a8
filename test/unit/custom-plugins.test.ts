import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { deepFreeze } from '../../src/common/bytes/deep-freeze.js';
import { GatewayError } from '../../src/common/core/errors.js';
import { Exchange } from '../../src/common/core/exchange.js';
import { type Metric, Metrics } from '../../src/common/plugin-host/metrics.js';
import type { FullHost, Hooks, Plugin } from '../../src/common/plugin-host/plugin.js';
import {
  customHost,
  customStage,
  type HookLimit,
} from '../../src/data-plane/pipeline/plugins/custom-stage.js';
import { pluginScope } from '../../src/data-plane/pipeline/plugins/plugin-scope.js';
import { loadPlugin, setUp } from '../../src/data-plane/pipeline/plugins/plugins.js';

interface Line {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

describe('a custom plugin', () => {
  let lines: Line[];
  const write = (fields: object, message: string): void => {
    lines.push({ fields: fields as Line['fields'], message });
  };
  const log = { info: write, warn: write, error: write };
  beforeEach(() => {
    lines = [];
  });

  const plugin = (hooks: unknown): Plugin => ({
    name: 'mine',
    options: { type: 'object' },
    setup: () => hooks as Hooks,
  });
  const refusal = (hooks: unknown): Promise<string> =>
    setUp(plugin(hooks), {}, {} as FullHost).then(
      () => 'accepted',
      (error: Error) => error.message,
    );

  describe('is refused at the start', () => {
    const broken = '\n\nconst = 3;\n';
    const esm = '{"type":"module"}';
    for (const [what, files, place, said] of [
      ['throws', { 'a.mjs': '\n\nthrow new Error("no licence");' }, 'a.mjs:3', 'no licence'],
      ['has a syntax error', { 'a.mjs': broken }, 'a.mjs:3', "Unexpected token '='"],
      ['is CommonJS with a syntax error', { 'a.js': broken }, 'a.js:3', "Unexpected token '='"],
      [
        'imports a name that is not exported',
        { 'a/index.js': '\nimport { none } from "./b.js";', 'a/b.js': '', 'a/package.json': esm },
        'index.js:2',
        "export named 'none'",
      ],
      [
        'imports a file with a syntax error',
        { 'a/index.js': 'import "./b.js";', 'a/b.js': broken, 'a/package.json': esm },
        'b.js:3',
        "Unexpected token '='",
      ],
    ] as const) {
      it(`when its file ${what}, with the file and the line`, async () => {
        const dir = mkdtempSync(join(tmpdir(), 'headgate-plugins-'));
        try {
          mkdirSync(join(dir, 'a'));
          for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
          if (!('a/index.js' in files)) rmSync(join(dir, 'a'), { recursive: true });
          const entry = 'a/index.js' in files ? 'a/index.js' : Object.keys(files)[0]!;
          const message = await loadPlugin(join(dir, entry)).then(
            () => 'accepted',
            (error: Error) => error.message,
          );
          expect(message).to.include('the plugin cannot be loaded').and.include(said);
          expect(message.endsWith(`/${place})`), message).to.equal(true);
        } finally {
          rmSync(dir, { recursive: true, force: true });
        }
      });
    }

    it('when it returns a hook that does not exist, with the name of the nearest one', async () => {
      expect(await refusal({ requests() {} })).to.equal(
        'plugin mine: setup returned requests, which is no hook; did you mean request?',
      );
      expect(await refusal({ request() {}, onEvent() {} })).to.match(/onEvent, which is no hook; .*event/);
      expect(await refusal({ beforeAnything() {} })).to.equal(
        'plugin mine: setup returned beforeAnything, which is no hook; there are request, explain, attempt, reply, text, event, log, close.',
      );
    });

    it('when a method of the class it returns is no hook', async () => {
      class Stage {
        request(): void {}
        atempt(): void {}
      }
      expect(await refusal(new Stage())).to.include('did you mean attempt?');
    });

    it('when a hook is no function, or there are no hooks at all', async () => {
      expect(await refusal({ request: true })).to.equal('plugin mine: the hook request must be a function.');
      expect(await refusal(undefined)).to.equal('plugin mine: setup must return an object of hooks.');
    });

    it('when its setup fails, with its name and the line', async () => {
      const failing: Plugin = {
        name: 'mine',
        options: { type: 'object' },
        setup() {
          throw new Error('no licence');
        },
      };
      const error = await setUp(failing, {}, {} as FullHost).catch((thrown: Error) => thrown.message);
      expect(error).to.match(
        /^plugin mine: setup failed: no licence \(\/.*custom-plugins\.test\.[jt]s:\d+\)$/,
      );
    });

    it('when its file cannot be loaded, or exports no plugin', async () => {
      const dir = mkdtempSync(join(tmpdir(), 'headgate-plugins-'));
      const load = (text: string): Promise<string> => {
        writeFileSync(join(dir, 'a.mjs'), text);
        return loadPlugin(join(dir, 'a.mjs')).then(
          ({ name }) => name,
          (error: Error) => error.message,
        );
      };
      try {
        expect(await load("export default { name: 'mine', options: {}, setup: () => ({}) };")).to.equal(
          'mine',
        );
        expect(await load("throw new Error('no licence');")).to.include(
          'a.mjs: the plugin cannot be loaded: no licence',
        );
        expect(await load("export default { name: 'other', setup: () => ({}) };")).to.include(
          'options is a JSON Schema',
        );
      } finally {
        rmSync(dir, { recursive: true, force: true });
      }
    });
  });

  const exchange = (): Exchange => {
    const x = new Exchange('request-1', {} as Exchange['endpoint'], {
      method: 'POST',
      path: '/',
      query: '',
      headers: [],
      remoteAddress: '127.0.0.1',
      bytes: null,
      stream: null,
      json: { model: 'm', messages: [{ role: 'user', content: 'Hello' }] },
    });
    x.metadata = { region: 'eu' };
    return x;
  };
  const limit: HookLimit = { ms: 30_000, unlimited: null };
  const phases = ['request', 'explain', 'attempt', 'reply', 'text', 'event', 'log'] as const;
  type Phase = (typeof phases)[number];
  const run = (phase: Phase, hook: (x: Exchange, more: unknown) => unknown, x = exchange()): unknown =>
    (
      customStage({ name: 'mine', hooks: { [phase]: hook } }, log, limit).hooks[
        phase
      ] as unknown as typeof hook
    )(x, {});

  it('has long lists frozen with all that is in them, and without a list of their keys', () => {
    let listed = 0;
    const target = [1, 2, { text: 'a' }, [{ text: 'b' }]];
    const list = new Proxy(target, {
      ownKeys(of) {
        listed++;
        return Reflect.ownKeys(of);
      },
    });
    deepFreeze({ list });
    // To freeze it, once.
    expect(listed).to.equal(1);
    for (const part of [target, target[2], target[3], (target[3] as object[])[0]])
      expect(part).to.satisfy(Object.isFrozen);
  });

  for (const phase of phases) {
    it(`cannot change metadata or the body in place in the ${phase} phase`, () => {
      const x = exchange();
      const thrown: unknown[] = [];
      const attempt = (change: () => void): void => {
        try {
          change();
        } catch (error) {
          thrown.push(error);
        }
      };
      run(
        phase,
        () => {
          attempt(() => Object.assign(x.metadata, { region: 'us' }));
          attempt(() => Object.assign(x.request.json!, { model: 'other' }));
          attempt(() => (x.request.json!['messages'] as unknown[]).push({}));
          attempt(() => Object.assign((x.request.json!['messages'] as object[])[0]!, { role: 'system' }));
          return phase === 'event' ? null : undefined;
        },
        x,
      );
      expect(thrown).to.have.length(4);
      for (const error of thrown) expect(error).to.be.an.instanceof(TypeError);
      expect(x.metadata).to.deep.equal({ region: 'eu' });
      expect(x.request.json).to.deep.equal({ model: 'm', messages: [{ role: 'user', content: 'Hello' }] });
    });

    for (const when of ['at once', 'later']) {
      it(`that fails ${when} in the ${phase} phase is logged with its name, the hook and the request`, async () => {
        const error = new Error('boom');
        const result = await Promise.resolve()
          .then(() =>
            run(phase, () => {
              if (when === 'later') return Promise.reject(error);
              throw error;
            }),
          )
          .catch((thrown: unknown) => thrown);
        // The log phase comes last: its failure is reported, and changes nothing.
        expect(result).to.equal(phase === 'log' ? undefined : error);
        expect(lines).to.deep.equal([
          {
            fields: { plugin: 'mine', hook: phase, request_id: 'request-1', err: error },
            message: `the plugin mine failed in ${phase}`,
          },
        ]);
      });
    }
  }

  it('that refuses a request is not reported as failed; in a stream or after the end it is', () => {
    const refuse = (): never => {
      throw new GatewayError('invalid_request', 'Send a region.');
    };
    for (const phase of ['request', 'attempt', 'reply'] as const)
      expect(() => run(phase, refuse)).to.throw('Send a region.');
    expect(lines).to.deep.equal([]);
    expect(() => run('event', refuse)).to.throw('Send a region.');
    run('log', refuse);
    expect(lines.map(({ fields }) => fields['hook'])).to.deep.equal(['event', 'log']);
  });

  it('that returns something else than its hook may return fails with its name', async () => {
    const rubbish: readonly (readonly [Phase, unknown])[] = [
      ['request', true],
      ['request', { status: 200 }],
      ['request', { status: 99_999, headers: [] }],
      ['reply', 'yes'],
      ['event', undefined],
      ['event', { data: 1 }],
      ['event', [{ name: null, data: 'x' }, 'y']],
    ];
    for (const [phase, value] of rubbish) {
      expect(() => run(phase, () => value), JSON.stringify(value)).to.throw(TypeError);
      const later = await (run(phase, () => Promise.resolve(value)) as Promise<unknown>).catch(
        (error) => error,
      );
      expect(later).to.be.an.instanceof(TypeError);
    }
    expect(lines).to.have.length(2 * rubbish.length);
    for (const { fields } of lines) expect(fields['plugin']).to.equal('mine');
  });

  it('keeps the instance that it returned, and costs no promise where it makes none', () => {
    class Stage {
      #seen = 0;
      request(): void {
        this.#seen++;
      }
      event(): { name: null; data: string } {
        return { name: null, data: String(this.#seen) };
      }
    }
    const { hooks } = customStage({ name: 'mine', hooks: new Stage() }, log, limit);
    expect(hooks.request?.(exchange())).to.equal(undefined);
    expect(hooks.event?.(exchange(), { name: null, data: '' })).to.deep.equal({ name: null, data: '1' });
    expect(hooks.attempt).to.equal(undefined);
  });

  it('is named as the origin of what it starts, and not of what the gateway does for it', async () => {
    const seen: unknown[] = [];
    const host = customHost('mine', {
      attempt: async () => {
        await null;
        seen.push(pluginScope());
        return {} as never;
      },
      log,
      metrics: new Metrics(),
    } as unknown as FullHost);
    await run('request', async (x) => {
      await host.attempt(x, {} as never);
      await null;
      seen.push(pluginScope());
    });
    seen.push(pluginScope());
    expect(seen).to.deep.equal([null, { plugin: 'mine', hook: 'request', requestId: 'request-1' }, null]);
  });

  describe('with a broken metric source', () => {
    const shown = (source: () => unknown): (() => Metric[]) => {
      const metrics = new Metrics();
      metrics.show(() => [{ name: 'gateway_own', labels: {}, value: 1 }]);
      customHost('mine', { log, metrics } as unknown as FullHost).metrics.show(source as () => Metric[]);
      return () => metrics.read();
    };
    const own = { name: 'gateway_own', labels: {}, value: 1 };

    it('costs the metrics of others nothing, and is logged once until it works again', () => {
      let isBroken = true;
      const read = shown(() => {
        if (isBroken) throw new Error('boom');
        return [{ name: 'mine_total', labels: { kind: 'a' }, value: 2 }];
      });
      expect(read()).to.deep.equal([own]);
      expect(read()).to.deep.equal([own]);
      expect(lines).to.have.length(1);
      expect(lines[0]).to.deep.include({ message: 'a metric source of the plugin mine is broken' });
      expect(lines[0]?.fields).to.include({ plugin: 'mine', hook: 'metrics' });
      isBroken = false;
      expect(read()).to.deep.equal([own, { name: 'mine_total', labels: { kind: 'a' }, value: 2 }]);
      isBroken = true;
      expect(read()).to.deep.equal([own]);
      expect(lines).to.have.length(2);
    });

    it('that returns what is no metric has no lines', () => {
      const metric = { name: 'mine_total', labels: {}, value: 1 };
      for (const rubbish of [
        null,
        'text',
        Promise.resolve([metric]),
        [null],
        [{ ...metric, name: 'mine total' }],
        [{ ...metric, value: '1' }],
        [{ ...metric, labels: null }],
        [{ ...metric, labels: { 'a b': 'c' } }],
        [{ ...metric, labels: { a: 1 } }],
        [{ ...metric, labels: { a: 'x'.repeat(1000) } }],
        Array.from({ length: 1001 }, () => metric),
      ]) {
        lines = [];
        expect(shown(() => rubbish)()).to.deep.equal([own]);
        expect(lines).to.have.length(1);
      }
    });
  });

  it('whose hook keeps a request waiting fails that request, and is named in the error and in the log', async () => {
    const waits = (hook: Phase, limit: HookLimit): unknown => {
      const hooks = { [hook]: () => new Promise(() => {}) };
      const run = customStage({ name: 'mine', hooks }, log, limit).hooks[hook];
      return (run as unknown as (x: Exchange, more: unknown) => unknown)(exchange(), {});
    };
    for (const hook of phases.filter((phase) => phase !== 'log')) {
      lines = [];
      const thrown = await (waits(hook, { ms: 5, unlimited: null }) as Promise<unknown>).catch(
        (error: unknown) => error,
      );
      expect(thrown, hook).to.be.instanceOf(GatewayError).with.property('status', 500);
      expect((thrown as GatewayError).message).to.equal(
        `The hook ${hook} of the plugin mine took longer than 5 ms (HEADGATE_HOOK_TIMEOUT_MS).`,
      );
      expect(lines.map(({ fields }) => fields)).to.have.length(1);
      expect(lines[0]?.fields).to.include({ plugin: 'mine', hook });
    }
    lines = [];
    const first = await Promise.race([
      waits('log', { ms: 5, unlimited: null }),
      waits('request', { ms: 5, unlimited: 'request' }),
      new Promise((resolve) => setTimeout(() => resolve('still waiting'), 50)),
    ]);
    expect(first).to.equal('still waiting');
    expect(lines).to.deep.equal([]);
  });

  it('starts a timer only for a hook that promises something, and stops it then', async () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    // The timer of the test itself starts once it waits.
    await new Promise(setImmediate);
    const before = timers();
    expect(run('request', () => undefined)).to.equal(undefined);
    expect(timers()).to.equal(before);
    const kept = run('request', async () => undefined);
    expect(timers()).to.equal(before + 1);
    expect(await kept).to.equal(undefined);
    const broken = run('request', () => Promise.reject(new Error('boom'))) as Promise<unknown>;
    expect(await broken.catch((error: Error) => error.message)).to.equal('boom');
    await new Promise(setImmediate);
    expect(timers()).to.equal(before);
  });

  it('whose close fails does not keep the worker from closing', async () => {
    const { hooks } = customStage(
      {
        name: 'mine',
        hooks: {
          close() {
            throw new Error('boom');
          },
        },
      },
      log,
      limit,
    );
    await hooks.close?.();
    expect(lines[0]?.fields).to.include({ plugin: 'mine', hook: 'close' });
  });
});
