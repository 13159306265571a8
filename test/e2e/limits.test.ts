import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { run } from '../support/command.js';
import { examplesOf } from '../support/examples.js';
import { type RunningGateway, startGateway } from '../support/gateway.js';

describe('limits of a running gateway', function () {
  this.timeout(60_000);
  let gateway: RunningGateway;

  before(async () => {
    gateway = await startGateway({ env: { HEADGATE_SIMULATED: 'true', HEADGATE_WORKERS: '2' } });
  });
  after(() => gateway?.stop());

  /** On a connection of its own, so that any worker may get it. */
  const ask = async (key: string, headers: Record<string, string> = {}): Promise<number> => {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'x-gateway-api-key': key,
        'x-gateway-provider': '@simulated',
        'content-type': 'application/json',
        connection: 'close',
        ...headers,
      },
      body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] }),
    });
    await response.arrayBuffer();
    return response.status;
  };
  const admin = async (method: string, path: string, body?: object): Promise<Record<string, unknown>> => {
    const response = await fetch(`${gateway.url}${path}`, {
      method,
      headers: { 'x-gateway-api-key': gateway.adminKey, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    expect(response.status, text).to.equal(200);
    return JSON.parse(text || '{}') as Record<string, unknown>;
  };
  const keyWith = async (rates: object[]): Promise<{ key: string; id: string }> =>
    (await admin('POST', '/v1/api-keys/workspace/service', {
      name: 'limited',
      scopes: ['completions.write'],
      rate_limits: rates,
    })) as { key: string; id: string };

  it('has an example that works as it is typed', async () => {
    const [{ text } = { text: '' }] = examplesOf('docs/limits.md');
    const folder = mkdtempSync(join(tmpdir(), 'headgate-docs-'));
    const typed = text.replaceAll('http://127.0.0.1:8787', gateway.url);
    const env = { ...gateway.env, ADMIN_KEY: gateway.adminKey };
    const { code, stdout, stderr } = await run('bash', ['-euo', 'pipefail', '-c', typed], {
      env,
      cwd: folder,
    });
    rmSync(folder, { recursive: true });
    expect(code, stdout + stderr).to.equal(0);
    expect(stdout)
      .to.match(/^200\n200\n429\n/)
      .and.include('"code":"05"');
  });

  it('hold over its workers, after a change at once, and after a restart', async () => {
    const { key, id } = await keyWith([{ type: 'requests', unit: 'rph', value: 4 }]);
    const statuses: number[] = [];
    for (let i = 0; i < 6; i++) statuses.push(await ask(key));
    expect(statuses).to.deep.equal([200, 200, 200, 200, 429, 429]);
    await admin('PUT', `/v1/api-keys/${id}`, { rate_limits: [{ type: 'requests', unit: 'rph', value: 5 }] });
    expect([await ask(key), await ask(key)]).to.deep.equal([200, 429]);
    await gateway.stop({ keep: true });
    gateway = await gateway.restart();
    expect(await ask(key)).to.equal(429);
  });

  it('of a policy hold from the answer to its creation until that to its deletion', async () => {
    const { key, id: keyId } = await keyWith([]);
    const { id } = await admin('POST', '/v1/policies/rate-limits', {
      conditions: [{ key: 'api_key', value: keyId }],
      group_by: [{ key: 'metadata.team' }],
      type: 'requests',
      unit: 'rpm',
      value: 1,
    });
    const team = { 'x-gateway-metadata': '{"team":"a"}' };
    expect([await ask(key, team), await ask(key, team), await ask(key)]).to.deep.equal([200, 429, 200]);
    await admin('DELETE', `/v1/policies/rate-limits/${id as string}`);
    expect(await ask(key, team)).to.equal(200);
  });

  it('are refused with path and reason where they are wrong', async () => {
    const rates: readonly [object, string][] = [
      [{ type: 'concurrency', unit: 'rpm', value: 1 }, 'rate_limits[0].unit'],
      [{ type: 'requests', value: 1 }, 'rate_limits[0].unit'],
      [{ type: 'requests', unit: 'rpm', value: -1 }, 'rate_limits[0].value'],
    ];
    for (const [rate, path] of rates) {
      const response = await fetch(`${gateway.url}/v1/api-keys/workspace/service`, {
        method: 'POST',
        headers: { 'x-gateway-api-key': gateway.adminKey, 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'wrong', scopes: ['completions.write'], rate_limits: [rate] }),
      });
      expect(response.status).to.equal(400);
      expect(await response.text())
        .to.include('AB01')
        .and.include(path);
    }
  });
});
