// lane: shared gateway
import Anthropic from '@anthropic-ai/sdk';
import { expect } from 'chai';
import OpenAI, { AzureOpenAI } from 'openai';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { type SharedGateway, shareGateway } from '../support/shared-gateway.js';

describe('Azure as a provider', () => {
  let gateway: SharedGateway;
  let azure: SimulatedProvider;

  before(async function () {
    this.timeout(30_000);
    [gateway, azure] = await Promise.all([shareGateway(), startSimulated({ record: true })]);
    const { api } = gateway.organisation();
    const integration = (slug: string, custom_host: string, azure_api_version: string) =>
      api.integrations.createIntegration({
        slug,
        name: slug,
        ai_provider_id: 'azure-openai',
        key: 'azure-key',
        configurations: {
          azure_auth_mode: 'default',
          azure_resource_name: 'contoso',
          custom_host,
          azure_deployment_config: [
            {
              alias: 'fast',
              azure_api_version,
              azure_deployment_name: 'my-gpt-4o-mini',
              azure_model_slug: 'gpt-4o-mini',
              is_default: true,
            },
            { alias: 'vectors', azure_api_version, azure_deployment_name: 'embed', azure_model_slug: 'te-3' },
          ],
        },
      });
    await integration('dated', `${azure.url}/openai`, '2024-10-21');
    await integration('undated', `${azure.url}/openai/v1`, 'v1');
    for (const slug of ['dated', 'undated']) {
      await api.integrations.updateIntegrationWorkspaces({
        slug,
        workspaces: [{ id: gateway.workspaceId, enabled: true }],
      });
    }
    await gateway.admin().api.virtualKeys.createVirtualKey({
      name: 'foundry',
      slug: 'foundry',
      provider: 'azure-ai',
      key: 'foundry-key',
      azure_foundry_url: `${azure.url}/models`,
    });
  });
  beforeEach(() => azure.reset());
  after(async () => {
    await gateway?.stop();
    await azure?.close();
  });

  const client = (provider: string): OpenAI =>
    new OpenAI({
      baseURL: `${gateway.url}/v1`,
      apiKey: gateway.workspaceKey,
      maxRetries: 0,
      defaultHeaders: { 'x-gateway-provider': provider },
    });
  const hello = [{ role: 'user' as const, content: 'Hello' }];
  const body = (): Record<string, unknown> => JSON.parse(String(azure.requests.at(-1)?.body));

  it('takes the deployment out of an alias, a model’s own name or the default, and the version with it', async () => {
    const at = '/openai/deployments/my-gpt-4o-mini/chat/completions?api-version=2024-10-21';
    for (const model of ['fast', 'gpt-4o-mini', 'my-gpt-4o-mini', 'something else']) {
      const answer = await client('@dated').chat.completions.create({ model, messages: hello });
      expect(answer.choices[0]?.message.content).to.equal('You said: Hello');
      expect(azure.requests.at(-1)?.path).to.equal(at);
      expect(azure.requests.at(-1)?.headers['api-key']).to.equal('azure-key');
      expect(azure.requests.at(-1)?.headers['authorization']).to.equal(undefined);
      expect(body()['model'], 'the body goes as it came').to.equal(model);
    }
    await client('@dated').embeddings.create({ model: 'vectors', input: 'x' });
    expect(azure.requests.at(-1)?.path).to.equal(
      '/openai/deployments/embed/embeddings?api-version=2024-10-21',
    );
  });

  it('by v1 the deployment is the model, and nothing else in the body changes', async () => {
    const asked = { model: 'fast', messages: hello, seed: 12345678901234, unheard_of: [1.5] };
    await client('@undated').chat.completions.create(asked);
    expect(azure.requests.at(-1)?.path).to.equal('/openai/v1/chat/completions');
    expect(body()).to.deep.equal({ ...asked, model: 'my-gpt-4o-mini' });
  });

  it('streams, with the frame of its content filter first', async () => {
    const stream = await client('@dated').chat.completions.create({
      model: 'fast',
      messages: hello,
      stream: true,
    });
    let text = '';
    const frames: unknown[] = [];
    for await (const chunk of stream) {
      frames.push(chunk);
      text += chunk.choices[0]?.delta.content ?? '';
    }
    expect(text).to.equal('You said: Hello');
    expect(frames[0]).to.have.property('prompt_filter_results');
  });

  it('passes on the results of its content filter, and its Retry-After', async () => {
    const messages = [{ role: 'user' as const, content: '[blocked] Hello' }];
    const refused = await client('@dated')
      .chat.completions.create({ model: 'fast', messages })
      .catch((error) => error);
    expect(refused).to.be.instanceOf(OpenAI.BadRequestError);
    expect(refused.code).to.equal('content_filter');
    expect(refused.error.innererror.content_filter_result.violence.filtered).to.equal(true);
    azure.fault('*', '429=2');
    const limited = await client('@dated')
      .chat.completions.create({ model: 'fast', messages: hello })
      .catch((error) => error);
    expect(limited).to.be.instanceOf(OpenAI.RateLimitError);
    expect(limited.headers.get('retry-after-ms')).to.equal('2000');
  });

  it('answers a client of Anthropic’s, streamed', async () => {
    const anthropic = new Anthropic({
      baseURL: gateway.url,
      apiKey: gateway.workspaceKey,
      maxRetries: 0,
      defaultHeaders: { 'x-gateway-provider': '@dated' },
    });
    const asked = { model: 'fast', max_tokens: 50, messages: hello };
    const answer = await anthropic.messages.stream(asked).finalMessage();
    expect(answer.content).to.deep.equal([{ type: 'text', text: 'You said: Hello' }]);
    const blocked = await anthropic.messages
      .create({ ...asked, messages: [{ role: 'user', content: '[blocked]' }] })
      .catch((error) => error);
    expect(blocked).to.be.instanceOf(Anthropic.BadRequestError);
  });

  it('is called with headers alone, by a key or a token of the caller’s', async () => {
    const chat = (headers: Record<string, string>): Promise<Response> =>
      fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-gateway-api-key': gateway.workspaceKey,
          'x-gateway-provider': 'azure-openai',
          'x-gateway-custom-host': `${azure.url}/openai`,
          'x-gateway-azure-deployment-id': 'mine',
          'x-gateway-azure-api-version': '2025-04-01-preview',
          ...headers,
        },
        body: JSON.stringify({ model: 'm', messages: hello }),
      });
    expect((await chat({ authorization: 'Bearer own-key' })).status).to.equal(200);
    expect(azure.requests.at(-1)?.path).to.equal(
      '/openai/deployments/mine/chat/completions?api-version=2025-04-01-preview',
    );
    expect(azure.requests.at(-1)?.headers['api-key']).to.equal('own-key');
    expect((await chat({ 'x-gateway-azure-ad-token': 'own-token' })).status).to.equal(200);
    expect(azure.requests.at(-1)?.headers['authorization']).to.equal('Bearer own-token');
    const own = await chat({ 'x-gateway-azure-auth-mode': 'managed' });
    expect(own.status).to.equal(400);
    expect(await own.text()).to.include('only a stored provider');
  });

  it('the key of a saved config does not follow a caller’s header to another address', async () => {
    await gateway.admin().configs.create({
      name: 'theirs',
      slug: 'pc-theirs',
      config: { provider: 'azure-ai', api_key: 'config-key' },
    });
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-gateway-api-key': gateway.workspaceKey,
        'x-gateway-config': 'pc-theirs',
        'x-gateway-azure-foundry-url': `${azure.url}/models`,
      },
      body: JSON.stringify({ model: 'm', messages: hello }),
    });
    expect(response.status).to.equal(400);
    expect(await response.text()).to.include('azure_foundry_url');
    expect(azure.requests).to.have.length(0);
  });

  it('is passed through to with its version', async () => {
    const passed = await fetch(`${gateway.url}/v1/deployments/mine/audio/speech?x=1`, {
      method: 'POST',
      headers: {
        'x-gateway-api-key': gateway.workspaceKey,
        'x-gateway-provider': '@dated',
        'content-type': 'application/json',
      },
      body: '{}',
    });
    await passed.arrayBuffer();
    expect(azure.requests.at(-1)?.path).to.equal(
      '/openai/deployments/mine/audio/speech?x=1&api-version=2024-10-21',
    );
  });

  it('takes OpenAI’s own client for Azure, which puts the key elsewhere', async () => {
    const own = new AzureOpenAI({
      baseURL: `${gateway.url}/v1`,
      apiKey: gateway.workspaceKey,
      apiVersion: '2024-10-21',
      maxRetries: 0,
      defaultHeaders: { 'x-gateway-provider': '@dated' },
    });
    const answer = await own.chat.completions.create({ model: 'fast', messages: hello });
    expect(answer.choices[0]?.message.content).to.equal('You said: Hello');
  });

  it('Foundry’s models are reached at the address that was stored', async () => {
    const answer = await client('@foundry').chat.completions.create({
      model: 'DeepSeek-V3',
      messages: hello,
    });
    expect(answer.choices[0]?.message.content).to.equal('You said: Hello');
    expect(azure.requests.at(-1)?.path).to.equal('/models/chat/completions?api-version=2024-05-01-preview');
    expect(azure.requests.at(-1)?.headers['api-key']).to.equal('foundry-key');
  });
});
