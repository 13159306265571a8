// lane: slow
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { loadMasterKey } from '../../src/control-plane/store/secrets/master-key.js';
import { openSqlite } from '../../src/control-plane/store/sql/connection/sqlite.js';
import { openStore } from '../../src/control-plane/store/store.js';
import { type RunningGateway, startGateway } from '../support/gateway.js';
import { addConfigs, addKeys } from '../support/many.js';
import { expectWithinMs, scaled } from '../support/time-limits.js';

/** WHOLE_LOAD=true is the size that the gateway is made for. */
const whole = process.env['WHOLE_LOAD'] === 'true';
const keys = whole ? 100_000 : 20_000;
const configs = whole ? 1000 : 300;

/** Megabytes that the data worker has in memory. */
function memoryOf(gateway: RunningGateway): number {
  const pid = gateway.process.pid ?? 0;
  const [worker] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
  const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${worker}/status`, 'utf8'))?.[1];
  return Number(kilobytes) / 1024;
}

/** Calls, with each of the configs in turn where there are some. */
async function call(gateway: RunningGateway, count: number, named: number): Promise<void> {
  for (let i = 0; i < count; i += 20) {
    const statuses = await Promise.all(
      Array.from({ length: 20 }, async (_, j) => {
        const response = await fetch(`${gateway.url}/v1/chat/completions`, {
          method: 'POST',
          headers: {
            'x-gateway-api-key': gateway.workspaceKey,
            'content-type': 'application/json',
            ...(named > 0 && { 'x-gateway-config': `pc-many-${1 + ((i + j) % named)}` }),
          },
          body: JSON.stringify({
            model: '@simulated/gpt-4o-mini',
            messages: [{ role: 'user', content: 'Hello' }],
          }),
        });
        await response.text();
        return response.status;
      }),
    );
    expect(new Set(statuses)).to.deep.equal(new Set([200]));
  }
}

describe(`a gateway on ${keys} keys and ${configs} configs`, () => {
  it('starts, and takes memory, as one that has none', async function () {
    this.timeout(60_000);
    let began = performance.now();
    let gateway = await startGateway({ env: { HEADGATE_SIMULATED: 'true' } });
    const { dataDir, organisationId, workspaceId } = gateway;
    try {
      const empty = { ready: performance.now() - began, memory: 0 };
      await call(gateway, configs, 0);
      empty.memory = memoryOf(gateway);
      await gateway.stop({ keep: true });

      const store = await openStore({ dataDir, masterKey: loadMasterKey({ dataDir }) });
      await addConfigs(store, { organisationId, workspaceId }, configs);
      await store.close();
      const bare = await openSqlite(dataDir);
      await addKeys(bare, keys);
      await bare.close();

      began = performance.now();
      gateway = await gateway.restart();
      const full = { ready: performance.now() - began, memory: 0 };
      const most = Math.max(1500, empty.ready + 500);
      // Once more where that was slow: other tests may be running.
      if (full.ready >= scaled(most)) {
        await gateway.stop({ keep: true });
        began = performance.now();
        gateway = await gateway.restart();
        full.ready = performance.now() - began;
      }
      await call(gateway, configs, configs);
      full.memory = memoryOf(gateway);
      console.log(
        `      ready in ${full.ready.toFixed(0)} ms (empty: ${empty.ready.toFixed(0)}), data worker ${full.memory.toFixed(0)} MB (empty: ${empty.memory.toFixed(0)})`,
      );
      expectWithinMs(full.ready, most, { what: 'the start' });
      expect(full.memory).to.be.lessThan(empty.memory + 40);
    } finally {
      await gateway.stop();
    }
  });
});
