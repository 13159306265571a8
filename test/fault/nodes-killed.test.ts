// lane: slow
import { randomBytes } from 'node:crypto';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { headgate } from '../support/command.js';
import { FaultyProxy } from '../support/faulty-proxy.js';
import { eventually, pause, type RunningGateway, startGateway } from '../support/gateway.js';
import { isLong } from '../support/long-forms.js';
import { folder, forEachStore } from '../support/stores.js';
import { scaled } from '../support/time-limits.js';

const rounds = isLong ? 20 : 2;
/** Milliseconds that a client waits at most before its next request. */
const longestPauseMs = isLong ? 60 : 120;
const clientsOfNode = 4;
const faults = ['refuse', 'swallow', 'freeze'] as const;

/** All processes under this one, and itself. */
function familyOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return [pid, ...(text === '' ? [] : text.split(' ').flatMap((child) => familyOf(Number(child))))];
}

/** Ends a gateway as a power cut does: control process, data workers and all. The stop comes first, so that it starts none anew. */
async function killAll({ process: child }: RunningGateway): Promise<void> {
  const gone = new Promise((done) => child.once('exit', done));
  process.kill(child.pid!, 'SIGSTOP');
  for (const pid of familyOf(child.pid!)) process.kill(pid, 'SIGKILL');
  await gone;
}

describe(`whole gateways on one PostgreSQL, killed ${rounds} times under load, every other time while it is away`, function () {
  this.timeout(scaled(isLong ? 900_000 : 120_000));

  forEachStore(({ options, dialect }) => {
    if (dialect !== 'postgres') return;
    let provider: SimulatedProvider;
    let proxy: FaultyProxy;
    /** Two that are killed, and one that is not. */
    const nodes: RunningGateway[] = [];
    let env: Record<string, string>;

    before(async () => {
      provider = await startSimulated({ record: true });
      const url = new URL((await options(folder())).databaseUrl!.reveal());
      proxy = await FaultyProxy.start(Number(url.port || 5432), url.hostname);
      env = {
        DATABASE_URL: proxy.through(url.href),
        HEADGATE_MASTER_KEY: randomBytes(32).toString('hex'),
        HEADGATE_WORKERS: isLong ? '2' : '1',
        HEADGATE_LOG_LEVEL: 'warn',
      };
      nodes.push(await startGateway({ env: { ...env, HEADGATE_NODE_NAME: 'a', HEADGATE_WORKERS: '2' } }));
      for (const name of ['b', 'c']) {
        const dataDir = mkdtempSync(join(tmpdir(), 'headgate-test-'));
        copyFileSync(join(nodes[0]!.dataDir, 'first-keys.json'), join(dataDir, 'first-keys.json'));
        nodes.push(await startGateway({ env: { ...env, HEADGATE_NODE_NAME: name }, dataDir }));
      }
      await nodes[0]!.admin().providers.create({
        slug: 'main',
        provider: 'openai',
        key: 'sk-sim',
        base_url: `${provider.url}/v1`,
      });
    });
    after(async () => {
      await proxy?.pass();
      await Promise.all(nodes.map((node) => node.stop()));
      await proxy?.close();
      await provider?.close();
    });

    let sent = 0;
    let answered = 0;
    async function send(node: RunningGateway, trace: string): Promise<void> {
      const stream = Math.random() < 0.3;
      const messages = [{ role: 'user', content: 'Hello' }];
      sent++;
      await fetch(`${node.url}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-gateway-api-key': node.workspaceKey,
          'x-gateway-provider': '@main',
          'x-gateway-trace-id': trace,
        },
        body: JSON.stringify({ model: 'gpt-4o-mini', user: trace, messages, stream }),
      }).then(
        async (answer) => {
          await answer.text();
          if (answer.status === 200) answered++;
        },
        () => pause(50),
      );
    }

    /** Traces of all rows that this node returns to a follower, until nothing is missing of `wanted` or it takes too long. */
    async function tracesAt(node: RunningGateway, wanted: ReadonlySet<string>): Promise<readonly string[]> {
      const traces: string[] = [];
      const missing = new Set(wanted);
      let after = '0';
      await eventually(
        'every row is there',
        async () => {
          const query = `workspace_id=${node.workspaceId}&limit=1000&after=${after}`;
          const answer = await fetch(`${node.url}/v1/logs?${query}`, {
            headers: { 'x-gateway-api-key': node.adminKey },
          });
          if (answer.status !== 200) return false;
          const page = (await answer.json()) as { data: { trace_id: string }[]; cursor: string };
          after = page.cursor;
          for (const { trace_id: trace } of page.data) {
            traces.push(trace);
            missing.delete(trace);
          }
          return missing.size === 0 && page.data.length === 0;
        },
        30_000,
      ).catch(() =>
        console.log(`      ${node.env['HEADGATE_NODE_NAME']} has not: ${[...missing].slice(0, 10)}`),
      );
      return traces;
    }

    it('have every request that the provider saw once, and each node returns it, also those of a node that never comes back', async () => {
      // A node saves what it has looked up within a few seconds: with that it starts without PostgreSQL.
      for (let n = 0; n < 3; n++) {
        await Promise.all(nodes.map((node, i) => send(node, `${i}-first-${n}`)));
        await pause(scaled(1500));
      }
      let running = true;
      const clients = nodes.flatMap((_, i) =>
        Array.from({ length: clientsOfNode }, async (_, client) => {
          for (let n = 0; running; n++) {
            await send(nodes[i]!, `${i}-${client}-${n}`);
            await pause(Math.random() * longestPauseMs);
          }
        }),
      );
      for (let round = 0; round < rounds; round++) {
        const i = Math.floor(round / 2) % 2;
        const isAway = round % 2 === 1;
        if (isAway) proxy[faults[(round >> 1) % faults.length]!]();
        await pause(200 + Math.random() * 600);
        await killAll(nodes[i]!);
        // Every other time it starts while PostgreSQL is still away.
        if (isAway && round % 4 === 3) await proxy.pass();
        nodes[i] = await nodes[i]!.restart();
        await proxy.pass();
      }
      await pause(500);
      running = false;
      await Promise.all(clients);
      const [one, lost, other] = nodes as [RunningGateway, RunningGateway, RunningGateway];
      // Its last requests are in its journal alone.
      await Promise.all(Array.from({ length: 20 }, (_, n) => send(lost, `1-last-${n}`)));
      await killAll(lost);
      nodes.splice(1, 1);
      const { code, stderr } = await headgate({ DATABASE_URL: env['DATABASE_URL']! }, [
        ...['journal', 'ingest', lost.dataDir],
      ]);
      expect(code, stderr).to.equal(0);
      expect(readdirSync(join(lost.dataDir, 'journal'))).to.deep.equal([]);
      rmSync(lost.dataDir, { recursive: true });

      const seen = provider.requests.map(
        ({ body }) => (JSON.parse(body.toString()) as { user: string }).user,
      );
      const wanted = new Set(seen);
      for (const node of [one, other]) {
        const traces = await tracesAt(node, wanted);
        const known = new Set(traces);
        expect(
          [...wanted].filter((trace) => !known.has(trace)),
          'seen by the provider, and not in the ledger',
        ).to.deep.equal([]);
        expect(known.size, 'rows that are there twice').to.equal(traces.length);
      }
      console.log(
        `      ${sent} sent, ${answered} answered, ${seen.length} seen by the provider, ${rounds} kills`,
      );
      expect(seen.length).to.equal(wanted.size);
      expect(answered).to.be.greaterThan(rounds * clientsOfNode);
    });
  });
});
