// lane: not quick
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { builtProgram } from '../support/gateway.js';

const run = promisify(execFile);

describe('a request that has had its reply', () => {
  it('leaves nothing in the old generation', async function () {
    this.timeout(30_000);
    // A large young generation shows it at once: what is in use at a collection is old at the next one.
    const flags = ['--expose-gc', '--min-semi-space-size=16', '--max-semi-space-size=16'];
    const { stdout } = await run(process.execPath, [...flags, builtProgram('support/promoted')]);
    expect(Number(stdout)).to.be.below(3_000_000);
  });
});
