import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';

describe('metrics', () => {
  let gateway: RunningGateway;

  before(async function () {
    this.timeout(20_000);
    gateway = await startGateway({ env: { HEADGATE_SIMULATED: 'true' } });
  });

  after(() => gateway?.stop());

  const metrics = async (): Promise<string> => (await fetch(`${gateway.opsUrl}/metrics`)).text();
  const ask = (): Promise<Response> =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-gateway-api-key': gateway.workspaceKey,
        'x-gateway-provider': '@simulated',
      },
      body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] }),
    });

  it('have a type line before each name, and each line once', async () => {
    const lines = (await metrics()).trimEnd().split('\n');
    const typed = new Set<string>();
    for (const line of lines) {
      const [, type] = /^# TYPE (\w+) (?:gauge|counter)$/.exec(line) ?? [];
      if (type !== undefined) {
        expect(typed.has(type), line).to.equal(false);
        typed.add(type);
      } else {
        expect(typed.has(/^\w+/.exec(line)?.[0] ?? ''), line).to.equal(true);
        expect(line).to.match(/^\w+(\{(\w+="[^"]*",?)+\})? [\d.]+$/);
      }
    }
    expect(new Set(lines).size).to.equal(lines.length);
  });

  it('count the bodies that the log had to drop', async () => {
    const dropped = async (kind: string): Promise<number> =>
      Number(
        new RegExp(`^gateway_log_dropped_total\\{worker="0",kind="${kind}"\\} (\\d+)$`, 'm').exec(
          await metrics(),
        )?.[1],
      );
    expect(await metrics()).to.include('# TYPE gateway_log_dropped_total counter');
    // A worker reports its counts once a second.
    for (const kind of ['record', 'body'])
      await eventually(`a count of ${kind}`, async () => !Number.isNaN(await dropped(kind)));
    expect([await dropped('record'), await dropped('body')]).to.deep.equal([0, 0]);
    // The worker's open journal goes on; a file for bodies, which it opens for the first of them, it cannot make.
    const journal = join(gateway.dataDir, 'journal');
    renameSync(journal, `${journal}.aside`);
    writeFileSync(journal, '');
    for (let i = 0; i < 3; i++) expect((await ask()).status).to.equal(200);
    await eventually('three bodies counted', async () => (await dropped('body')) === 3);
    expect(await dropped('record')).to.equal(0);
    rmSync(journal);
    renameSync(`${journal}.aside`, journal);
  });
});
