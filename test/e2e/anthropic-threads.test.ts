// lane: shared gateway, quick
import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { expect } from 'chai';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { type SharedGateway, shareGateway } from '../support/shared-gateway.js';

type Sent = { thread?: unknown; messages: { role: string }[] };

describe('message threads of the Anthropic Messages API', () => {
  let gateway: SharedGateway;
  let provider: SimulatedProvider;
  let client: Anthropic;

  before(async function () {
    this.timeout(20_000);
    [gateway, provider] = await Promise.all([shareGateway(), startSimulated({ record: true })]);
    const admin = gateway.admin();
    const base_url = `${provider.url}/v1`;
    await admin.providers.create({ slug: 'threads-openai', provider: 'openai', key: 'sk-sim', base_url });
    await admin.providers.create({ slug: 'threads-claude', provider: 'anthropic', key: 'sk-sim', base_url });
    await admin.providers.create({
      slug: 'threads-gemini',
      provider: 'google',
      key: 'AIza-sim',
      base_url: `${provider.url}/v1beta`,
    });
    client = new Anthropic({ baseURL: gateway.url, apiKey: gateway.workspaceKey, maxRetries: 0 });
  });

  beforeEach(() => provider.reset());

  after(async () => {
    await gateway?.stop();
    await provider?.close();
  });

  const sent = (): Sent[] => provider.requests.map((request) => JSON.parse(request.body.toString()) as Sent);

  const weather = betaTool({
    name: 'get_weather',
    description: 'The weather of a city.',
    inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    run: () => '21 degrees',
  });

  for (const model of ['@threads-openai/gpt-4o-mini', '@threads-gemini/gemini-2.5-flash']) {
    for (const stream of [false, true]) {
      it(`lets the tool runner send the whole conversation to ${model}${stream ? ', streamed' : ''}`, async () => {
        const messages: Anthropic.Beta.BetaMessageParam[] = [{ role: 'user', content: 'Use get_weather' }];
        const params = { model, max_tokens: 64, messages, tools: [weather] };
        const runner = stream
          ? client.beta.messages.toolRunner({ ...params, stream: true })
          : client.beta.messages.toolRunner(params);
        const answer = await runner.runUntilDone();
        expect(answer.content[0]).to.have.property('text').that.includes('21 degrees');
        expect(sent(), 'the gateway itself refuses threads').to.have.length(2);
        const last = JSON.stringify(sent()[1]);
        expect(last).to.include('Use get_weather').and.to.include('21 degrees');
      });
    }
  }

  it('are refused by name where the provider has another format, in words that the client understands', async () => {
    for (const thread of [{ type: 'create' }, { type: 'continue', previous_message_id: 'msg_1' }] as const) {
      const error = await client.beta.messages
        .create({
          model: '@threads-openai/gpt-4o-mini',
          max_tokens: 64,
          messages: [{ role: 'user', content: 'Hello' }],
          thread,
        })
        .then(
          () => null,
          (thrown: unknown) => thrown,
        );
      expect(error).to.be.instanceOf(Anthropic.BadRequestError);
      const refused = (error as InstanceType<typeof Anthropic.BadRequestError>).error as {
        error: Record<string, unknown>;
      };
      expect(refused.error).to.deep.equal({
        type: 'invalid_request_error',
        message:
          'thread: this provider holds no conversations: send the whole conversation in messages, without thread.',
        details: { error_code: 'thread_unsupported_request' },
      });
    }
    expect(sent()).to.deep.equal([]);
  });

  it('reach a provider of the same format unchanged', async () => {
    const thread = { type: 'continue', previous_message_id: 'msg_1' } as const;
    await client.beta.messages.create({
      model: '@threads-claude/claude-sonnet-4-5',
      max_tokens: 64,
      messages: [{ role: 'user', content: 'Hello' }],
      thread,
    });
    expect(sent()[0]!.thread).to.deep.equal(thread);
  });
});
