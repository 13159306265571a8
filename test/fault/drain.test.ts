// lane: slow
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { expect } from 'chai';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { eventually, pause, type RunningGateway, startGateway } from '../support/gateway.js';
import { expectWithinMs } from '../support/time-limits.js';

describe('stopping and dying', () => {
  let provider: SimulatedProvider;
  let gateway: RunningGateway;
  /** How long the gateway takes to start on this machine at this moment. */
  let startMs: number;

  before(async () => {
    provider = await startSimulated();
  });
  after(() => provider?.close());

  async function start(workers: number): Promise<void> {
    const began = performance.now();
    gateway = await startGateway({
      env: { HEADGATE_WORKERS: String(workers), HEADGATE_DRAIN_TIMEOUT_MS: '4000' },
    });
    startMs = performance.now() - began;
    await gateway
      .admin()
      .providers.create({ slug: 'main', provider: 'openai', key: 'sk-sim', base_url: `${provider.url}/v1` });
  }

  const ask = (model: string, stream = true): Promise<Response> =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-gateway-api-key': gateway.workspaceKey,
        'x-gateway-provider': '@main',
      },
      body: JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'Hello' }] }),
    });

  const workersOf = (): number[] => {
    const { pid } = gateway.process;
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
  };
  const ended = (): Promise<number | null> =>
    new Promise((done) => gateway.process.once('exit', (code) => done(code)));

  describe('a gateway with two workers', () => {
    before(() => start(2));
    after(() => gateway?.stop());

    it('a killed data worker is back within a second and its sibling goes on serving', async () => {
      const before = workersOf();
      expect(before).to.have.length(2);
      process.kill(before[0] ?? 0, 'SIGKILL');
      const killedAt = performance.now();
      let failures = 0;
      await eventually('two workers again', async () => {
        const answer = await ask('gpt-4o-mini', false).catch(() => null);
        if (answer?.status !== 200) failures++;
        else await answer.text();
        const text = await (await fetch(`${gateway.opsUrl}/metrics`)).text();
        return (
          !workersOf().includes(before[0] ?? 0) &&
          (text.match(/^gateway_worker_ready\{.*\} 1$/gm)?.length ?? 0) === 2
        );
      });
      // A second, unless the machine is too busy to start the whole gateway in that.
      expectWithinMs(performance.now() - killedAt, Math.max(1000, startMs));
      // One connection may have been on the killed worker; the sibling answers the rest.
      expect(failures).to.be.lessThan(3);
    });

    it('SIGTERM lets 100 live streams finish, refuses what is new, and exits 0', async () => {
      const streams = await Promise.all(
        Array.from({ length: 100 }, () => ask('sim-fault:chunks=20,delay=75')),
      );
      const bodies = streams.map((response) => response.text());
      await pause(100);
      const exit = ended();
      gateway.process.kill('SIGTERM');
      // On a busy machine the signal is handled a little later.
      const late = await eventually('a new request is refused', async () => {
        const answer = await ask('gpt-4o-mini', false).catch(() => null);
        if (answer?.status === 200) return null;
        return answer === null
          ? ('refused' as const)
          : { status: answer.status, connection: answer.headers.get('connection') };
      });
      if (late !== 'refused') expect(late).to.deep.equal({ status: 503, connection: 'close' });
      for (const text of await Promise.all(bodies))
        expect(text.trimEnd().endsWith('data: [DONE]')).to.equal(true);
      expect(await exit).to.equal(0);
    });
  });

  describe('a gateway', () => {
    afterEach(() => gateway?.stop());

    it('a terminal that closes sends SIGHUP to every process: live streams finish, and the exit is 0', async () => {
      await start(1);
      const streams = await Promise.all(
        Array.from({ length: 10 }, () => ask('sim-fault:chunks=10,delay=75')),
      );
      const bodies = streams.map((response) => response.text());
      const exit = ended();
      // A Ctrl-C of the terminal reaches the workers too; they go on until the control process drains them.
      for (const worker of workersOf())
        for (const signal of ['SIGINT', 'SIGHUP']) process.kill(worker, signal);
      gateway.process.kill('SIGHUP');
      for (const text of await Promise.all(bodies))
        expect(text.trimEnd().endsWith('data: [DONE]')).to.equal(true);
      expect(await exit).to.equal(0);
    });

    it('the first Ctrl-C names what is waited for, how long, and that a second one cuts it off', async () => {
      await start(2);
      const streams = await Promise.all([1, 2, 3].map(() => ask('sim-fault:chunks=1000,delay=50')));
      const bodies = streams.map((response) =>
        response.text().then(
          () => 'whole',
          () => 'cut',
        ),
      );
      const exit = ended();
      gateway.process.kill('SIGINT');
      const text = 'Waiting for 3 requests to end, at most 4 s. Press Ctrl-C again to cut them off.';
      await eventually('the text', async () => gateway.output().includes(text), 3000);
      // What comes within a second is taken for the same Ctrl-C, passed on by npm.
      await pause(1000);
      gateway.process.kill('SIGINT');
      const again = performance.now();
      expect(await exit).to.equal(0);
      expectWithinMs(performance.now() - again, 2000);
      expect(await Promise.all(bodies)).to.deep.equal(['cut', 'cut', 'cut']);
    });

    it('a call on a kept connection during the drain gets 503 and Connection: close; a second SIGTERM cuts what is left, and the exit is still 0', async () => {
      // Of two workers the one without a stream leaves at once, and the kept connection might be its.
      await start(1);
      const socket = connect(gateway.port, '127.0.0.1');
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk.toString();
      });
      socket.write('GET /v1/nothing-yet HTTP/1.1\r\nHost: x\r\n\r\n');
      await eventually('a first answer', async () => text.includes('HTTP/1.1 401'));
      const [short, long] = await Promise.all(
        ['sim-fault:chunks=10,delay=100', 'sim-fault:chunks=1000,delay=50'].map((model) => ask(model)),
      );
      const whole = short!.text();
      const cut = long!.text().then(
        () => 'whole',
        () => 'cut',
      );
      const exit = ended();
      const began = performance.now();
      gateway.process.kill('SIGTERM');
      // Until the worker drains, which is a little after the signal, the connection is answered as before.
      await eventually('an answer of the drain', async () => {
        text = '';
        socket.write('GET /v1/nothing-yet HTTP/1.1\r\nHost: x\r\n\r\n');
        await eventually('another answer', async () => text.includes('\r\n\r\n'));
        return !text.startsWith('HTTP/1.1 401 ');
      });
      expect(text).to.match(/^HTTP\/1\.1 503 /);
      expect(text.toLowerCase()).to.include('connection: close');
      expect(await whole).to.include('[DONE]');
      // What comes within a second is taken for the same signal.
      await pause(began + 1200 - performance.now());
      const again = performance.now();
      gateway.process.kill('SIGTERM');
      expect(await exit).to.equal(0);
      expectWithinMs(performance.now() - again, 2000);
      expect(await cut).to.equal('cut');
    });
  });
});
