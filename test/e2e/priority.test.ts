import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { getPriority, platform, setPriority } from 'node:os';
import { expect } from 'chai';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';

/** What a replaced worker can be given: a lower priority is taken back by privileged users alone. */
function mayRaise(): boolean {
  const child = spawn('sleep', ['10']);
  try {
    setPriority(child.pid ?? 0, getPriority() + 5);
    setPriority(child.pid ?? 0, getPriority());
    return true;
  } catch {
    return false;
  } finally {
    child.kill();
  }
}

const threadsOf = (pid: number): number[] => readdirSync(`/proc/${pid}/task`).map(Number);
const workerOf = ({ process }: RunningGateway): number =>
  Number(readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8').trim());

describe('where processors are scarce', function () {
  this.timeout(30_000);
  const usual = getPriority();
  let gateway: RunningGateway;

  before(async function () {
    if (platform() !== 'linux') this.skip();
    gateway = await startGateway({ env: { HEADGATE_CONTROL_NICE: '7' } });
  });
  after(() => gateway?.stop());

  it('the control process steps back with every thread it has, and the data worker does not', () => {
    const behind = threadsOf(gateway.process.pid ?? 0).map(getPriority);
    expect(new Set(behind)).to.deep.equal(new Set([usual + 7]));
    expect(new Set(threadsOf(workerOf(gateway)).map(getPriority))).to.deep.equal(new Set([usual]));
  });

  it('a worker that takes the place of another has its priority, as far as the system allows', async () => {
    const before = workerOf(gateway);
    process.kill(before, 'SIGKILL');
    await eventually(
      'another worker is there',
      async () => workerOf(gateway) > 0 && workerOf(gateway) !== before,
    );
    const wanted = mayRaise() ? usual : usual + 7;
    await eventually('it has its priority', async () => getPriority(workerOf(gateway)) === wanted);
    await eventually('it answers', async () =>
      fetch(`${gateway.url}/v1/models`).then(
        ({ status }) => status === 401,
        () => false,
      ),
    );
  });
});
