// lane: slow
import { expect } from 'chai';
import { connectAdmin } from '../../src/client/index.js';
import { pause, type RunningGateway, startGateway } from '../support/gateway.js';

/** How many kills. A short run in every test run; `KILL_ROUNDS=50` for the release gate. */
const rounds = Number(process.env['KILL_ROUNDS'] ?? 1);
const count = 400;

describe(`kill -9 in the middle of an apply, ${rounds} times`, () => {
  it('leaves either nothing of it or all of it', async function () {
    this.timeout(30_000 + rounds * 10_000);
    let gateway: RunningGateway = await startGateway();
    const { adminKey, grpcPort } = gateway;
    try {
      for (let round = 0; round < rounds; round++) {
        const documents = Array.from({ length: count }, (_, i) => ({
          kind: 'Label',
          name: `round-${round}-${i}`,
          workspace: 'default',
          spec: {},
        }));
        const client = connectAdmin({ address: `127.0.0.1:${grpcPort}`, key: adminKey, timeoutMs: 20_000 });
        let answered = false;
        const applying = client.api.documents.applyDocuments({ documents, set: `round-${round}` }).then(
          () => {
            answered = true;
          },
          () => {},
        );
        await pause(20 + Math.random() * 300);
        gateway.process.kill('SIGKILL');
        await applying;
        client.close();
        gateway = await gateway.restart();
        const { data } = await gateway
          .admin()
          .api.labels.listLabels({ workspace_id: 'default', page_size: 1000 });
        const made = data.filter(({ name }) => name.startsWith(`round-${round}-`)).length;
        expect(made, answered ? 'answered' : 'not answered').to.be.oneOf(answered ? [count] : [0, count]);
        // Whatever has happened, a repetition ends with all of them, and a second one changes nothing.
        await gateway.admin().api.documents.applyDocuments({ documents, set: `round-${round}` });
        const { unchanged } = await gateway
          .admin()
          .api.documents.applyDocuments({ documents, set: `round-${round}` });
        expect(unchanged).to.equal(count);
      }
    } finally {
      await gateway.stop();
    }
  });
});
