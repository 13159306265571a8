import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { eventually, mainFile, type RunningGateway, startGateway } from '../support/gateway.js';
import { expectWithinMs } from '../support/time-limits.js';

describe('a data worker that has stopped', () => {
  let gateway: RunningGateway;

  before(async function () {
    this.timeout(20_000);
    gateway = await startGateway({ env: { HEADGATE_SIMULATED: 'true' } });
  });

  after(() => gateway?.stop());

  const worker = (): number =>
    Number(readFileSync(`/proc/${gateway.process.pid}/task/${gateway.process.pid}/children`, 'utf8').trim());
  const ask = (key: string): Promise<number> =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-gateway-api-key': key,
        'x-gateway-provider': '@simulated',
      },
      body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] }),
    }).then(
      ({ status }) => status,
      () => 0,
    );
  const make = () =>
    gateway.admin().keys.create({
      type: 'workspace',
      sub_type: 'service',
      name: 'short-lived',
      scopes: ['completions.write'],
    });
  const revoke = (id: string): Promise<{ failed: boolean; output: string }> =>
    new Promise((done) => {
      execFile(
        process.execPath,
        [mainFile, 'keys', 'revoke', id],
        { env: { ...process.env, ...gateway.env, HEADGATE_ADMIN_KEY: gateway.adminKey } },
        (error, stdout, stderr) => done({ failed: error !== null, output: stdout + stderr }),
      );
    });

  it('does not delay a revocation while it has no key in memory: it cannot answer from what it never asked', async function () {
    this.timeout(30_000);
    // Nothing has been asked of the worker yet.
    const { id, key } = await make();
    const stopped = worker();
    process.kill(stopped, 'SIGSTOP');
    const began = performance.now();
    const { failed, output } = await revoke(id);
    expect(failed, output).to.equal(false);
    expectWithinMs(performance.now() - began, 2500);
    process.kill(stopped, 'SIGCONT');
    expect(await eventually('an answer', () => ask(key))).to.equal(401);
    expect(worker()).to.equal(stopped);
  });

  it('is replaced when it does not confirm that a key is revoked: the command succeeds, the key is refused', async function () {
    this.timeout(30_000);
    const { id, key } = await make();
    expect(await ask(key)).to.equal(200);
    const stopped = worker();
    process.kill(stopped, 'SIGSTOP');
    const began = performance.now();
    const { failed, output } = await revoke(id);
    expect(failed, output).to.equal(false);
    expect(output).to.include(`Key ${id} is revoked.`);
    expectWithinMs(performance.now() - began, 20_000);
    expect(await eventually('an answer', () => ask(key))).to.equal(401);
    expect(worker()).to.not.equal(stopped);
    await eventually('it is in the log', async () => gateway.output().includes('did not confirm a change'));
  });
});
