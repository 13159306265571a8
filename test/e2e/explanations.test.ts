import { expect } from 'chai';
import type { LogMetrics } from '../../proto/messages.js';
import { headgate } from '../support/command.js';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';
import { type SimulatedProvider, startSimulated } from '../support/simulated/index.js';

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
  let gateway: RunningGateway;
  let upstream: SimulatedProvider;

  before(async () => {
    [gateway, upstream] = await Promise.all([
      startGateway({ env: { HEADGATE_LOG_LEVEL: 'warn' } }),
      startSimulated(),
    ]);
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

  it('is told in a header, where the client asks for it', async () => {
    for (const more of [{}, { stream: true }]) {
      const answer = await ask({ 'x-gateway-explain': 'true' }, more);
      await answer.text();
      const told = JSON.parse(answer.headers.get('x-gateway-explanation') ?? '');
      expect(told).to.include({ cache: 'DISABLED', target: 'config.targets[0].targets[1]' });
      expect(told.decisions).to.deep.equal(decided);
      const [failed, well] = told.attempts;
      expect(failed).to.include({ target: 'config.targets[0].targets[0]', provider: 'openai', status: 500 });
      expect(failed.duration_ms).to.be.within(0, 5000);
      expect(well).to.include({ target: 'config.targets[0].targets[1]', status: 200, error: null });
    }
  });

  it('is told with a failure too', async () => {
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

  it('is told to nobody who does not ask', async () => {
    for (const explain of ['false', '', '1']) {
      const answer = await ask(explain === '' ? {} : { 'x-gateway-explain': explain });
      expect(answer.status).to.equal(200);
      expect(answer.headers.get('x-gateway-explanation')).to.equal(null);
    }
  });

  it('stands in the log, and is shown with its trace', async () => {
    const answer = await ask({ 'x-gateway-trace-id': 'why-trace' });
    const id = answer.headers.get('x-gateway-request-id');
    const row = await eventually('the row', async (): Promise<LogMetrics | undefined> => {
      const { data } = await gateway.admin().api.logs.listLogs({ limit: 50 });
      return data.find((found) => found.id === id);
    });
    expect(row.decisions).to.deep.equal(decided);
    const { stdout } = await headgate(gateway.env, ['logs', '--trace', 'why-trace']);
    expect(stdout).to.contain('config.targets[0]  branch: {"metadata.plan":{"$eq":"paid"}} holds');
    expect(stdout).to.match(
      /config\.targets\[0\]\.targets\[0\] {2}tried: openai, (?:upstream\w+|500), \d+ ms/,
    );
    const json = await headgate(gateway.env, ['logs', '--trace', 'why-trace', '--json']);
    expect(JSON.parse(json.stdout).decisions).to.deep.equal(decided);
  });
});
