// lane: shared gateway
import Anthropic from '@anthropic-ai/sdk';
import { expect } from 'chai';
import { awsKeys } from '../../src/simulated/aws/aws-auth.js';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { type SharedGateway, shareGateway } from '../support/shared-gateway.js';

const claude = 'anthropic.claude-sonnet-4-5-20250929-v1:0';
const under = '/v1/projects/a-project/locations/europe-west4/publishers';

describe('Counts of input tokens', () => {
  let gateway: SharedGateway;
  let provider: SimulatedProvider;
  let anthropic: Anthropic;

  before(async function () {
    this.timeout(20_000);
    [gateway, provider] = await Promise.all([shareGateway(), startSimulated({ record: true })]);
    const { providers } = gateway.admin();
    await providers.create({
      slug: 'aws',
      provider: 'bedrock',
      base_url: provider.url,
      aws_auth_type: 'accessKey',
      aws_region: 'eu-central-1',
      aws_access_key_id: awsKeys.accessKeyId,
      aws_secret_access_key: awsKeys.secretAccessKey,
    });
    const base_url = `${provider.url}/v1beta`;
    await providers.create({ slug: 'gemini', provider: 'google', key: 'AIza-sim', base_url });
    const own = { provider: 'anthropic', key: 'sk-ant-sim', base_url: `${provider.url}/v1` };
    await providers.create({ slug: 'claude', ...own });
    anthropic = new Anthropic({ baseURL: gateway.url, apiKey: gateway.workspaceKey, maxRetries: 0 });
  });
  after(async () => {
    await gateway?.stop();
    await provider?.close();
  });
  afterEach(() => provider.reset());

  const onVertex = {
    'x-api-key': 'ya29.token',
    authorization: 'Bearer ya29.token',
    'x-gateway-provider': 'vertex-ai',
    'x-gateway-vertex-project-id': 'a-project',
    'x-gateway-vertex-region': 'europe-west4',
  };
  const params = (model: string): Anthropic.MessageCountTokensParams => ({
    model,
    system: 'Be kind.',
    messages: [{ role: 'user', content: 'Hello' }],
    tools: [
      { name: 'get_weather', input_schema: { type: 'object', properties: { city: { type: 'string' } } } },
    ],
  });
  const counted = (model: string, headers: Record<string, string> = {}) =>
    anthropic.messages.countTokens(params(model), { headers }).withResponse();
  const sent = (): Record<string, unknown> => JSON.parse(provider.requests.at(-1)?.body.toString() ?? '');

  it('are Bedrock’s own, by the id of the model for an inference profile too', async () => {
    for (const id of [
      claude,
      `us.${claude}`,
      `arn:aws:bedrock:eu-central-1:1:inference-profile/eu.${claude}`,
    ]) {
      const { data, response } = await counted(`@aws/${id}`);
      expect(data.input_tokens).to.be.greaterThan(5);
      expect(response.headers.get('x-gateway-token-count')).to.equal(null);
      expect(provider.requests.at(-1)?.path).to.equal(`/model/${encodeURIComponent(claude)}/count-tokens`);
      const { input } = sent() as { input: { converse: object } };
      expect(input.converse).to.have.keys('messages', 'system', 'toolConfig');
    }
  });

  it('are estimated for models that Bedrock does not count, without a call', async () => {
    const profile = 'arn:aws:bedrock:eu-central-1:1:application-inference-profile/abc';
    for (const id of ['amazon.nova-pro-v1:0', profile]) {
      const { data, response } = await counted(`@aws/${id}`);
      expect(data.input_tokens).to.be.greaterThan(5);
      expect(response.headers.get('x-gateway-token-count')).to.equal('estimated');
    }
    expect(provider.requests).to.have.length(0);
  });

  it('are Gemini’s own, of the whole request', async () => {
    const { data, response } = await counted('@gemini/gemini-2.5-flash');
    expect(data.input_tokens).to.be.greaterThan(5);
    expect(response.headers.get('x-gateway-token-count')).to.equal(null);
    expect(provider.requests[0]?.path).to.equal('/v1beta/models/gemini-2.5-flash:countTokens');
    const { generateContentRequest } = sent() as { generateContentRequest: Record<string, unknown> };
    expect(generateContentRequest).to.have.keys('model', 'contents', 'systemInstruction', 'tools');
    expect(generateContentRequest['model']).to.equal('models/gemini-2.5-flash');
  });

  it('are Vertex AI’s own, of Gemini and of Claude', async () => {
    const headers = {
      ...onVertex,
      'x-gateway-api-key': gateway.workspaceKey,
      'x-gateway-custom-host': `${provider.url}/v1`,
    };
    const gemini = await counted('gemini-2.5-flash', headers);
    expect(gemini.data.input_tokens).to.be.greaterThan(5);
    expect(provider.requests[0]?.path).to.equal(`${under}/google/models/gemini-2.5-flash:countTokens`);
    expect(sent()).to.have.keys('contents', 'systemInstruction', 'tools');
    await counted('claude-sonnet-4-5', headers);
    expect(provider.requests[1]?.path).to.equal(`${under}/anthropic/models/count-tokens:rawPredict`);
    expect(sent()['model']).to.equal('claude-sonnet-4-5');
  });

  for (const nested of [false, true]) {
    it(`are those of Anthropic and Bedrock for Gemini’s clients${nested ? ', of a whole request' : ''}`, async () => {
      const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }];
      const request = { contents, systemInstruction: { parts: [{ text: 'Be kind.' }] } };
      const body = nested ? { generateContentRequest: { model: 'models/x', ...request } } : request;
      for (const model of [`@aws/${claude}`, '@claude/claude-sonnet-4-5']) {
        const answer = await fetch(`${gateway.url}/v1beta/models/${encodeURIComponent(model)}:countTokens`, {
          method: 'POST',
          headers: { 'x-goog-api-key': gateway.workspaceKey, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        });
        expect(answer.status).to.equal(200);
        expect(answer.headers.get('x-gateway-token-count')).to.equal(null);
        expect(((await answer.json()) as { totalTokens: number }).totalTokens).to.be.greaterThan(2);
      }
      expect(sent()).to.have.keys('model', 'messages', 'system');
    });
  }

  it('are estimated where the provider has none for this model', async () => {
    provider.fault('*', '404');
    for (const model of [`@aws/${claude}`, '@gemini/gemini-2.5-flash']) {
      const { data, response } = await counted(model);
      expect(data.input_tokens).to.be.greaterThan(5);
      expect(response.headers.get('x-gateway-token-count')).to.equal('estimated');
    }
    expect(provider.requests).to.have.length(2);
  });

  for (const [fault, status] of [
    ['400', 400],
    ['403', 403],
    ['429', 429],
    ['html', 502],
    ['bad-json', 502],
    ['empty', 502],
  ] as const) {
    it(`fail as other calls do: ${fault}`, async () => {
      provider.fault('*', fault);
      for (const model of [`@aws/${claude}`, '@gemini/gemini-2.5-flash']) {
        const error = await counted(model).catch((thrown: unknown) => thrown);
        expect(error).to.be.instanceOf(Anthropic.APIError).with.property('status', status);
      }
    });
  }
});
