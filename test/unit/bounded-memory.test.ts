// lane: heap, not quick
import { expect } from 'chai';
import { targetName } from '../../plugins/router/balance/identity.js';
import { monotonicMs } from '../../src/common/bytes/monotonic.js';
import { Exchange } from '../../src/common/core/exchange.js';
import type { BreakerCounts } from '../../src/common/ipc/breaker.js';
import type { ConfigRecord, ProviderRecord } from '../../src/common/ipc/records.js';
import type { SharedServer } from '../../src/common/ipc/shared.js';
import { createPricing } from '../../src/common/prices/pricing.js';
import { defaultTarget } from '../../src/common/vocabulary/default-config.js';
import { SharedBreakers } from '../../src/control-plane/shared-state/breakers.js';
import { LookupChannel } from '../../src/data-plane/directory/channel.js';
import { WorkerDirectory } from '../../src/data-plane/directory/directory.js';
import { createTokenCounter } from '../../src/data-plane/journal/token-counter.js';
import { RecurringBodies } from '../../src/data-plane/pipeline/request/recurring-bodies.js';
import { serviceAccount } from '../../src/data-plane/providers/auth/service-account.js';
import { TokenCache } from '../../src/data-plane/providers/auth/token-cache.js';
import { deploymentFor } from '../../src/data-plane/providers/kinds/azure-deployments.js';
import { compileConfig } from '../../src/data-plane/routing/compile.js';
import { headerLines } from '../../src/data-plane/transport/head-text.js';
import { heapInUse } from '../support/heap.js';
import { silent } from '../support/shared.js';

const megabyte = 1024 * 1024;

/** Megabytes of heap that are in use after `work` and were not before. What it returns stays alive. */
async function growth(work: () => unknown): Promise<number> {
  const before = heapInUse();
  const kept = await work();
  const grown = heapInUse() - before;
  expect(kept).not.to.equal(null);
  return grown / megabyte;
}

const long = (n: number, length: number): string => Buffer.alloc(length, `${n} `).toString();

