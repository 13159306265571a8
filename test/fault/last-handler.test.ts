import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';

/** Loaded into the gateway by Node itself, before its own code: an exception that no code expects, at a signal. */
const preload = `
  process.on('SIGUSR2', () => { throw new Error('provoked exception'); });
  process.on('SIGWINCH', () => { Promise.reject(new Error('provoked rejection')); });
`;

describe('a failure in the control process that no code expected', () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-preload-'));
  const file = join(folder, 'preload.cjs');
  let gateway: RunningGateway;

  before(() => writeFileSync(file, preload));
  afterEach(() => gateway?.stop());
  after(() => rmSync(folder, { recursive: true }));

  for (const [what, signal] of [
    ['exception', 'SIGUSR2'],
    ['rejection', 'SIGWINCH'],
  ] as const) {
    it(`(${what}) is logged, the workers finish what they answer, and the exit code is 70`, async () => {
      gateway = await startGateway({
        env: { NODE_OPTIONS: `--require=${file}`, HEADGATE_SIMULATED: 'true', HEADGATE_WORKERS: '2' },
      });
      const { pid } = gateway.process;
      const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
        .trim()
        .split(' ')
        .map(Number);
      expect(children).to.have.length(2);
      const stream = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-gateway-api-key': gateway.workspaceKey,
          'x-gateway-provider': '@simulated',
        },
        body: JSON.stringify({
          model: 'sim-fault:chunks=10,delay=100',
          stream: true,
          messages: [{ role: 'user', content: 'Hello' }],
        }),
      });
      const exit = new Promise<number | null>((done) => gateway.process.once('exit', (code) => done(code)));
      gateway.process.kill(signal);
      expect((await stream.text()).trimEnd().endsWith('data: [DONE]')).to.equal(true);
      expect(await exit).to.equal(70);
      await eventually('it is in the log', async () => gateway.output().includes(`provoked ${what}`));
      for (const child of children)
        expect(() => process.kill(child, 0), 'a worker is left').to.throw('ESRCH');
    });
  }
});
