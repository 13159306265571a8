import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'chai';
import { createUpstream } from '../../src/data-plane/upstream/dispatch.js';
import { fly } from '../support/recorded-flight.js';
import { expectWithinMs } from '../support/time-limits.js';

/** Answers each request with chunks of one byte, all at once. */
const provider = `
  const answer = Buffer.from('HTTP/1.1 200 OK\\r\\ntransfer-encoding: chunked\\r\\n\\r\\n' + '1\\r\\nx\\r\\n'.repeat(200_000) + '0\\r\\n\\r\\n');
  const server = require('node:net').createServer((socket) => socket.on('error', () => {}).once('data', () => socket.write(answer)));
  server.listen(0, '127.0.0.1', () => console.log(server.address().port));
`;

describe('an upstream that sends faster than it is read', () => {
  let child: ChildProcess;

  before(() => {
    child = spawn(process.execPath, ['-e', provider], { stdio: ['ignore', 'pipe', 'ignore'] });
  });

  after(() => {
    child.kill();
  });

  it('holds no turn of the event loop for 20 ms, however small its chunks are', async function () {
    this.timeout(30_000);
    const [port] = (await once(child.stdout!, 'data')) as [Buffer];
    const upstream = createUpstream({
      connectionsPerOrigin: 24,
      keepAliveMs: 1000,
      egressAllow: ['127.0.0.0/8'],
    });
    let best = Number.POSITIVE_INFINITY;
    // The best of a few: what the collector of garbage does is not this answer's.
    for (let i = 0; i < 5 && best >= 20; i++) {
      const flights = Array.from({ length: 24 }, () =>
        fly(upstream, `http://127.0.0.1:${port.toString().trim()}/`),
      );
      await new Promise((sent) => setTimeout(sent, 300));
      // As much arrives meanwhile as the system takes.
      const until = performance.now() + 200;
      while (performance.now() < until);
      let longest = 0;
      let isOver = false;
      const watch = (): void => {
        const cpu = process.cpuUsage();
        const began = performance.now();
        if (!isOver)
          setImmediate(() => {
            const { user, system } = process.cpuUsage(cpu);
            longest = Math.max(longest, Math.min(performance.now() - began, (user + system) / 1000));
            watch();
          });
      };
      watch();
      const ended = await Promise.all(flights.map(({ finished }) => finished));
      isOver = true;
      for (const flight of ended) expect(flight.text.length).to.equal(200_000);
      best = Math.min(best, longest);
    }
    await upstream.close();
    expectWithinMs(best, 20);
  });
});