describe('memory that callers fill', function () {
  this.timeout(20_000);

  it('keeps a bounded size of stored configs in a worker', async () => {
    const channel: LookupChannel = new LookupChannel((message) => {
      if (message.t !== 'lookup') return;
      const text = JSON.stringify({
        retry: { attempts: 1 },
        override_params: { text: long(message.id, 100_000) },
      });
      queueMicrotask(() =>
        channel.answered(message.id, { slug: message.name, version: '1', text } as ConfigRecord),
      );
    });
    const directory = new WorkerDirectory({
      channel,
      compile: ({ text, slug, version }) => compileConfig(text, { slug, version, isProvider: () => true }),
      maxBytes: { keys: megabyte, configs: 4 * megabyte, providers: megabyte },
    });
    const grown = await growth(async () => {
      for (let n = 0; n < 100; n++) await directory.config('w', `pc-${n}`);
      return directory;
    });
    expect(grown).to.be.below(5);
  });

  it('keeps a bounded size of stored providers in a worker', async () => {
    const channel: LookupChannel = new LookupChannel((message) => {
      if (message.t !== 'lookup') return;
      const fields = { azure_deployment_config: long(message.id, 100_000) };
      const record = { slug: message.name, fields, secrets: {}, credential: null, models: null };
      queueMicrotask(() => channel.answered(message.id, record as unknown as ProviderRecord));
    });
    const compile = (): never => {
      throw new Error('not asked for');
    };
    const maxBytes = { keys: megabyte, configs: megabyte, providers: 4 * megabyte };
    const directory = new WorkerDirectory({ channel, compile, maxBytes });
    const grown = await growth(async () => {
      for (let n = 0; n < 100; n++) await directory.provider('w', `p-${n}`);
      return directory;
    });
    expect(grown).to.be.below(5);
  });

  it('does not remember prices of models with long names', async () => {
    const prices = createPricing();
    const grown = await growth(() => {
      for (let n = 0; n < 200; n++) prices.priceOf('openai', long(n, 100_000));
      return prices;
    });
    expect(grown).to.be.below(2);
  });

  it('identifies a target by a short name, whatever its model and its host are called', () => {
    const named = (n: number): string =>
      targetName({ ...defaultTarget, overrideParams: { model: long(n, 100_000) } });
    expect(named(1).length).to.be.at.most(256);
    expect(named(1)).not.to.equal(named(2));
  });

  it('keeps a bounded size of service accounts', async () => {
    const grown = await growth(() => {
      for (let n = 0; n < 100; n++) {
        const account = { type: 'service_account', client_email: 'a', private_key: long(n, 100_000) };
        serviceAccount(JSON.stringify(account));
      }
    });
    expect(grown).to.be.below(3);
  });

  it('keeps a bounded size of lists of Azure deployments', async () => {
    const grown = await growth(() => {
      for (let n = 0; n < 60; n++) {
        const list = Array.from({ length: 1000 }, (_, i) => ({
          deployment_name: `${n}-${i}`,
          alias: `a${i}`,
        }));
        deploymentFor('a7', (name) => (name === 'azure_deployment_config' ? JSON.stringify(list) : null));
      }
    });
    expect(grown).to.be.below(5);
  });

  it('keeps a bounded size of tokens', async () => {
    const cache = new TokenCache<{ text: string; expiresAt: number }>();
    const expiresAt = Date.now() + 3_600_000;
    const grown = await growth(async () => {
      for (let n = 0; n < 120; n++) {
        await cache.get(`k${n}`, async () => ({ text: Buffer.alloc(100_000, `${n}`).toString(), expiresAt }));
      }
      return cache;
    });
    expect(grown).to.be.below(10);
  });

  it('does not remember long names of headers', async () => {
    const grown = await growth(() => {
      for (let n = 0; n < 500; n++) headerLines([`x-${n}-${'y'.repeat(20_000)}`, 'v'], () => {});
    });
    expect(grown).to.be.below(2);
  });

  it('counts a recurring body by what it was parsed to, not by its text', async () => {
    const recurring = new RecurringBodies();
    const principal = { organisationId: 'o' } as Exchange['principal'];
    const grown = await growth(() => {
      for (let n = 0; n < 100; n++) {
        const text = `{"n":${n},"a":[${'[],'.repeat(20_000)}0]}`;
        const request = { bytes: Buffer.from(text), json: JSON.parse(text) as object };
        const x = new Exchange('x', { name: 'chat', format: 'openai-chat', body: 'json' }, {
          ...request,
        } as unknown as Exchange['request']);
        x.principal = principal;
        recurring.keep(x);
      }
      return recurring;
    });
    expect(grown).to.be.below(18);
  });

  it('does not queue more bytes for counting than it may', async () => {
    const counter = createTokenCounter({ maxQueue: 50, maxQueueBytes: 2 * megabyte, deadlineMs: 9000 });
    const answer = Buffer.from(`{"choices":[{"message":{"content":"${'a '.repeat(350_000)}"}}]}`);
    const job = { format: 'openai-chat' as const, model: 'gpt-4o', request: null, answer, events: false };
    const counted = await Promise.all(Array.from({ length: 10 }, () => counter.count(job)));
    await counter.close();
    expect(counted.filter((usage) => usage !== null).length).to.equal(2);
  });

  it('keeps a bounded number of circuit breakers of all tenants together', () => {
    let count: (counts: BreakerCounts) => void = () => {};
    const closed: string[] = [];
    const server = {
      answer() {},
      on(kind: string, listener: never) {
        if (kind === 'breaker-counts') count = listener;
      },
      broadcast(_kind: string, { workspace, state }: { workspace: string; state: string }) {
        if (state === 'closed') closed.push(workspace);
      },
    } as unknown as SharedServer;
    const breakers = new SharedBreakers(server, silent);
    const slice = Math.floor(monotonicMs() / 2000);
    const rule = {
      failureThreshold: 1,
      failureThresholdPercentage: null,
      minimumRequests: 1,
      cooldownMs: 60_000,
      failureStatusCodes: null,
    };
    for (let tenant = 0; tenant < 20; tenant++) {
      // The last but one has fewest, and loses none.
      for (let n = 0; n < (tenant === 18 ? 100 : 600); n++) {
        count({
          organisation: 'o',
          workspace: `w${tenant}`,
          config: `c${n}`,
          path: 'config',
          slug: null,
          provider: 'p',
          rule,
          reason: '500',
          counts: [slice, 1, 1],
        });
      }
    }
    expect(breakers.list('o', null).length).to.equal(10_000);
    expect(breakers.list('o', 'w18').length).to.equal(100);
    expect(closed).to.have.lengthOf(1500);
    breakers.close();
  });
});
