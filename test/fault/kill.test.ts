import { readFileSync, rmSync } from 'node:fs';
import { Agent, request as httpRequest } from 'node:http';
import { expect } from 'chai';
import { openLedger } from '../../src/control-plane/ledger/sql.js';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { eventually, pause, type RunningGateway, startGateway } from '../support/gateway.js';
import { expectWithinMs } from '../support/time-limits.js';

/** How many kills. One of each kind in every test run; `KILL_ROUNDS=50` for the release gate. */
const rounds = Number(process.env['KILL_ROUNDS'] ?? 2);
/** The release gate's machine does nothing else; any other may be too busy for the numbers. */
const isGate = process.env['KILL_ROUNDS'] !== undefined;
const enough = { perSecond: 200, returnMs: 2000 };

describe(`kill -9 of a data worker or of the control process, ${rounds} times under load`, () => {
  let provider: SimulatedProvider;
  let gateway: RunningGateway;

  before(async () => {
    provider = await startSimulated({ record: true });
    gateway = await startGateway({ env: { HEADGATE_WORKERS: '2', HEADGATE_LOG_BODIES: 'false' } });
    await gateway
      .admin()
      .providers.create({ slug: 'main', provider: 'openai', key: 'sk-sim', base_url: `${provider.url}/v1` });
  });

  after(async () => {
    await gateway?.stop();
    await provider?.close();
  });

  it(`loses no request that the provider saw, doubles none, and is ready again within ${enough.returnMs / 1000} s`, async function () {
    this.timeout(30_000 + rounds * 5000);
    let running = true;
    let sent = 0;
    let answered = 0;
    const agent = new Agent({ keepAlive: true, maxSockets: 32 });
    const one = (nonce: string): Promise<void> =>
      new Promise((done) => {
        const body = JSON.stringify({
          model: 'gpt-4o-mini',
          user: nonce,
          messages: [{ role: 'user', content: nonce }],
          stream: Math.random() < 0.3,
        });
        const call = httpRequest(
          `${gateway.url}/v1/chat/completions`,
          {
            method: 'POST',
            agent,
            headers: {
              'content-type': 'application/json',
              'content-length': Buffer.byteLength(body),
              'x-gateway-api-key': gateway.workspaceKey,
              'x-gateway-provider': '@main',
              'x-gateway-trace-id': nonce,
            },
          },
          (answer) => {
            answer.on('data', () => {});
            answer.on('error', () => done());
            answer.on('end', () => {
              if (answer.statusCode === 200) answered++;
              done();
            });
            answer.on('close', () => done());
          },
        );
        call.on('error', () => void pause(50).then(done));
        call.end(body);
      });
    const began = performance.now();
    const clients = Array.from({ length: 16 }, async (_, client) => {
      while (running) {
        await one(`n-${client}-${sent++}`);
        // Enough for the rate that makes it count; a machine of two cores also has to start processes meanwhile.
        await pause(Math.random() * 60);
      }
    });

    const slowest = { worker: 0, control: 0 };
    for (let round = 0; round < rounds; round++) {
      await pause(200 + Math.random() * 400);
      const controlPid = gateway.process.pid ?? 0;
      const workers = readFileSync(`/proc/${controlPid}/task/${controlPid}/children`, 'utf8')
        .trim()
        .split(' ')
        .map(Number);
      const killsControl = isGate ? Math.random() < 0.4 : round === 1;
      const killedAt = performance.now();
      if (killsControl) {
        const gone = new Promise((done) => gateway.process.once('exit', done));
        process.kill(controlPid, 'SIGKILL');
        await gone;
        gateway = await gateway.restart();
      } else {
        process.kill(workers[Math.floor(Math.random() * workers.length)] ?? 0, 'SIGKILL');
        await eventually('all workers ready', async () => {
          const text = await (await fetch(`${gateway.opsUrl}/metrics`)).text();
          return (text.match(/^gateway_worker_ready\{.*\} 1$/gm)?.length ?? 0) === 2;
        });
      }
      const took = performance.now() - killedAt;
      const what = killsControl ? 'control' : 'worker';
      slowest[what] = Math.max(slowest[what], took);
    }
    await pause(300);
    running = false;
    await Promise.all(clients);
    const rate = sent / ((performance.now() - began) / 1000);
    agent.destroy();
    await pause(500);
    await gateway.stop({ keep: true });

    const ledger = await openLedger({ dataDir: gateway.dataDir });
    const { rows } = await ledger.recent({ org: gateway.organisationId, limit: 1_000_000 });
    await ledger.close();
    rmSync(gateway.dataDir, { recursive: true, force: true });
    const inLedger = new Map<string, number>();
    for (const row of rows) inLedger.set(row.trace, (inLedger.get(row.trace) ?? 0) + 1);
    const seen = provider.requests.map(
      (request) => (JSON.parse(request.body.toString()) as { user: string }).user,
    );
    const missing = seen.filter((nonce) => !inLedger.has(nonce));
    const doubled = [...inLedger].filter(([, count]) => count > 1);
    const unknown = rows.filter((row) => row.state === 'unknown').length;
    console.log(
      `      ${sent} sent (${rate.toFixed(0)}/s), ${answered} answered, ${seen.length} seen upstream, ${rows.length} rows, ${unknown} unknown; slowest return: worker ${slowest.worker.toFixed(0)} ms, control ${slowest.control.toFixed(0)} ms`,
    );
    expect(missing).to.deep.equal([]);
    expect(doubled).to.deep.equal([]);
    const slowestMs = Math.max(slowest.control, slowest.worker);
    if (!isGate && (rate < enough.perSecond || slowestMs > enough.returnMs)) {
      console.log(`      too busy a machine for ${enough.perSecond}/s and ${enough.returnMs} ms: not judged`);
      expect(answered).to.be.greaterThan(0);
      return;
    }
    expect(rate).to.be.at.least(enough.perSecond);
    expectWithinMs(slowestMs, enough.returnMs);
  });
});
