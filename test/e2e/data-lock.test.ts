import { expect } from 'chai';
import { startGateway } from '../support/gateway.js';

describe('a data directory', () => {
  it('is held by one gateway at a time: a second one is refused in one line that names the first', async function () {
    this.timeout(20_000);
    const first = await startGateway();
    try {
      const refused = await startGateway({ dataDir: first.dataDir }).then(
        async (second) => {
          await second.stop({ keep: true });
          return '';
        },
        (error: Error) => error.message,
      );
      expect(refused).to.include(`is in use by process ${first.process.pid}`);
    } finally {
      await first.stop();
    }
  });

  it('is free again when its gateway was killed', async function () {
    this.timeout(20_000);
    const first = await startGateway();
    const gone = new Promise((done) => first.process.once('exit', done));
    first.process.kill('SIGKILL');
    await gone;
    const second = await first.restart();
    expect(second.workspaceKey).to.equal(first.workspaceKey);
    await second.stop();
  });
});
