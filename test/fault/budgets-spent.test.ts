// lane: slow
import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { LedgerRow } from '../../src/common/ledger/record.js';
import type { BudgetLedger } from '../../src/control-plane/ledger/ledger.js';
import { openPostgresLedger } from '../../src/control-plane/ledger/postgres/ledger.js';
import { openLedger } from '../../src/control-plane/ledger/sql.js';
import type { FirstKeys } from '../../src/control-plane/store/store.js';
import { BillingProvider } from '../support/billing-provider.js';
import { pause, type RunningGateway, startGateway } from '../support/gateway.js';
import { isLong } from '../support/long-forms.js';
import { RedisServer } from '../support/redis.js';
import { maxTokens, type Spending, spend } from '../support/spending-load.js';
import { folder, forEachStore } from '../support/stores.js';
import { scaled } from '../support/time-limits.js';

const picosPerDollar = 1e12;
const nanosPerDollar = 1e9;
const sum = (amounts: readonly number[]): number => amounts.reduce((all, one) => all + one, 0);
const chargeOf = ({ charges }: LedgerRow): number => sum((charges ?? []).map((charge) => charge[5]));

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);

/** Makes a key that may spend so many dollars at a provider. */
async function prepare(
  gateway: RunningGateway,
  first: FirstKeys,
  provider: BillingProvider,
  dollars: number,
): Promise<{ readonly key: string; readonly id: string }> {
  const made = async (path: string, body: object): Promise<{ key: string; id: string }> => {
    const response = await fetch(`${gateway.url}${path}`, {
      method: 'POST',
      headers: { 'x-gateway-api-key': first.admin_key, 'content-type': 'application/json' },
      body: JSON.stringify({ workspace_id: first.workspace_id, ...body }),
    });
    const text = await response.text();
    expect(response.status, text).to.equal(200);
    return JSON.parse(text) as { key: string; id: string };
  };
  await made('/v1/providers', {
    ...{ name: 'Billing', slug: 'billing', provider: 'openai', key: 'sk-bill' },
    custom_host: provider.baseUrl,
  });
  return made('/v1/api-keys/workspace/service', {
    name: 'spends',
    scopes: ['completions.write'],
    usage_limits: { type: 'cost', credit_limit: dollars },
  });
}

interface Spent {
  readonly org: string;
  readonly keyId: string;
  readonly dollars: number;
  readonly when: 'cancel' | 'finish';
}

/** What must be true of the ledger after all gateways have ended. Its figures are printed for docs/tests.md. */
async function judge(
  ledger: BudgetLedger,
  { org, keyId, dollars, when }: Spent,
  provider: BillingProvider,
  done: Spending,
): Promise<void> {
  const { rows: all } = await ledger.recent({ org, limit: 1_000_000 });
  const rows = all.filter(({ key }) => key === keyId);
  const sent = rows.filter(({ trace }) => provider.billOf(trace) > 0);
  const unknown = sent.filter(({ state }) => state === 'unknown');
  const reported = sent.filter(({ state, usage }) => state === 'settled' && usage.source === 'provider');
  const left = sent.filter(({ state, error }) => state === 'settled' && error === 'client_gone');
  const before = left.filter(({ usage }) => usage.output === maxTokens);
  const spent = sum(rows.map(chargeOf)) / nanosPerDollar;
  const bill = sum(provider.users.map((user) => provider.billOf(user))) / picosPerDollar;
  console.log(
    `      ${done.sent} sent, ${done.answered} answered, ${done.refused} refused, ${done.unavailable} unavailable, ${done.left.size} left, ${done.broken} broken; $${spent.toFixed(6)} of $${dollars} spent, the provider's bill is $${bill.toFixed(6)}; ${reported.length} reported, ${unknown.length} unknown, ${left.length} left, ${before.length} of them before the answer`,
  );

  expect(done.others, 'other answers').to.deep.equal([]);
  expect(provider.doubled).to.equal(0);
  const known = new Set(rows.map(({ trace }) => trace));
  expect(
    provider.users.filter((user) => !known.has(user)),
    'billed without a row',
  ).to.deep.equal([]);
  expect(spent, 'spent of the budget').to.be.at.most(dollars);
  expect(spent, 'of what could be spent').to.be.above(0.5 * dollars);

  expect(sum(reported.map(({ cost }) => cost ?? 0)), 'cost of what was reported').to.equal(
    sum(reported.map(({ trace }) => provider.billOf(trace))),
  );
  for (const row of reported) expect(chargeOf(row) * 1000, row.trace).to.equal(row.cost);
  for (const row of [...unknown, ...before]) {
    expect(row.cost, row.trace).to.be.at.least(provider.billOf(row.trace));
    expect(chargeOf(row) * 1000, row.trace).to.be.at.least(provider.billOf(row.trace));
  }
  const unmarked = left.filter(({ usage }) => usage.source === 'none');
  expect(
    unmarked.map(({ trace, attempts }) => [trace, attempts.map(({ error, status }) => [error, status])]),
    'left, and not marked as counted',
  ).to.deep.equal([]);
  for (const row of left) expect(chargeOf(row), row.trace).to.be.above(0);
  if (when === 'cancel') return;
  expect(left.length, 'left by their clients').to.be.above(0);
  expect(
    left.filter(({ usage }) => usage.source !== 'provider').map(({ trace }) => trace),
    'left, and not read to their end',
  ).to.deep.equal([]);
  expect(bill, "the provider's bill").to.be.at.most(spent);
}

