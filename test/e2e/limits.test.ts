import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Explanation } from '../../proto/messages.js';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { run } from '../support/command.js';
import { examplesOf } from '../support/examples.js';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';
import { expectWithinMs } from '../support/time-limits.js';

interface Counter {
  readonly id: string;
  readonly current_usage: number;
}

describe('limits and budgets of a running gateway', function () {
  this.timeout(60_000);
  let provider: SimulatedProvider;
  let gateway: RunningGateway;

  before(async () => {
    provider = await startSimulated();
    gateway = await startGateway({ env: { HEADGATE_SIMULATED: 'true', HEADGATE_WORKERS: '2' } });
  });
  after(async () => {
    await gateway?.stop();
    await provider.close();
  });

  /** On a connection of its own, so that any worker may get it. */
  const asked = async (key: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${gateway.url}/v1/chat/completions`, {
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
  const ask = async (key: string, headers: Record<string, string> = {}): Promise<number> => {
    const response = await asked(key, headers);
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
  const three = { type: 'requests', credit_limit: 3 };
  const keyWith = async (more: object): Promise<{ key: string; id: string }> =>
    (await admin('POST', '/v1/api-keys/workspace/service', {
      name: 'limited',
      scopes: ['completions.write'],
      ...more,
    })) as { key: string; id: string };
  const asking = async (
    times: number,
    key: string,
    headers: Record<string, string> = {},
  ): Promise<number[]> => {
    const statuses: number[] = [];
    for (let i = 0; i < times; i++) statuses.push(await ask(key, headers));
    return statuses;
  };

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

  it('hold over its workers, and after a change at once', async () => {
    const { key, id } = await keyWith({ rate_limits: [{ type: 'requests', unit: 'rph', value: 4 }] });
    const statuses: number[] = [];
    for (let i = 0; i < 6; i++) statuses.push(await ask(key));
    expect(statuses).to.deep.equal([200, 200, 200, 200, 429, 429]);
    await admin('PUT', `/v1/api-keys/${id}`, { rate_limits: [{ type: 'requests', unit: 'rph', value: 5 }] });
    expect([await ask(key), await ask(key)]).to.deep.equal([200, 429]);
  });

  it('are shown by an explanation with what is left of them, which takes nothing', async () => {
    const { key, id } = await keyWith({ rate_limits: [{ type: 'requests', unit: 'rph', value: 4 }] });
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
    const { key, id: keyId } = await keyWith({});
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

  it('run out over its workers as budgets, go on where they are raised, and start again where they are reset', async () => {
    const { key, id } = await keyWith({ usage_limits: three });
    expect(await asking(5, key)).to.deep.equal([200, 200, 200, 412, 412]);
    await admin('PUT', `/v1/api-keys/${id}`, { usage_limits: { ...three, credit_limit: 4 } });
    expect(await asking(2, key)).to.deep.equal([200, 412]);
    await admin('PUT', `/v1/api-keys/${id}`, { reset_usage: true });
    expect(await asking(5, key)).to.deep.equal([200, 200, 200, 200, 412]);
  });

  it('run out on a workspace, a provider, an integration and a policy, each with its error', async () => {
    const types: string[] = [];
    const refusal = async (key: string, headers: Record<string, string> = {}): Promise<void> => {
      expect(await asking(3, key, headers)).to.deep.equal([200, 200, 200]);
      const response = await asked(key, headers);
      const { error } = (await response.json()) as { error: { code: string; type: string; limit: object } };
      expect(response.status).to.equal(412);
      expect(error.limit).to.include({ type: 'requests', value: 3, used: 3, remaining: 0 });
      types.push(`${error.code} ${error.type}`);
    };
    const { key } = await keyWith({});
    const custom_host = `${provider.url}/v1`;
    const fields = { provider: 'openai', custom_host, key: 'any', usage_limits: three };
    await admin('POST', '/v1/providers', { ...fields, name: 'Spender', slug: 'spender' });
    await refusal(key, { 'x-gateway-provider': '@spender' });
    await admin('POST', '/v1/integrations', {
      ...{ name: 'Lent', slug: 'lent', ai_provider_id: 'openai', key: 'any' },
      configurations: { custom_host },
      create_default_provider: false,
    });
    await admin('PUT', '/v1/integrations/lent/workspaces', {
      workspaces: [{ id: gateway.workspaceId, enabled: true, usage_limits: [three] }],
      create_default_provider: false,
    });
    await admin('POST', '/v1/providers', { name: 'Of lent', slug: 'of-lent', integration_id: 'lent' });
    await refusal(key, { 'x-gateway-provider': '@of-lent' });
    await admin('POST', '/v1/policies/usage-limits', {
      conditions: [{ key: 'metadata.team', value: 'a' }],
      group_by: [{ key: 'metadata.team' }],
      type: 'requests',
      credit_limit: 3,
    });
    await refusal(key, { 'x-gateway-metadata': '{"team":"a"}' });
    const metadata = { project: 'p' };
    await admin('PUT', `/v1/admin/workspaces/${gateway.workspaceId}`, {
      usage_limits: [{ ...three, metadata }],
    });
    await refusal(key, { 'x-gateway-metadata': JSON.stringify(metadata) });
    expect(types).to.deep.equal([
      '04 virtual_key_exhaust_error',
      '04 integration_exhaust_error',
      '06 usage_limits_policy_exhaust_error',
      '04 workspace_exhaust_error',
    ]);
    expect(await ask(key)).to.equal(200);
  });

  it('show within a second what requests have used, and what is left, and a counter that is set back', async () => {
    const { key, id } = await keyWith({ usage_limits: { type: 'requests', credit_limit: 9 } });
    const policy = await admin('POST', '/v1/policies/usage-limits', {
      name: 'of this key',
      conditions: [{ key: 'api_key', value: id }],
      group_by: [{ key: 'api_key' }],
      ...three,
    });
    const entities = `/v1/policies/usage-limits/${policy['id']}/entities`;
    expect(await asking(3, key)).to.deep.equal([200, 200, 200]);
    const answeredAt = performance.now();
    const used = async (): Promise<unknown> => {
      const { usage_limits } = (await admin('GET', `/v1/api-keys/${id}`)) as { usage_limits: Counter };
      return usage_limits.current_usage;
    };
    await eventually('the usage', async () => (await used()) === 3);
    expectWithinMs(performance.now() - answeredAt, 1000);
    const shown = async (): Promise<Counter[]> => (await admin('GET', entities))['data'] as Counter[];
    const [counter] = await shown();
    expect(counter).to.include({ value_key: `api_key:${id}`, current_usage: 3, status: 'exhausted' });
    expect(await ask(key)).to.equal(412);
    const { limits } = await admin('POST', '/v1/requests/explain', {
      api_key_id: id,
      headers: { 'x-gateway-provider': '@simulated' },
      request_body: { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] },
    });
    const left = (limits as { on: string; left: number }[]).map((limit) => [limit.on, limit.left]);
    expect(left).to.deep.include.members([
      ['api_key', 6],
      ['usage_limits_policy', 0],
    ]);
    await admin('PUT', `${entities}/${counter!.id}/reset`, {});
    expect((await shown())[0]).to.include({ id: counter!.id, current_usage: 0, status: 'active' });
    expect(await asking(4, key)).to.deep.equal([200, 200, 200, 412]);
    await eventually('the usage of both', async () => (await used()) === 6);
    expect((await shown())[0]!.current_usage).to.equal(3);
    const { data } = await admin('GET', '/v1/api-keys?status=exhausted&page_size=1000');
    expect((data as { id: string }[]).map((one) => one.id)).to.not.include(id);
  });

  it('keep their type right after the first request, until their usage is reset', async () => {
    for (let i = 0; i < 5; i++) {
      const { key, id } = await keyWith({ usage_limits: three });
      expect(await ask(key)).to.equal(200);
      const path = `${gateway.url}/v1/api-keys/${id}`;
      const change = (more: object): Promise<Response> =>
        fetch(path, {
          method: 'PUT',
          headers: { 'x-gateway-api-key': gateway.adminKey, 'content-type': 'application/json' },
          body: JSON.stringify({ usage_limits: { type: 'tokens', credit_limit: 100 }, ...more }),
        });
      const refused = await change({});
      expect(refused.status).to.equal(400);
      expect(await refused.text()).to.include('usage_limits.type stays requests');
      expect((await change({ reset_usage: true })).status).to.equal(200);
    }
  });

  it('of a policy are set back to 0 right after the last request, by value and by id', async () => {
    const { key, id } = await keyWith({});
    const { id: policy } = await admin('POST', '/v1/policies/usage-limits', {
      conditions: [{ key: 'api_key', value: id }],
      group_by: [{ key: 'metadata.team' }],
      ...three,
    });
    const path = `/v1/policies/usage-limits/${policy}`;
    const used = (team: string): Promise<number[]> =>
      asking(4, key, { 'x-gateway-metadata': JSON.stringify({ team }) });
    for (let i = 0; i < 5; i++) {
      expect(await used(`new ${i}`)).to.deep.equal([200, 200, 200, 412]);
      await admin('PUT', path, { reset_usage_for_value: `metadata.team:new ${i}` });
      expect(await used(`new ${i}`), 'by value').to.deep.equal([200, 200, 200, 412]);
      const { data } = await admin('GET', `${path}/entities?search=new ${i}`);
      await admin('PUT', `${path}/entities/${(data as Counter[])[0]!.id}/reset`, {});
      expect(await used(`new ${i}`), 'by id').to.deep.equal([200, 200, 200, 412]);
    }
    await admin('DELETE', path);
  });

  it('are refilled by no restart, and by no kill of a worker or of the control process', async () => {
    const { key } = await keyWith({ usage_limits: { ...three, credit_limit: 5 } });
    const { key: rated } = await keyWith({ rate_limits: [{ type: 'requests', unit: 'rph', value: 1 }] });
    expect([await ask(key), await ask(rated), await ask(rated)]).to.deep.equal([200, 200, 429]);
    const workers = readFileSync(`/proc/${gateway.process.pid}/task/${gateway.process.pid}/children`, 'utf8')
      .trim()
      .split(' ')
      .map(Number);
    for (const pid of workers) process.kill(pid, 'SIGKILL');
    const passes = (): Promise<number | false> =>
      ask(key).then(
        (status) => (status === 200 ? status : false),
        () => false,
      );
    await eventually('other workers serve', passes);
    await gateway.stop({ keep: true });
    gateway = await gateway.restart();
    expect([await ask(key), await ask(rated)]).to.deep.equal([200, 429]);
    process.kill(gateway.process.pid!, 'SIGKILL');
    await eventually(
      'it has ended',
      async () => gateway.process.exitCode !== null || gateway.process.signalCode,
    );
    gateway = await gateway.restart();
    expect(await asking(4, key)).to.deep.equal([200, 200, 412, 412]);
  });
});
