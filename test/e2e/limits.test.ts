import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Explanation } from '../../proto/messages.js';
import { run } from '../support/command.js';
import { examplesOf } from '../support/examples.js';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';

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

  it('has examples that work as they are typed', async () => {
    const text = examplesOf('docs/limits.md')
      .filter(({ language }) => language === 'sh')
      .map((example) => example.text)
      .join('\n');
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
      .and.include('"code":"05"')
      .and.match(/\n?200\n200\n200\n412\n/)
      .and.include('raised: 200')
      .and.include('"code":"04"');
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

  it('are shown by an explanation with what is left of them, which takes nothing', async () => {
    const { key, id } = await keyWith([{ type: 'requests', unit: 'rph', value: 4 }]);
    await admin('PUT', `/v1/api-keys/${id}`, {
      usage_limits: { credit_limit: 5, periodic_reset: 'monthly' },
    });
    const policy = {
      name: 'of one key',
      conditions: [{ key: 'api_key', value: id }],
      group_by: [{ key: 'model' }],
      type: 'tokens',
      unit: 'rpd',
      value: 9000,
    };
    const made = await admin('POST', '/v1/policies/rate-limits', policy);
    await admin('PUT', '/v1/providers/simulated', {
      rate_limits: [{ type: 'requests', unit: 'rpd', value: 1000, shadow: true }],
    });
    expect(await ask(key)).to.equal(200);
    const explained = async (of: { api_key_id?: string } = { api_key_id: id }) => {
      const { limits, nodes } = (await admin('POST', '/v1/requests/explain', {
        ...of,
        headers: { 'x-gateway-provider': '@simulated' },
        request_body: { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] },
      })) as unknown as Explanation;
      return { ofRequest: limits, ofTarget: nodes[0]!.limits };
    };
    const { ofRequest, ofTarget } = await explained();
    const [rate, budget, ...others] = ofRequest;
    const { next_usage_reset_at: resetAt, ...left } = budget!;
    expect([rate, left, others]).to.deep.equal([
      {
        ...{ on: 'api_key', name: 'limited', kind: 'rate', type: 'requests', unit: 'rph' },
        ...{ value: 4, left: 3, shadow: false, next_usage_reset_at: null },
      },
      {
        ...{ on: 'api_key', name: 'limited', kind: 'budget', type: 'cost', unit: null },
        ...{ value: 5, left: left.left, shadow: false },
      },
      [],
    ]);
    expect(left.left).to.be.within(4.9, 5);
    expect(resetAt).to.match(/-01T00:00:00\.000Z$/);
    expect(ofTarget.map(({ on, name, value, shadow }) => [on, name, value, shadow])).to.deep.equal([
      ['virtual_key', 'simulated', 1000, true],
      ['rate_limits_policy', 'of one key', 9000, false],
    ]);
    expect(ofTarget[0]!.left).to.equal(999);
    // What the question held back for its answer is given back shortly after it.
    await eventually('the tokens', async () => {
      const { left: tokens } = (await explained()).ofTarget[1]!;
      return tokens! >= 8900 && tokens! < 9000;
    });
    expect((await explained()).ofRequest[0]!.left).to.equal(3);
    const { ofRequest: ofNobody, ofTarget: besides } = await explained({});
    expect([ofNobody, besides.length]).to.deep.equal([[], 1]);
    await admin('PUT', '/v1/providers/simulated', { rate_limits: [] });
    await admin('DELETE', `/v1/policies/rate-limits/${made['id']}`);
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