/** Kills all processes of a gateway at once, and starts it again. */
async function killAll(gateway: RunningGateway): Promise<RunningGateway> {
  const { pid } = gateway.process;
  const gone = new Promise((done) => gateway.process.once('exit', done));
  for (const one of [...childrenOf(pid!), pid!]) process.kill(one, 'SIGKILL');
  await gone;
  return gateway.restart();
}

describe('a budget whose requests are left by their clients, while processes are killed', function () {
  this.timeout(scaled(180_000));
  let provider: BillingProvider;
  /** Of one test. */
  const nodes: RunningGateway[] = [];

  beforeEach(async () => {
    provider = await BillingProvider.start();
  });
  afterEach(async () => {
    await Promise.all(nodes.splice(0).map((node) => node.stop()));
    await provider.close();
  });

  for (const when of ['cancel', 'finish'] as const)
    it(`is never exceeded, and its ledger agrees with the bill of the provider: one node, ${when}, a worker killed`, async () => {
      const dollars = 1;
      const gateway = await startGateway({
        env: { HEADGATE_WORKERS: '2', HEADGATE_LOG_LEVEL: 'warn', HEADGATE_WHEN_CLIENT_LEAVES: when },
      });
      try {
        const first = JSON.parse(readFileSync(join(gateway.dataDir, 'first-keys.json'), 'utf8')) as FirstKeys;
        const { key, id } = await prepare(gateway, first, provider, dollars);
        const meanwhile = {
          after: isLong ? 25 : 20,
          work: async () => process.kill(childrenOf(gateway.process.pid!)[0]!, 'SIGKILL') && undefined,
        };
        const done = await spend({
          urls: [gateway.url],
          key,
          clients: isLong ? 150 : 90,
          provider,
          meanwhile,
        });
        await pause(500);
        await gateway.stop({ keep: true });
        const ledger = await openLedger({ dataDir: gateway.dataDir });
        await judge(ledger, { org: first.organisation_id, keyId: id, dollars, when }, provider, done);
        await ledger.close();
      } finally {
        await gateway.stop();
      }
    });

  forEachStore(({ options, dialect }) => {
    if (dialect !== 'postgres') return;
    let redis: RedisServer;

    before(async function () {
      if (!isLong) return this.skip();
      redis = await RedisServer.start();
    });
    after(async () => {
      await redis?.remove();
    });

    for (const [without, when] of [
      ['closed', 'cancel'],
      ['local_share', 'cancel'],
      ['local_share', 'finish'],
    ] as const)
      it(`is never exceeded, and its ledger agrees with the bill of the provider: three nodes, ${without}, ${when}, all processes of one killed`, async () => {
        const dollars = 6;
        const { databaseUrl } = await options(folder());
        const env = {
          DATABASE_URL: databaseUrl!.reveal(),
          REDIS_URL: redis.url,
          HEADGATE_MASTER_KEY: randomBytes(32).toString('hex'),
          HEADGATE_LOG_LEVEL: 'warn',
          HEADGATE_WORKERS: '2',
          // On a busy machine Redis may take longer than a node waits: with `closed` that is refused, else it has its share.
          HEADGATE_LIMITS_WITHOUT_REDIS: without,
          HEADGATE_WHEN_CLIENT_LEAVES: when,
        };
        for (const name of ['a', 'b', 'c'])
          nodes.push(await startGateway({ env: { ...env, HEADGATE_NODE_NAME: name } }));
        const made = nodes.map(({ dataDir }) => join(dataDir, 'first-keys.json')).find(existsSync);
        const first = JSON.parse(readFileSync(made ?? '', 'utf8')) as FirstKeys;
        const { key, id } = await prepare(nodes[0]!, first, provider, dollars);
        const meanwhile = {
          after: 150,
          work: async () => {
            nodes[1] = await killAll(nodes[1]!);
          },
        };
        const urls = nodes.map(({ url }) => url);
        const done = await spend({ urls, key, clients: 1000, provider, meanwhile });
        await pause(500);
        await Promise.all(nodes.map((node) => node.stop({ keep: true })));
        const ledger = await openPostgresLedger({
          url: databaseUrl!,
          node: randomUUID(),
          onProblem: () => {},
        });
        await judge(ledger, { org: first.organisation_id, keyId: id, dollars, when }, provider, done);
        await ledger.close();
      });
  });
});
