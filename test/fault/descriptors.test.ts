// lane: slow
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { expect } from 'chai';
import { eventually, pause, type RunningGateway, startGateway } from '../support/gateway.js';
import { RawClient } from '../support/raw-http.js';

const ticksPerSecond = 100;

/** Seconds of processor time that a process has used. */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

describe('with few file descriptors', () => {
  let gateway: RunningGateway;
  const clients: RawClient[] = [];

  afterEach(async () => {
    for (const client of clients.splice(0)) client.destroy();
    await gateway?.stop();
  });

  const workers = (): number[] => {
    const { pid } = gateway.process;
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    return text === '' ? [] : text.split(' ').map(Number);
  };
  const opsPort = (): number => Number(new URL(gateway.opsUrl).port);
  const ask = (): Promise<number> =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        connection: 'close',
        'x-gateway-api-key': gateway.workspaceKey,
        'x-gateway-provider': '@simulated',
      },
      body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] }),
    }).then(
      async (answer) => {
        await answer.arrayBuffer();
        return answer.status;
      },
      () => 0,
    );
  const silent = async (port: number, count: number): Promise<void> => {
    clients.push(...(await Promise.all(Array.from({ length: count }, () => RawClient.connect(port)))));
  };

  it('hundreds of silent connections leave the gateway its own descriptors: it is probed, administered, and recovers', async function () {
    this.timeout(60_000);
    gateway = await startGateway({ openFiles: 256, env: { HEADGATE_SIMULATED: 'true' } });
    const [worker = 0] = workers();
    await silent(opsPort(), 300);
    await silent(gateway.grpcPort, 300);
    await silent(gateway.port, 300);
    expect((await fetch(`${gateway.opsUrl}/readyz`)).status).to.equal(200);
    const { id } = await gateway
      .admin()
      .providers.create({ slug: 'made-meanwhile', provider: 'openai', key: 'sk-any' });
    expect(id).to.be.a('string');
    for (const pid of [worker, gateway.process.pid ?? 0]) {
      expect(readdirSync(`/proc/${pid}/fd`).length, 'descriptors').to.be.lessThan(256 - 32);
    }
    const before = cpuSeconds(worker);
    await pause(1000);
    expect(cpuSeconds(worker) - before, 'seconds of processor time in one second').to.be.lessThan(0.5);
    for (const client of clients.splice(0)) client.destroy();
    await eventually('an answer', async () => (await ask()) === 200);
    expect(workers()).to.deep.equal([worker]);
  });

  it('a data worker that the system refuses to start comes back once it may; meanwhile the node is not ready', async function () {
    this.timeout(60_000);
    gateway = await startGateway({ env: { HEADGATE_SIMULATED: 'true' } });
    // Of a kept connection: without descriptors no new one is accepted.
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const readiness = (): Promise<number> =>
      new Promise((done) => {
        const request = get(`${gateway.opsUrl}/readyz`, { agent }, (answer) => {
          answer.resume();
          answer.on('end', () => done(answer.statusCode ?? 0));
        });
        request.on('error', () => done(0));
      });
    expect(await readiness()).to.equal(200);
    const { pid } = gateway.process;
    const limit = (files: number) => execFileSync('prlimit', ['--pid', String(pid), `--nofile=${files}:`]);
    const [worker = 0] = workers();
    limit(8);
    process.kill(worker, 'SIGKILL');
    await eventually('a refusal', async () => gateway.output().includes('EMFILE'));
    await eventually('the killed worker is gone', async () => workers().length === 0);
    expect(await readiness()).to.equal(503);
    await eventually(
      'another refusal',
      async () => gateway.output().split('data worker did not start').length > 2,
    );
    expect(gateway.process.exitCode).to.equal(null);
    limit(1024);
    await eventually('ready again', async () => (await readiness()) === 200);
    expect(await ask()).to.equal(200);
    agent.destroy();
  });
});
