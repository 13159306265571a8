import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { addErrors, type ErrorCode, GatewayError } from '../../src/common/core/errors.js';
import { Exchange } from '../../src/common/core/exchange.js';
import type { Capabilities, CapabilityName } from '../../src/common/plugin-host/host.js';
import { Metrics } from '../../src/common/plugin-host/metrics.js';
import type { FullHost, StageDeclaration } from '../../src/common/plugin-host/plugin.js';
import { OwnState, serveStageState } from '../../src/control-plane/shared-state/stage-state.js';
import type { Place, StageName } from '../../src/data-plane/pipeline/order.js';
import { arrange, type Stage } from '../../src/data-plane/pipeline/plugins/plugins.js';
import {
  explainMissing,
  type HostParts,
  stageHost,
} from '../../src/data-plane/pipeline/plugins/stage-host.js';
import { loadStages, places, stages } from '../../src/data-plane/pipeline/plugins/stages.js';
import { CacheStage } from '../support/cache-stage.js';
import { examplesOf } from '../support/examples.js';
import { root } from '../support/root.js';
import { SharedHub, silent } from '../support/shared.js';

const exchange = (): Exchange => new Exchange('x', {} as Exchange['endpoint'], {} as Exchange['request']);

/** Capabilities whose members are there, and do nothing. */
const capabilities = {
  upstream: { attempt() {}, aside() {}, upstreamKey() {}, sentOnHeaders: new Set() },
  costs: { cost: () => 5, expectedCost: () => null },
  tokens: { inputTokens: async () => null },
  node: { workers: 2, weightOf: () => 1 },
  configs: { configs: {}, isProvider: () => true },
  keys: { hashKey: () => null },
  bodies: { readBody() {}, bodyRecurs() {} },
  settlement: { settle() {} },
  channel: { shared: {} },
} as unknown as Capabilities;

function parts(shared = new SharedHub().worker()): HostParts {
  return {
    log: silent,
    headerPrefixes: ['x-gateway-'],
    directory: {} as HostParts['directory'],
    metrics: new Metrics(),
    random: Math.random,
    shared,
    capabilities,
  };
}

const hostOf = (declared: Partial<StageDeclaration>, isOwn = false): FullHost =>
  stageHost({ name: 'mine', ...declared }, parts(), isOwn);

describe('the order of stages', () => {
  it('has every stage of the gateway with its plugin', async () => {
    const plugins = await loadStages();
    expect(plugins.map(({ name }) => name)).to.deep.equal([
      'auth',
      'body',
      'config',
      'models',
      'guardrails',
      'cache',
      'limits',
      'router',
      'logger',
    ]);
    for (const { name, needs } of plugins)
      expect(needs, name).to.equal(stages.find((stage) => stage.name === name)?.needs);
  });

  it('puts custom plugins at their places, after the body is read', () => {
    const named = (name: string): Stage => ({ name, hooks: {} });
    const builtIn = new Map(stages.map(({ name }) => [name, named(name)] as [StageName, Stage]));
    const at = (place: Place, name: string) => ({ place, stage: named(name) });
    const chain = arrange(builtIn, [
      at({ after: 'auth' }, 'a'),
      at({ before: 'config' }, 'b'),
      at({ after: 'config' }, 'c'),
      at({ before: 'auth' }, 'd'),
      at({ after: 'logger' }, 'e'),
      at({ after: 'auth' }, 'f'),
    ]);
    expect(chain.map(({ name }) => name).join(' ')).to.equal(
      'd auth body a f b config models c guardrails cache limits router logger e',
    );
    expect(places).to.deep.equal(['auth', 'config', 'guardrails', 'cache', 'limits', 'router', 'logger']);
  });
});

