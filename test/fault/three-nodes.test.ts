// lane: slow
import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect } from 'chai';
import pg from 'pg';
import type { FirstKeys } from '../../src/control-plane/store/store.js';
import { eventually, mainFile, pause, type RunningGateway, startGateway } from '../support/gateway.js';
import { isLong } from '../support/long-forms.js';
import { restartAll } from '../support/rolling-restart.js';
import { root } from '../support/root.js';
import { folder, forEachStore } from '../support/stores.js';
import { expectWithinMs, scaled } from '../support/time-limits.js';

const rounds = Number(process.env['NODE_ROUNDS'] ?? 10);
const seconds = Number(process.env['SCHEDULE_SECONDS'] ?? 60);

/** The program of the commit before, built in a folder of its own. */
function buildBefore(): string {
  const tree = join(mkdtempSync(join(tmpdir(), 'headgate-before-')), 'tree');
  execFileSync('git', ['worktree', 'add', '--detach', tree, 'HEAD~1'], { cwd: root, stdio: 'ignore' });
  symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'));
  // Its modules are enough, and are written even where a type of its tests is wrong.
  spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', 'tsconfig.json'], { cwd: tree, stdio: 'ignore' });
  return tree;
}

/** The long forms of `test/e2e/nodes.test.ts`. */
describe('three gateways on one PostgreSQL, for long', function () {
  this.timeout(scaled(900_000));

  forEachStore(({ options, dialect }) => {
    if (dialect !== 'postgres') return;
    let nodes: RunningGateway[] = [];
    let first: FirstKeys;
    let database: pg.Client;

    before(async function () {
      if (!isLong) return this.skip();
      const { databaseUrl } = await options(folder());
      const env = {
        DATABASE_URL: databaseUrl?.reveal() ?? '',
        HEADGATE_MASTER_KEY: randomBytes(32).toString('hex'),
        HEADGATE_SIMULATED: 'true',
        HEADGATE_SCHEDULES: 'prune=1',
        HEADGATE_DRAIN_DELAY_MS: String(scaled(1000)),
      };
      database = new pg.Client({ connectionString: env.DATABASE_URL });
      await database.connect();
      const started = await Promise.allSettled(
        ['a', 'b', 'c'].map((name) => startGateway({ env: { ...env, HEADGATE_NODE_NAME: name } })),
      );
      // Those that have started are stopped, also where another has not.
      nodes = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
      for (const one of started) if (one.status === 'rejected') throw one.reason;
      const made = nodes.map(({ dataDir }) => join(dataDir, 'first-keys.json')).find(existsSync);
      first = JSON.parse(readFileSync(made ?? '', 'utf8')) as FirstKeys;
    });
    after(async () => {
      await Promise.all(nodes.map((node) => node.stop()));
      await database?.end();
    });

    const call = (node: RunningGateway, verb: string, path: string, key: string, body?: object) =>
      fetch(`${node.url}${path}`, {
        method: verb,
        headers: {
          'x-gateway-api-key': key,
          'x-gateway-provider': '@simulated',
          'content-type': 'application/json',
        },
        ...(body && { body: JSON.stringify(body) }),
      });

    async function statusAt(node: RunningGateway, key: string): Promise<number> {
      const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] };
      const response = await call(node, 'POST', '/v1/chat/completions', key, body);
      await response.text();
      return response.status;
    }

    it('each of a hundred keys is refused where it was revoked at once, and elsewhere within a second', async () => {
      const [one, other] = nodes as [RunningGateway, RunningGateway];
      for (let i = 0; i < 100; i++) {
        const made = await call(one, 'POST', '/v1/api-keys/workspace/service', first.admin_key, {
          name: `short-lived ${i}`,
          workspace_id: first.workspace_id,
          scopes: ['completions.write'],
        });
        const { id, key } = (await made.json()) as { id: string; key: string };
        for (const node of [one, other]) expect(await statusAt(node, key)).to.equal(200);
        await (await call(one, 'DELETE', `/v1/api-keys/${id}`, first.admin_key)).text();
        const revoked = performance.now();
        expect(await statusAt(one, key)).to.equal(401);
        await eventually('refused by another', async () => (await statusAt(other, key)) === 401, 5000);
        expectWithinMs(performance.now() - revoked, 1000);
      }
    });

    it('ten rolling restarts fail no request, cut no stream and lose no change', async () => {
      const rolled = await restartAll(nodes, first, rounds);
      nodes = rolled.nodes;
      console.log(`      ${rolled.requests} requests, ${rolled.streams} streams, ${rolled.changes} changes`);
      expect(rolled.failures).to.deep.equal([]);
    });

    it('nodes of the commit before and of this one serve and write beside each other', async () => {
      const tree = buildBefore();
      try {
        const before = join(tree, 'dist/src/main.js');
        const rolled = await restartAll(nodes, first, 4, (round) => (round % 2 === 0 ? before : mainFile));
        nodes = rolled.nodes;
        console.log(
          `      ${rolled.requests} requests, ${rolled.streams} streams, ${rolled.changes} changes`,
        );
        expect(rolled.failures).to.deep.equal([]);
      } finally {
        execFileSync('git', ['worktree', 'remove', '--force', tree], { cwd: root, stdio: 'ignore' });
        rmSync(resolve(tree, '..'), { recursive: true, force: true });
      }
    });

    it('do what is due once a second, none of it twice, though one is killed and one stopped for ten seconds', async () => {
      const from = Math.ceil(Date.now() / 1000) * 1000 + 1000;
      const until = from + seconds * 1000;
      const [killed, stopped] = nodes as [RunningGateway, RunningGateway];
      await pause(seconds * 250);
      killed.process.kill('SIGKILL');
      await pause(seconds * 250);
      stopped.process.kill('SIGSTOP');
      await pause(10_000);
      stopped.process.kill('SIGCONT');
      await pause(Math.max(0, until - Date.now()));
      const counted = async () => {
        const { rows } = await database.query(
          "SELECT due_at, outcome FROM schedule_runs WHERE name = 'prune' AND due_at >= $1 AND due_at < $2 ORDER BY due_at",
          [from, until],
        );
        return rows as { due_at: string; outcome: string | null }[];
      };
      const runs = await eventually('what was missed is made up for', async () => {
        const rows = await counted();
        return rows.length >= seconds - 2 && rows.every(({ outcome }) => outcome !== null) && rows;
      });
      const done = runs.filter(({ outcome }) => outcome === 'done');
      console.log(`      ${done.length} runs in ${seconds} s, ${runs.length - done.length} lost`);
      expect(done.length).to.be.within(seconds - 2, seconds + 2);
      expect(new Set(runs.map(({ due_at }) => due_at)).size).to.equal(runs.length);
      nodes[0] = await killed.restart();
    });
  });
});
