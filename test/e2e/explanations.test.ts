// lane: shared gateway
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { LogMetrics } from '../../proto/messages.js';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { headgateHere } from '../support/cli-bench.js';
import { eventually } from '../support/gateway.js';
import { type SharedGateway, shareGateway } from '../support/shared-gateway.js';
import { expectWithinMs } from '../support/time-limits.js';

const config = {
  strategy: {
    mode: 'conditional',
    conditions: [
      Object.fromEntries([
        ['query', { 'metadata.plan': { $eq: 'paid' } }],
        ['then', 'all'],
      ]),
    ],
    default: 'all',
  },
  targets: [
    {
      name: 'all',
      strategy: { mode: 'fallback' },
      targets: [{ provider: '@up', override_params: { model: 'sim-fault:500' } }, { provider: '@up' }],
    },
  ],
};

describe('why a request went where it did', function () {
  this.timeout(30_000);
  let gateway: SharedGateway;
  let upstream: SimulatedProvider;

  before(async () => {
    [gateway, upstream] = await Promise.all([shareGateway(), startSimulated()]);
    await gateway.admin().api.providers.createProvider({
      slug: 'up',
      provider: 'openai',
      key: 'sk-target',
      custom_host: `${upstream.url}/v1`,
    });
  });
  after(async () => {
    await gateway?.stop();
    await upstream?.close();
  });

  /** Of commands that are typed with the workspace's key. */
  const environment = () => ({ ...gateway.env, HEADGATE_ADMIN_KEY: gateway.workspaceKey });

  const ask = (headers: Record<string, string> = {}, more: object = {}): Promise<Response> =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'x-gateway-api-key': gateway.workspaceKey,
        'x-gateway-config': JSON.stringify(config),
        'x-gateway-metadata': '{"plan":"paid"}',
        'content-type': 'application/json',
        ...headers,
      },
      body: JSON.stringify({
        model: 'gpt-4o-mini',
        messages: [{ role: 'user', content: 'Why?' }],
        ...more,
      }),
    });

  const decided = [
    {
      decision: 'branch',
      target: 'config.targets[0]',
      reason: '{"metadata.plan":{"$eq":"paid"}} holds',
    },
    {
      decision: 'moved_on',
      target: 'config.targets[0].targets[0]',
      reason: 'moved on, since it answered with 500',
    },
  ];

  it('is in a header, where the client asks for it', async () => {
    for (const more of [{}, { stream: true }]) {
      const answer = await ask({ 'x-gateway-explain': 'true' }, more);
      await answer.text();
      const told = JSON.parse(answer.headers.get('x-gateway-explanation') ?? '');
      expect(told).to.include({ cache: 'DISABLED', target: 'config.targets[0].targets[1]' });
      expect(told.decisions).to.deep.equal(decided);
      const [failed, well] = told.attempts;
      expect(failed).to.include({ target: 'config.targets[0].targets[0]', provider: 'openai', status: 500 });
      expectWithinMs(failed.duration_ms, 5000);
      expect(well).to.include({ target: 'config.targets[0].targets[1]', status: 200, error: null });
    }
  });

  it('comes with a failure too', async () => {
    const refused = await ask({
      'x-gateway-explain': 'true',
      'x-gateway-config': JSON.stringify({
        ...config.targets[0],
        targets: [{ provider: '@up' }, { provider: '@nobody' }],
        override_params: { model: 'sim-fault:503' },
      }),
    });
    expect(refused.status).to.be.greaterThan(399);
    const { decisions } = JSON.parse(refused.headers.get('x-gateway-explanation') ?? '');
    expect(decisions[0]).to.include({ decision: 'moved_on', target: 'config.targets[0]' });
  });

  it('is sent only on request', async () => {
    for (const explain of ['false', '', '1']) {
      const answer = await ask(explain === '' ? {} : { 'x-gateway-explain': explain });
      expect(answer.status).to.equal(200);
      expect(answer.headers.get('x-gateway-explanation')).to.equal(null);
    }
  });

  it('is in the log, and is shown with its trace', async () => {
    const answer = await ask({ 'x-gateway-trace-id': 'why-trace' });
    const id = answer.headers.get('x-gateway-request-id');
    const row = await eventually('the row', async (): Promise<LogMetrics | undefined> => {
      const { data } = await gateway.admin().api.logs.listLogs({ limit: 50 });
      return data.find((found) => found.id === id);
    });
    expect(row.decisions).to.deep.equal(decided);
    expect(row.virtual_key).to.equal('up');
    const { stdout } = await headgateHere(['logs', '--trace', 'why-trace'], environment());
    expect(stdout).to.contain('config.targets[0]  branch: {"metadata.plan":{"$eq":"paid"}} holds');
    expect(stdout).to.match(
      /config\.targets\[0\]\.targets\[0\] {2}tried: openai, (?:upstream\w+|500), \d+ ms/,
    );
    const json = await headgateHere(['logs', '--trace', 'why-trace', '--json'], environment());
    expect(JSON.parse(json.stdout).decisions).to.deep.equal(decided);
  });

  describe('before it is sent', () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-explain-'));
    const file = join(folder, 'request.json');
    const body = {
      model: 'gpt-4o-mini',
      messages: [{ role: 'user', content: 'Why?' }],
      user: 'ann',
      seed: 1,
    };

    before(async () => {
      writeFileSync(file, JSON.stringify(body));
      await gateway.admin().api.configs.createConfig({
        name: 'explained',
        slug: 'pc-explained',
        config: {
          cache: { mode: 'simple', max_age: 60 },
          strategy: {
            mode: 'conditional',
            conditions: [rule('free', 'cheap'), rule('paid', 'good')],
            default: 'cheap',
          },
          targets: [
            { name: 'cheap', provider: '@up' },
            {
              name: 'good',
              strategy: { mode: 'fallback', on_status_codes: [429, 503] },
              override_params: { temperature: 0 },
              drop_params: ['user'],
              targets: [
                { provider: '@up', retry: { attempts: 2 } },
                { provider: '@up', custom_host: 'https://elsewhere.example/v1' },
                {
                  strategy: { mode: 'loadbalance' },
                  targets: [
                    { provider: '@up', weight: 0 },
                    { provider: '@up', weight: 1, override_params: { model: 'gpt-4o' } },
                  ],
                },
              ],
            },
          ],
        },
      });
    });
    after(() => rmSync(folder, { recursive: true }));

    const rule = (plan: string, name: string): object =>
      Object.fromEntries([
        ['query', { 'metadata.plan': { $eq: plan } }],
        ['then', name],
      ]);
    const explain = (...args: string[]) => headgateHere(['explain', '-f', file, ...args], environment());

    it('is a tree: the targets in order, the body for each, and why others are not asked', async () => {
      const seen = upstream.requests.length;
      const { stdout, stderr, code } = await explain(
        '--config',
        'pc-explained',
        '-H',
        'x-gateway-metadata: {"plan":"paid"}',
      );
      expect(code, stderr).to.equal(0);
      expect(stdout.split('\n').slice(1)).to.deep.equal([
        'cache simple, up to 60 s: not remembered',
        'config conditional: the whole config',
        '├─ – config.targets[0] "cheap": {"metadata.plan":{"$eq":"free"}} does not hold',
        '└─ config.targets[1] fallback: {"metadata.plan":{"$eq":"paid"}} holds',
        '   ├─ 1. config.targets[1].targets[0] → @up gpt-4o-mini: the first',
        '   │       asked again up to 2 times after 429, 500, 502, 503, 504',
        '   │       temperature: absent → 0',
        '   │       user: dropped',
        '   ├─ 2. config.targets[1].targets[1]: where the one before it fails or answers with 429, 503',
        '   │       cannot be asked: The credential of @up is only sent to its own host: drop the custom host, or send your own credential with it.',
        '   └─ config.targets[1].targets[2] loadbalance: where the one before it fails or answers with 429, 503',
        '      ├─ – config.targets[1].targets[2].targets[0]: not drawn this time, its share is 0 %',
        '      └─ 3. config.targets[1].targets[2].targets[1] → @up gpt-4o: drawn by weight, its share is 100 %',
        '              model: "gpt-4o-mini" → "gpt-4o"',
        '              user: dropped',
        '',
      ]);
      expect(upstream.requests.length).to.equal(seen);
      const { data } = await gateway.admin().api.logs.listLogs({ limit: 200 });
      expect(data.filter(({ config }) => config === 'pc-explained')).to.deep.equal([]);
    });

    it('works for a config that is not saved, and as JSON', async () => {
      const { stdout } = await explain('--config', '{"provider":"@up"}', '--json');
      const told = JSON.parse(stdout);
      expect(told.config_version_id).to.equal('inline');
      expect(told.nodes).to.have.length(1);
      expect(told.nodes[0]).to.include({
        path: 'config',
        kind: 'target',
        turn: 1,
        provider: 'openai',
        virtual_key: 'up',
      });
      expect(told.nodes[0].body).to.deep.equal(body);
    });

    it('goes by the default config of a key', async () => {
      const { data } = await gateway
        .admin()
        .api.apiKeys.createApiKey({
          type: 'workspace',
          sub_type: 'service',
          name: 'with a config',
          scopes: ['completions.write'],
          workspace_id: gateway.workspaceId,
          defaults: { config_id: 'pc-explained', metadata: { plan: 'paid' } },
        })
        .then(({ id }) => ({ data: id }));
      const told = JSON.parse((await explain('--key', data, '--json')).stdout);
      expect(told.config).to.equal('pc-explained');
      expect(told.nodes.find(({ turn }: { turn: number }) => turn === 1).path).to.equal(
        'config.targets[1].targets[0]',
      );
    });

    it('shows that the cache has an answer, and which breaker is open', async () => {
      const guarded = {
        strategy: { mode: 'fallback', cb_config: { failure_threshold: 1, cooldown_interval: 60_000 } },
        cache: { mode: 'simple', max_age: 60 },
        targets: [{ provider: '@up', override_params: { model: 'sim-fault:503' } }, { provider: '@up' }],
      };
      const text = JSON.stringify(guarded);
      await (await ask({ 'x-gateway-config': text, 'x-gateway-metadata': '{}' }, body)).text();
      await eventually('the breaker', async () => {
        const { data } = await gateway.admin().api.circuitBreakers.listCircuitBreakers({});
        return data.length > 0;
      });
      const { stdout } = await explain('--config', text, '--key', await keyId());
      expect(stdout).to.contain('cache simple, up to 60 s: a hit');
      expect(stdout).to.match(/├─ – config\.targets\[0\]: left alone: its circuit breaker is open since 20/);
      expect(stdout).to.contain('└─ 1. config.targets[1] → @up gpt-4o-mini');
    });

    const keyId = async (): Promise<string> => {
      const { data } = await gateway.admin().api.apiKeys.listApiKeys({});
      return data.findLast(({ type }) => type !== 'organisation-service')!.id;
    };

    it('gives the reason why the gateway would refuse it', async () => {
      const unknown = await explain('--config', 'nobodys');
      expect(unknown.code).to.equal(1);
      expect(unknown.stdout).to.contain('refused: There is no config "nobodys" in this workspace');
      expect(unknown.stdout).to.contain('[config_not_found]');
      const key = await explain('--key', '0198c5b0-0000-7000-8000-000000000000');
      expect([key.code, key.stderr]).to.deep.equal([
        3,
        'headgate: api_key_id: there is no such key in this workspace.\n',
      ]);
      const nobody = await explain();
      expect(nobody.stdout).to.contain('[missing_provider]');
      const unread = await explain('--path', '/v1/files');
      expect(unread.stdout).to.contain('give the path of an endpoint whose bodies the gateway reads');
    });
  });
});