describe('the host of a stage', () => {
  it('has its public part, and of capabilities those that the stage needs', () => {
    const open = ['directory', 'error', 'headerPrefixes', 'log', 'metrics', 'random', 'record'];
    const all = [...open, 'runJob', 'setReplyHeader', 'sink', 'state'];
    expect(Object.keys(hostOf({})).sort()).to.deep.equal(all);
    expect(Object.keys(hostOf({ needs: ['costs'] })).sort()).to.deep.equal(
      [...all, 'cost', 'expectedCost'].sort(),
    );
  });

  it('gives custom plugins no capability that is for the stages of the gateway', () => {
    for (const needed of ['configs', 'keys', 'bodies', 'settlement', 'channel'] as const) {
      expect(() => hostOf({ needs: [needed] })).to.throw(
        `plugin mine: the capability ${needed} is for the gateway's own stages alone.`,
      );
      expect(hostOf({ needs: [needed] }, true)).to.include.keys(Object.keys(capabilities[needed]));
    }
    expect(() => hostOf({ needs: ['cost' as CapabilityName] })).to.throw(
      'plugin mine: needs names cost, which is no capability; did you mean costs?',
    );
  });

  it('explains how to ask for a capability that was not declared', () => {
    const host = explainMissing('mine', hostOf({ needs: ['costs'] }), capabilities);
    expect(host.cost(exchange())).to.equal(5);
    expect(() => host.attempt).to.throw(
      "plugin mine: host.attempt is part of the capability upstream: add needs: ['upstream'] to the plugin.",
    );
    expect(() => host.hashKey).to.throw('host.hashKey is for the gateway');
  });

  it('records declared ledger fields of their types', () => {
    const host = hostOf({
      ledgerFields: { used: { type: 'integer', doc: '' }, by: { type: 'string', doc: '' } },
    });
    const x = exchange();
    host.record(x, 'used', 3);
    host.record(x, 'by', 'a');
    host.record(x, 'used', 4);
    expect(x.fields).to.deep.equal({ mine: { used: 4, by: 'a' } });
    expect(() => host.record(x, 'other', 1)).to.throw('ledgerFields of mine does not declare other.');
    for (const value of [1.5, '3', Number.NaN, true])
      expect(() => host.record(x, 'used', value), String(value)).to.throw('must be of the type integer');
    expect(() => host.record(x, 'by', 'a'.repeat(257))).to.throw('must be of the type string');
  });

  it('makes errors of codes that there are', () => {
    const host = hostOf({});
    expect(host.error('invalid_request', 'No.')).to.include({ code: 'invalid_request', status: 400 });
    expect(() => host.error('invalid' as ErrorCode, 'No.')).to.throw(
      'errors of mine does not declare invalid',
    );
  });

  it('sets declared reply headers under the prefix', () => {
    const host = hostOf({ replyHeaders: { 'quota-left': '' } });
    const x = exchange();
    host.setReplyHeader(x, 'quota-left', '3');
    host.setReplyHeader(x, 'quota-left', '2');
    expect(x.replyHeaders).to.deep.equal(['x-gateway-quota-left', '2']);
    expect(() => host.setReplyHeader(x, 'other', '1')).to.throw('does not declare other');
    expect(() => host.setReplyHeader(x, 'quota-left', 'a\r\nb: c')).to.throw('printable ASCII');
  });

  it('shares declared state with other workers', async () => {
    const hub = new SharedHub();
    serveStageState(hub.server, null);
    const stage: StageDeclaration = {
      name: 'mine',
      state: {
        calls: { kind: 'counter', seconds: 60, doc: '' },
        names: { kind: 'values', seconds: 60, doc: '' },
      },
    };
    const [one, two] = [hub.worker(), hub.worker()].map((end) => stageHost(stage, parts(end), false));
    expect(await one!.state.counter('calls').add('k')).to.equal(1);
    expect(await two!.state.counter('calls').add('k', 4)).to.equal(5);
    expect(await two!.state.counter('calls').add('other')).to.equal(1);
    const names = one!.state.values('names');
    names.set('k', { of: ['any', 1] });
    await hub.quiet();
    expect(await two!.state.values('names').get('k')).to.deep.equal({ of: ['any', 1] });
    names.delete('k');
    await hub.quiet();
    expect(await two!.state.values('names').get('k')).to.equal(undefined);
    expect(() => one!.state.counter('names')).to.throw('state of mine does not declare the counter names.');
    expect(() => names.set('k', 'a'.repeat(65 * 1024))).to.throw('JSON of at most');
    expect(() => names.set('k'.repeat(513), 1)).to.throw('at most 512 characters');
  });

  it('shows metrics that the cache declares', async () => {
    const { metrics } = await CacheStage.open({}, { random: Math.random });
    const declared = Object.keys(stages.find(({ name }) => name === 'cache')?.metrics ?? {});
    const shown = new Set(metrics.read().map(({ name }) => name));
    expect([...shown].sort()).to.deep.equal(declared.sort());
  });
});

describe('error codes of a stage', () => {
  const row = { status: 429, type: 'rate_limit_error', blame: 'client', doc: '' } as const;

  it('are answered as declared', () => {
    addErrors('codes', { test_of_codes: row });
    // A plugin that is set up anew declares them again.
    addErrors('codes', { test_of_codes: row });
    const { status, type, blame, fallback } = new GatewayError('test_of_codes' as ErrorCode, 'No.');
    expect({ status, type, blame, fallback }).to.deep.equal({
      status: 429,
      type: 'rate_limit_error',
      blame: 'client',
      fallback: false,
    });
  });

  it('are refused where they belong to another, or have no status of an error', () => {
    expect(() => addErrors('others', { test_of_codes: row })).to.throw('belongs to codes');
    expect(() => addErrors('others', { internal: row })).to.throw('belongs to the gateway');
    expect(() => addErrors('others', { fine: { ...row, status: 200 } })).to.throw('a status of 400 to 599');
  });
});

describe('shared state without Redis', () => {
  it('counts from the first addition for as long as it is declared', () => {
    let now = 0;
    const state = new OwnState(() => now);
    expect([state.add('k', 1, 1000), state.add('k', 2, 1000)]).to.deep.equal([1, 3]);
    now = 999;
    expect(state.add('k', 1, 1000)).to.equal(4);
    now = 1000;
    expect(state.add('k', 1, 1000)).to.equal(1);
    state.set('v', '1', 10);
    now = 1009;
    expect(state.get('v')).to.equal('1');
    now = 1010;
    expect(state.get('v')).to.equal(null);
  });

  it('has bounds, by entries and by their length', () => {
    const state = new OwnState();
    for (let i = 0; i < 50_010; i++) state.add(`k${i}`, 1, 60_000);
    expect(state.size).to.equal(50_000);
    expect(state.add('k0', 1, 60_000)).to.equal(1);
    const text = 'a'.repeat(64 * 1024);
    for (let i = 0; i < 2000; i++) state.set(`v${i}`, text, 60_000);
    expect(state.size).to.be.lessThan(1025);
    expect(state.get('v1999')).to.equal(text);
  });
});

describe('docs/architecture.md', () => {
  it('shows the stage that test/e2e/new-stage.test.ts adds', () => {
    for (const name of ['stage.ts', 'index.ts']) {
      const shown = examplesOf('docs/architecture.md').find(({ file }) => file === `plugins/quota/${name}`);
      const added = readFileSync(join(root, 'test/stages/quota', name), 'utf8');
      // One folder deeper than those of plugins.
      expect(shown?.text).to.equal(added.replaceAll('../../../src/', '../../src/'));
    }
  });
});
