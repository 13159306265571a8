// lane: slow
import { randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import pg from 'pg';
import type { FirstKeys } from '../../src/control-plane/store/store.js';
import { startSimulated } from '../../src/simulated/index.js';
import { headgateHere } from '../support/cli-bench.js';
import { headgate } from '../support/command.js';
import { eventually, freePorts, type RunningGateway, startGateway } from '../support/gateway.js';
import { restartAll } from '../support/rolling-restart.js';
import { folder, forEachStore } from '../support/stores.js';
import { expectWithinMs, scaled } from '../support/time-limits.js';

const chat = (
  gateway: RunningGateway,
  key: string,
  more: object = {},
  provider = '@simulated',
): Promise<Response> =>
  fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': key,
      'x-gateway-provider': provider,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }], ...more }),
  });

async function statusAt(gateway: RunningGateway, key: string): Promise<number> {
  const response = await chat(gateway, key);
  await response.text();
  return response.status;
}

const portsOf = ([port, grpc, ops]: readonly number[]): Record<string, string> => ({
  HEADGATE_PORT: String(port),
  HEADGATE_GRPC_PORT: String(grpc),
  HEADGATE_OPS_PORT: String(ops),
});

const ready = async (gateway: RunningGateway): Promise<number> =>
  (await fetch(`${gateway.opsUrl}/readyz`)).status;

