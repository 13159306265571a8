// lane: heap, not quick
import { expect } from 'chai';
import { factsOf } from '../../plugins/cache/config-facts.js';
import config from '../../plugins/config/index.js';
import { childHashes, targetName } from '../../plugins/router/balance/identity.js';
import { Exchange } from '../../src/common/core/exchange.js';
import { type ResolvedConfig, type RouteNode, targetOf } from '../../src/common/core/target.js';
import type { FullHost, Hooks } from '../../src/common/plugin-host/plugin.js';
import { CompiledConfigs } from '../../src/data-plane/routing/compiled-cache.js';
import { heapInUse } from '../support/heap.js';

const maxBytes = 4 * 1024 * 1024;

/** A worker's config stage over a cache of inline configs of `maxBytes`. */
function stage() {
  const configs = new CompiledConfigs(() => true, [], maxBytes);
  const { request } = config.setup({}, {
    headerPrefixes: ['x-gateway-'],
    isProvider: () => true,
    configs,
  } as unknown as FullHost) as Hooks;
  return {
    configs,
    call(headers: Record<string, string>): ResolvedConfig {
      const x = new Exchange(
        'id',
        { name: 'chat', format: 'openai-chat', body: 'json' },
        {
          method: 'POST',
          path: '/v1/chat/completions',
          query: '',
          headers: Object.entries(headers).flat(),
          remoteAddress: '',
          bytes: null,
          stream: null,
          json: null,
        },
      );
      x.principal = {
        workspaceId: 'w',
        defaults: { configId: null, allowConfigOverride: true, metadata: {} },
      } as unknown as Exchange['principal'];
      request?.(x);
      return x.config;
    },
  };
}

/** Has everything derived that the cache and the router derive from a config. */
function use(resolved: ResolvedConfig): void {
  factsOf(resolved);
  const visit = (node: RouteNode): void => {
    if (node.kind === 'target') targetName(targetOf(resolved, node));
    else {
      childHashes(node.children);
      for (const child of node.children) visit(child);
    }
  };
  visit(resolved.root);
}

const many = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i));

const kinds: Record<string, (n: number) => object> = {
  'one target': (n) => ({ request_timeout: n + 1 }),
  'sixty targets': (n) => ({
    strategy: { mode: 'fallback' },
    targets: many(60, (i) => ({ name: `t${n}-${i}`, retry: { attempts: 1 } })),
  }),
  'parameters under names of their own': (n) => ({
    retry: { attempts: 1 },
    override_params: Object.fromEntries(many(300, (i) => [`key-${n}-${i}`, i])),
  }),
  'parameters nested in each other': (n) => ({
    retry: { attempts: 1 },
    override_params: { n, a: many(500, (i) => ({ [`b${i % 7}`]: [] })) },
  }),
  'a long text': (n) => ({ retry: { attempts: 1 }, override_params: { text: `${n} `.repeat(2000) } }),
  'conditions with lists and patterns': (n) => ({
    strategy: {
      mode: 'conditional',
      conditions: many(8, (i) => ({
        query: {
          $or: [
            { 'metadata.a': { $regex: `^(${n}|[a-z]{${i + 2}})x` } },
            { 'params.b.c': { $in: many(40, (k) => `v${n}-${k}`) } },
          ],
        },
        // biome-ignore lint/suspicious/noThenProperty: the key of the config.
        then: 'only',
      })),
      default: 'only',
    },
    targets: [{ name: 'only', retry: { attempts: 1 } }],
  }),
};

describe('memory of inline configs', function () {
  // What earlier tests of this process still hold may be freed while it is measured.
  this.retries(3);
  for (const [kind, make, isLayered] of Object.entries(kinds).flatMap(([name, of]) => [
    [name, of, true] as const,
    [name, of, false] as const,
  ])) {
    it(`stays within its bound however many different ones come${isLayered ? ' with different headers' : ''}: ${kind}`, function () {
      this.timeout(20_000);
      const { configs, call } = stage();
      let n = 0;
      const send = (): void => {
        const headers: Record<string, string> = isLayered
          ? { 'x-gateway-request-timeout': String(1000 + n), 'x-gateway-azure-region': `r${n}` }
          : {};
        use(call({ ...headers, 'x-gateway-config': JSON.stringify(make(n++)) }));
      };
      for (let i = 0; i < 10; i++) send();
      configs.clear();
      const before = heapInUse();
      // Until as many have made room for others as are kept.
      for (let sent = 0; sent < 20_000 && sent < configs.size + 10; sent++) send();
      const grown = heapInUse() - before;
      expect(configs.bytes).to.be.at.most(maxBytes);
      expect(grown).to.be.at.most(maxBytes);
      expect(grown).to.be.at.least(maxBytes / 20);
      expect(configs.size).to.be.greaterThan(10);
    });
  }
});
