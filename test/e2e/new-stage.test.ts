// lane: slow
import { randomBytes } from 'node:crypto';
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { SqliteConnection } from '../../src/control-plane/database/sqlite.js';
import { type BuiltWithStages, buildWithStages } from '../support/build-with-stages.js';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';
import { RedisServer } from '../support/redis.js';
import { root } from '../support/root.js';
import { folder, forEachStore } from '../support/stores.js';

interface Answer {
  readonly status: number;
  readonly id: string;
  readonly left: string | null;
  readonly body: { readonly error?: { readonly code: string; readonly type: string } };
}

/** On a connection of its own, so that any worker may get it. */
async function ask(gateway: RunningGateway, key = gateway.workspaceKey): Promise<Answer> {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': key,
      'x-gateway-provider': '@simulated',
      'content-type': 'application/json',
      connection: 'close',
    },
    body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] }),
  });
  return {
    status: response.status,
    id: response.headers.get('x-gateway-request-id') ?? '',
    left: response.headers.get('x-gateway-quota-left'),
    body: (await response.json()) as Answer['body'],
  };
}

/** The log row of a request, once it is there. */
const logged = (gateway: RunningGateway, id: string) =>
  eventually('the request is in the log', () =>
    gateway
      .admin()
      .logs.get(id)
      .catch(() => null),
  );

async function expectRefused(gateway: RunningGateway, answer: Answer): Promise<void> {
  expect(answer.body.error).to.include({ code: 'quota_used_up', type: 'rate_limit_error' });
  expect(answer).to.include({ status: 429, left: '0' });
  const { metrics } = await logged(gateway, answer.id);
  expect(metrics).to.deep.include({ error: 'quota_used_up', stage_fields: { quota: { used: 4 } } });
}

describe('a stage of one folder', function () {
  this.timeout(90_000);

  forEachStore(({ options, dialect }) => {
    if (dialect !== 'postgres') return;

    describe('and one line of order.ts, on two nodes of two workers', () => {
      let built: BuiltWithStages;
      let redis: RedisServer;
      let one: RunningGateway;
      let two: RunningGateway;

      before(async () => {
        built = buildWithStages(['quota', 'sweeper'], 'limits');
        redis = await RedisServer.start();
        const { databaseUrl } = await options(folder());
        const env = {
          DATABASE_URL: databaseUrl?.reveal() ?? '',
          REDIS_URL: redis.url,
          HEADGATE_MASTER_KEY: randomBytes(32).toString('hex'),
          HEADGATE_SIMULATED: 'true',
          HEADGATE_WORKERS: '2',
          HEADGATE_QUOTA_CALLS: '3',
          HEADGATE_SCHEDULES: 'sweeper-sweep=1',
        };
        one = await startGateway({ env, main: built.main });
        const dataDir = mkdtempSync(join(tmpdir(), 'headgate-test-'));
        copyFileSync(join(one.dataDir, 'first-keys.json'), join(dataDir, 'first-keys.json'));
        two = await startGateway({ env, dataDir, main: built.main });
      });
      after(async () => {
        await Promise.all([one?.stop(), two?.stop()]);
        await redis?.remove();
        built?.remove();
      });

      it('has its setting, and counts over all workers and nodes', async () => {
        const answers: Answer[] = [];
        for (const gateway of [one, two, one]) answers.push(await ask(gateway, one.workspaceKey));
        expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200]);
        expect(answers.map(({ left }) => left)).to.deep.equal(['2', '1', '0']);
        const { metrics } = await logged(two, answers[1]!.id);
        expect(metrics?.stage_fields).to.deep.equal({ quota: { used: 2 } });
      });

      it('refuses with its own code, which the log has with its own field', async () => {
        await expectRefused(two, await ask(two, one.workspaceKey));
      });

      const runsOf = async ({ dataDir }: RunningGateway) => {
        const database = await SqliteConnection.open(join(dataDir, 'sweeper.db'), []);
        const rows = await database.all<{ due_at: number; fence: number }>('SELECT * FROM runs');
        await database.close();
        return rows;
      };

      it('may have a part in the control process, whose schedule runs once each time over both nodes, and is listed', async () => {
        const all = await eventually('five runs', async () => {
          const runs = (await Promise.all([one, two].map(runsOf))).flat();
          return runs.length >= 5 ? runs : null;
        });
        const dueTimes = all.map(({ due_at: dueAt }) => dueAt).sort((a, b) => a - b);
        expect(new Set(dueTimes).size).to.equal(all.length);
        expect(new Set(all.map(({ fence }) => fence)).size).to.equal(all.length);
        expect(dueTimes.every((dueAt) => dueAt % 1000 === 0)).to.equal(true);
        const listed = await fetch(`${two.url}/v1/schedules`, {
          headers: { 'x-gateway-api-key': one.adminKey },
        });
        const { data } = (await listed.json()) as { data: { name: string; interval_s: number }[] };
        const own = data.find(({ name }) => name === 'sweeper-sweep');
        expect(own).to.include({ interval_s: 1 });
      });

      it('goes on by itself, node by node, while Redis is away', async () => {
        await redis.kill();
        const { status, left } = await ask(one, one.workspaceKey);
        expect({ status, left }).to.deep.equal({ status: 200, left: '2' });
      });
    });
  });

  describe('loaded as a custom plugin, on two workers', () => {
    let dir: string;
    let gateway: RunningGateway;

    before(async () => {
      dir = mkdtempSync(join(tmpdir(), 'headgate-plugin-'));
      mkdirSync(join(dir, 'plugins'));
      const built = join(root, 'dist/test/stages/quota');
      cpSync(built, join(dir, 'plugins/quota'), { recursive: true });
      writeFileSync(join(dir, 'plugins/package.json'), '{"type":"module"}');
      const plugins = {
        directory: join(dir, 'plugins'),
        insert: [{ name: 'quota', after: 'config', options: { calls: 3 } }],
      };
      gateway = await startGateway({
        env: {
          HEADGATE_SIMULATED: 'true',
          HEADGATE_WORKERS: '2',
          HEADGATE_PLUGINS: JSON.stringify(plugins),
        },
      });
    });
    after(async () => {
      await gateway?.stop();
      rmSync(dir, { recursive: true, force: true });
    });

    it('has its setting as an option, counts over all workers, and refuses with its own code', async () => {
      const answers: Answer[] = [];
      for (let i = 0; i < 4; i++) answers.push(await ask(gateway));
      expect(answers.map(({ left }) => left)).to.deep.equal(['2', '1', '0', '0']);
      await expectRefused(gateway, answers[3]!);
    });

    it('shows its metrics', async () => {
      await eventually('its refusals are counted', async () => {
        const text = await (await fetch(`${gateway.opsUrl}/metrics`)).text();
        return /^quota_refused_total\{worker="\d"\} 1$/m.test(text);
      });
    });
  });
});