describe('three gateways on one PostgreSQL', function () {
  this.timeout(60_000);

  forEachStore(({ options, dialect }) => {
    if (dialect !== 'postgres') return;
    let env: Record<string, string>;
    let nodes: RunningGateway[] = [];
    let first: FirstKeys;
    let database: pg.Client;

    before(async () => {
      const { databaseUrl } = await options(folder());
      env = {
        DATABASE_URL: databaseUrl?.reveal() ?? '',
        HEADGATE_MASTER_KEY: randomBytes(32).toString('hex'),
        HEADGATE_SIMULATED: 'true',
        HEADGATE_SCHEDULES: 'prune=1',
        HEADGATE_SECRET_ENV: 'NODES_SECRET,NODES_OTHER',
        NODES_SECRET: 'canary-first',
        NODES_OTHER: 'canary-second',
        HEADGATE_DRAIN_DELAY_MS: String(scaled(1000)),
      };
      database = new pg.Client({ connectionString: env['DATABASE_URL'] });
      await database.connect();
      nodes = await Promise.all(
        ['a', 'b', 'c'].map((name) => startGateway({ env: { ...env, HEADGATE_NODE_NAME: name } })),
      );
      const made = nodes.map(({ dataDir }) => join(dataDir, 'first-keys.json')).filter(existsSync);
      expect(made, 'one of them made the first keys').to.have.length(1);
      first = JSON.parse(readFileSync(made[0]!, 'utf8')) as FirstKeys;
    });
    after(async () => {
      await Promise.all(nodes.map((node) => node.stop()));
      await database?.end();
    });

    const rows = async (sql: string): Promise<Record<string, unknown>[]> => (await database.query(sql)).rows;

    const overRest = async (gateway: RunningGateway, verb: string, path: string, body?: object) => {
      const response = await fetch(`${gateway.url}${path}`, {
        method: verb,
        headers: { 'x-gateway-api-key': first.admin_key, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      });
      // biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes.
      return { status: response.status, json: (await response.json()) as any };
    };

    it('started at once on an empty database, they make one store, one organisation and one pair of keys', async () => {
      expect(await rows('SELECT id FROM organisations')).to.have.length(1);
      expect(await rows('SELECT id FROM api_keys')).to.have.length(2);
      expect(
        await rows('SELECT version FROM schema_version GROUP BY version HAVING count(*) > 1'),
      ).to.have.length(0);
      for (const node of nodes) expect(await statusAt(node, first.workspace_key)).to.equal(200);
    });

    const listed = async (gateway: RunningGateway): Promise<Record<string, unknown>[]> =>
      (await overRest(gateway, 'GET', '/v1/nodes')).json.data;

    it('each of them lists all, by name', async () => {
      for (const node of nodes) {
        const all = await eventually('three nodes that are up', async () => {
          const rows = await listed(node);
          return rows.length === 3 && rows.every(({ state }) => state === 'up') && rows;
        });
        expect(all.map(({ name, role, workers }) => [name, role, workers])).to.deep.equal(
          ['a', 'b', 'c'].map((name) => [name, 'all', 1]),
        );
      }
      const env = { ...nodes[1]!.env, HEADGATE_ADMIN_KEY: first.admin_key };
      const ran = await headgateHere(['nodes', 'list', '--json'], env);
      expect(JSON.parse(ran.stdout), ran.stderr).to.have.length(3);
      await eventually('the metric', async () => {
        const metrics = await (await fetch(`${nodes[2]!.opsUrl}/metrics`)).text();
        return /^gateway_nodes\{state="up"\} 3$/m.test(metrics);
      });
    });

    it('do what is due once a second on one of them at a time', async () => {
      await eventually('it is listed', async () => {
        const { json } = await overRest(nodes[1]!, 'GET', '/v1/schedules');
        return json.data.some(({ name }: { name: string }) => name === 'prune');
      });
      const runs = await eventually('five runs', async () => {
        const found = (await overRest(nodes[2]!, 'GET', '/v1/schedules/prune/runs')).json.data;
        return found.length > 5 && found.slice(-5);
      });
      const due = runs.map((run: { due_at: string }) => Date.parse(run.due_at));
      expect(due.map((at: number) => due[0] - at)).to.deep.equal([0, 1000, 2000, 3000, 4000]);
      const ids = (await listed(nodes[0]!)).map(({ id }) => id);
      for (const run of runs) expect(ids).to.include(run.node_id);
      expect((await overRest(nodes[0]!, 'GET', '/v1/schedules/nothing/runs')).status).to.equal(404);
    });

    it('use a changed secret reference on every node, and write its value to no disk', async () => {
      const provider = await startSimulated({ record: true });
      try {
        const made = async (verb: string, path: string, body: object) => {
          const { status, json } = await overRest(nodes[0]!, verb, path, body);
          expect(status, JSON.stringify(json)).to.equal(200);
        };
        const env = { manager_type: 'env', auth_config: {} };
        const reference = { name: 'Of nodes', slug: 'of-nodes', secret_path: 'NODES_SECRET', ...env };
        await made('POST', '/v1/secret-references', reference);
        await made('POST', '/v1/integrations', {
          name: 'Of nodes',
          ai_provider_id: 'openai',
          workspace_id: first.workspace_id,
          configurations: { custom_host: `${provider.url}/v1` },
          default_provider_slug: 'mapped',
          secret_mappings: [{ target_field: 'key', secret_reference_id: 'of-nodes' }],
        });
        const keyAt = async (node: RunningGateway): Promise<string> => {
          const response = await chat(node, first.workspace_key, {}, '@mapped');
          expect(response.status, await response.text()).to.equal(200);
          return provider.requests.at(-1)!.headers['authorization']!;
        };
        for (const node of nodes)
          await eventually('the provider', async () => (await keyAt(node)) === 'Bearer canary-first');
        await made('PUT', '/v1/secret-references/of-nodes', { secret_path: 'NODES_OTHER' });
        expect(await keyAt(nodes[0]!)).to.equal('Bearer canary-second');
        for (const node of nodes)
          await eventually('the change', async () => (await keyAt(node)) === 'Bearer canary-second');
        for (const { dataDir } of nodes)
          for (const file of readdirSync(dataDir, { recursive: true, withFileTypes: true }))
            if (file.isFile()) {
              const bytes = readFileSync(join(file.parentPath, file.name));
              expect(bytes.includes('canary'), file.name).to.equal(false);
            }
      } finally {
        await provider.close();
      }
    });

    it('a copy of a data directory is refused while its node is alive', async () => {
      const copy = mkdtempSync(join(tmpdir(), 'headgate-test-'));
      copyFileSync(join(nodes[0]!.dataDir, 'node-id'), join(copy, 'node-id'));
      const ran = await headgate(
        { ...nodes[0]!.env, ...portsOf(await freePorts(3)), HEADGATE_DATA_DIR: copy },
        ['serve'],
      );
      expect(ran.code).to.equal(1);
      expect(ran.stderr).to.match(
        /^headgate: The node a runs with the id .+ directory, which is a copy .+\n$/,
      );
      rmSync(copy, { recursive: true });
    });

    it('one that is killed and started again is up at once', async () => {
      const node = nodes[2]!;
      const ended = new Promise((done) => node.process.once('exit', done));
      node.process.kill('SIGKILL');
      await ended;
      nodes[2] = await node.restart();
      const up = await eventually('up', async () =>
        (await listed(nodes[0]!)).find(({ name }) => name === 'c'),
      );
      expect(up).to.include({ state: 'up' });
    });

    it('a key that one of them revokes is refused there at once and by the others within a second', async () => {
      const [one, ...others] = nodes as [RunningGateway, ...RunningGateway[]];
      const { json } = await overRest(one, 'POST', '/v1/api-keys/workspace/service', {
        name: 'short-lived',
        workspace_id: first.workspace_id,
        scopes: ['completions.write'],
      });
      for (const node of nodes) expect(await statusAt(node, json.key)).to.equal(200);
      expect((await overRest(one, 'DELETE', `/v1/api-keys/${json.id}`)).status).to.equal(200);
      const revoked = performance.now();
      expect(await statusAt(one, json.key)).to.equal(401);
      for (const node of others)
        await eventually('refused by another', async () => (await statusAt(node, json.key)) === 401, 2000);
      expectWithinMs(performance.now() - revoked, 1000);
    });

    it('are restarted one after the other without a failed request, a cut stream or a lost change', async () => {
      const rolled = await restartAll(nodes, first, 1, undefined, { requests: 200, changes: 500 });
      nodes = rolled.nodes;
      expect(rolled.failures).to.deep.equal([]);
      expect(rolled.requests).to.be.above(50);
      const made = await rows("SELECT id FROM configs WHERE name = 'rolled'");
      expect(made).to.have.length(rolled.changes);
    });

    describe('and a fourth one with the role data', () => {
      let node: RunningGateway;
      let deployment: { readonly id: string; readonly auth_secret: string };

      before(async () => {
        const body = { name: 'edge', auth_settings: { workspaces_allowed: ['default'] } };
        deployment = (await overRest(nodes[0]!, 'POST', '/v1/deployments', body)).json;
        const more = {
          HEADGATE_ROLE: 'data',
          HEADGATE_DRAIN_DELAY_MS: String(scaled(2000)),
          HEADGATE_DEPLOYMENT_SECRET: deployment.auth_secret,
        };
        node = await startGateway({
          env: { ...env, ...more },
          dataDir: mkdtempSync(join(tmpdir(), 'headgate-test-')),
        });
      });
      after(() => node?.stop());

      it('serves model calls, and has no administration over REST or gRPC', async () => {
        expect(await statusAt(node, first.workspace_key)).to.equal(200);
        const { status, json } = await overRest(node, 'GET', '/v1/configs');
        expect([status, json.error.code]).to.deep.equal([404, 'not_found']);
        expect(json.error.message).to.include('HEADGATE_ROLE=data');
        expect(node.output()).to.match(/is ready at \S+ \(health \S+\)/);
        const grpc = await fetch(`http://127.0.0.1:${node.grpcPort}`).then(
          () => 'open',
          () => 'closed',
        );
        expect(grpc).to.equal('closed');
      });

      it('reports as the deployment whose secret it has, and serves whom that lets in', async () => {
        const path = `/v1/deployments/${deployment.id}`;
        const ping = await eventually('a report', async () => {
          const { json } = await overRest(nodes[1]!, 'GET', `${path}/ping`);
          return json.success && json;
        });
        expect(Date.now() - Date.parse(ping.last_seen_at)).to.be.lessThan(60_000);
        const put = (auth_settings: object) => overRest(nodes[0]!, 'PUT', path, { auth_settings });
        const refusal = async (): Promise<string> =>
          ((await (await chat(node, first.workspace_key)).json()) as { error?: { message: string } }).error
            ?.message ?? '';
        expect((await put({ disable_gateway: 'true' })).status).to.equal(200);
        await eventually(
          'turned off',
          async () => (await refusal()).startsWith('This gateway is turned off'),
          2000,
        );
        expect(await statusAt(nodes[0]!, first.workspace_key)).to.equal(200);
        const other = await overRest(nodes[0]!, 'POST', '/v1/admin/workspaces', {
          name: 'Other',
          slug: 'other',
        });
        expect(other.status).to.equal(200);
        await put({
          disable_gateway: 'false',
          workspaces_allowed: ['other'],
          remove_workspaces_allowed: ['default'],
        });
        await eventually('another workspace', async () =>
          (await refusal()).includes('does not serve your workspace'),
        );
        await put({ allow_all_workspaces: true });
        await eventually('all workspaces', async () => (await statusAt(node, first.workspace_key)) === 200);
      });

      it('is listed with its role', async () => {
        const found = await eventually('up', async () =>
          (await listed(nodes[0]!)).find(({ role }) => role === 'data'),
        );
        expect(found).to.include({ state: 'up', workers: 1 });
      });

      it('after SIGTERM is not ready at once, and still serves until its drain begins', async () => {
        const stream = await chat(node, first.workspace_key, {
          model: 'sim-fault:chunks=40,delay=50',
          stream: true,
        });
        const whole = stream.text();
        const exit = new Promise<number | null>((done) => node.process.once('exit', (code) => done(code)));
        node.process.kill('SIGTERM');
        await eventually('not ready', async () => (await ready(node)) === 503);
        const verbose = await (await fetch(`${node.opsUrl}/readyz?verbose`)).text();
        expect(verbose).to.include('[-]shutdown failed');
        const answer = await chat(node, first.workspace_key);
        expect([answer.status, answer.headers.get('connection')]).to.deep.equal([200, 'close']);
        expect(await whole).to.include('[DONE]');
        const state = async () => (await listed(nodes[0]!)).find(({ role }) => role === 'data')?.['state'];
        await eventually('draining', async () => (await state()) === 'draining');
        expect(await exit).to.equal(0);
        expect(await state()).to.equal('left');
      });
    });
  });
});
