// lane: shared gateway
import { expect } from 'chai';
import type { SimulatedProvider } from '../../src/simulated/index.js';
import { run } from '../support/command.js';
import { mainFile } from '../support/gateway.js';
import { addSimulated, type SharedGateway, shareGateway, twoWorkers } from '../support/shared-gateway.js';

describe('configs of a running gateway', () => {
  let gateway: SharedGateway;
  let provider: SimulatedProvider;

  before(async function () {
    this.timeout(30_000);
    gateway = await shareGateway(twoWorkers);
    provider = await addSimulated(gateway);
  });
  after(async function () {
    this.timeout(60_000);
    await gateway?.stop();
    await provider?.close();
  });

  async function ask(verb: string, path: string, body?: object) {
    const response = await fetch(`${gateway.url}${path}`, {
      method: verb,
      headers: { 'x-gateway-api-key': gateway.workspaceKey, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, json: JSON.parse(await response.text()) };
  }

  /** Several calls, so that every worker is asked; the models that answered, or the status of the refusal. */
  async function answers(config: string): Promise<unknown[]> {
    const call = async (): Promise<unknown> => {
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          'x-gateway-api-key': gateway.workspaceKey,
          'x-gateway-config': config,
          'content-type': 'application/json',
          connection: 'close',
        },
        body: '{"model":"gpt-4o-mini","messages":[{"role":"user","content":"Hello"}]}',
      });
      const text = await response.text();
      return response.status === 200 ? JSON.parse(text).model : response.status;
    };
    return [...new Set(await Promise.all(Array.from({ length: 12 }, call)))];
  }

  const playing = (model: string) => ({ provider: '@simulated', override_params: { model } });

  it('act before the call that changes them returns, on every worker', async function () {
    this.timeout(20_000);
    const slug = 'pc-live';
    expect(await answers(slug))
      .to.have.length(1)
      .and.not.include('gpt-4o');
    const made = await ask('POST', '/v1/configs', { name: 'live', slug, config: playing('gpt-4o') });
    expect(made.status, JSON.stringify(made.json)).to.equal(200);
    expect(await answers(slug)).to.deep.equal(['gpt-4o']);
    for (const model of ['gpt-4.1', 'gpt-4o', 'gpt-4.1']) {
      await ask('PUT', `/v1/configs/${slug}`, { config: playing(model) });
      expect(await answers(slug)).to.deep.equal([model]);
    }
    await ask('DELETE', `/v1/configs/${slug}`);
    expect(await answers(slug)).to.deep.equal([400]);
    await ask('POST', '/v1/configs', { name: 'again', slug, config: playing('gpt-4o') });
    expect(await answers(slug)).to.deep.equal(['gpt-4o']);
    await ask('DELETE', `/v1/configs/${slug}`);
    await ask('PUT', `/v1/configs/${made.json.data.id}`, { status: 'active' });
    expect(await answers(slug)).to.deep.equal(['gpt-4.1']);
  });

  it('are refused where they cannot be used, or name what is not there', async () => {
    const wrong = await ask('POST', '/v1/configs', { name: 'x', config: { colour: 1 } });
    expect([wrong.status, wrong.json.data.errorCode]).to.deep.equal([400, 'AB01']);
    const missing = await ask('POST', '/v1/configs', { name: 'x', config: { provider: '@none' } });
    expect([missing.status, missing.json.data.errorCode]).to.deep.equal([404, 'AB02']);
  });

  it('are refused with the path of everything that is wrong inside them, made or changed', async () => {
    const query = { 'metadata.plan': { $regex: '(a{1000}){1000}' } };
    const config = {
      strategy: {
        mode: 'conditional',
        conditions: [
          Object.fromEntries([
            ['query', query],
            ['then', 'a'],
          ]),
        ],
        default: 'b',
      },
      targets: [
        { name: 'a', provider: '@simulated', cb_config: { cooldown_interval: 1000 } },
        { name: 'c', provider: 'opnai', drop_params: ['a..b'] },
      ],
    };
    await ask('POST', '/v1/configs', { name: 'x', slug: 'pc-checked', config: playing('gpt-4o') });
    for (const [method, path] of [
      ['POST', '/v1/configs'],
      ['PUT', '/v1/configs/pc-checked'],
    ] as const) {
      const { status, json } = await ask(method, path, { name: 'x', config });
      expect([status, json.data.errorCode]).to.deep.equal([400, 'AB01']);
      for (const finding of [
        'path: config.targets[0].cb_config, message: must have failure_threshold',
        'path: config.targets[1].provider, message: is an unknown provider "opnai": did you mean openai?',
        'path: config.targets[1].drop_params[0], message: is no path of a parameter',
      ])
        expect(json.data.message).to.include(finding);
      const { json: other } = await ask(method, path, {
        name: 'x',
        config: { ...config, targets: [{ name: 'a' }, { name: 'b' }] },
      });
      expect(other.data.message).to.include('conditions[0].query');
    }
    expect(await answers('pc-checked')).to.deep.equal(['gpt-4o']);
    const typed = await run(process.execPath, [mainFile, 'configs', 'create', '-', '--name', 'x'], {
      env: { ...gateway.env, HEADGATE_ADMIN_KEY: gateway.workspaceKey },
      input: JSON.stringify(config),
    });
    expect(typed.code).not.to.equal(0);
    expect(typed.stderr).to.include('did you mean openai?').and.include('drop_params[0]');
  });

  it('may name a provider alone, whose key each call brings', async () => {
    const made = await ask('POST', '/v1/configs', { name: 'alone', config: { provider: 'openai' } });
    expect(made.status, JSON.stringify(made.json)).to.equal(200);
  });

  it('report each problem once', async () => {
    const { json } = await ask('POST', '/v1/configs', { name: 'x', config: {} });
    expect(json.data.message.match(/must have/g)).to.have.length(1);
  });

  it('need no key for the price of a model', async () => {
    for (const path of ['/model-configs/pricing', '/v1/model-configs/pricing']) {
      const response = await fetch(`${gateway.url}${path}/openai/gpt-4o-mini`);
      expect(response.status).to.equal(200);
      expect(await response.json()).to.have.nested.property('pay_as_you_go.request_token.price', 0.000015);
    }
  });
});
