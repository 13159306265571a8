// lane: shared gateway
import { expect } from 'chai';
import { awsKeys } from '../../src/simulated/aws/aws-auth.js';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { aiAnthropic, aiOpenAiChat, aiOpenAiResponses } from '../support/clients/ai-sdk.js';
import type { Client, Place } from '../support/clients/client.js';
import { langchainChat, langchainResponses } from '../support/clients/langchain.js';
import { llamaindex } from '../support/clients/llamaindex.js';
import { openai } from '../support/clients/openai.js';
import { portkey } from '../support/clients/portkey.js';
import { type SharedGateway, shareGateway, twoWorkers } from '../support/shared-gateway.js';

const libraries = [
  openai,
  aiOpenAiResponses,
  aiOpenAiChat,
  aiAnthropic,
  langchainChat,
  langchainResponses,
  llamaindex,
  portkey,
];

const models = {
  openai: '@main/gpt-4o-mini',
  'chat alone': '@chat/deepseek-chat',
  anthropic: '@claude/claude-sonnet-4-5',
  google: '@gemini/gemini-2.5-flash',
  bedrock: '@aws/us.anthropic.claude-sonnet-4-5-20250929-v1:0',
};

/** What each client library can do, with a provider of each format. Other tests look at what stands on the wire. */
describe('client libraries, unchanged but for base URL and key', () => {
  let gateway: SharedGateway;
  let provider: SimulatedProvider;
  let place: Place;

  before(async function () {
    this.timeout(30_000);
    [gateway, provider] = await Promise.all([shareGateway(twoWorkers), startSimulated()]);
    const { providers } = gateway.admin();
    const { url } = provider;
    await providers.create({ slug: 'main', provider: 'openai', key: 'sk-sim', base_url: `${url}/v1` });
    await providers.create({ slug: 'chat', provider: 'deepseek', key: 'sk-sim', base_url: `${url}/v1` });
    await providers.create({ slug: 'claude', provider: 'anthropic', key: 'sk-ant', base_url: `${url}/v1` });
    await providers.create({ slug: 'gemini', provider: 'google', key: 'AIza', base_url: `${url}/v1beta` });
    await providers.create({
      slug: 'aws',
      provider: 'bedrock',
      base_url: url,
      aws_region: 'eu-central-1',
      aws_access_key_id: awsKeys.accessKeyId,
      aws_secret_access_key: awsKeys.secretAccessKey,
    });
    place = { url: gateway.url, key: gateway.workspaceKey };
  });
  beforeEach(() => provider.reset());

  after(async () => {
    await gateway?.stop();
    await provider?.close();
  });

  const thrown = (work: PromiseLike<unknown>): Promise<unknown> =>
    Promise.resolve(work).then(
      () => null,
      (error: unknown) => error,
    );

  async function read(client: Client, prompt: string): Promise<{ text: string; error: unknown }> {
    let text = '';
    try {
      for await (const piece of client.stream(prompt)) text += piece;
    } catch (error) {
      return { text, error };
    }
    return { text, error: null };
  }

  for (const library of libraries) {
    describe(library.name, () => {
      for (const [format, model] of Object.entries(models)) {
        it(`chats, streams, calls a tool over two turns and answers by a schema (${format})`, async () => {
          const client = library.connect(place, model);
          const said = 'Hello to everybody out there';
          expect(await client.chat(said)).to.equal(`You said: ${said}`);
          expect(await read(client, said)).to.deep.equal({ text: `You said: ${said}`, error: null });
          const cities: string[] = [];
          const text = await client.tools('Ask get_weather.', (city) => {
            cities.push(city);
            return '{"celsius":21}';
          });
          expect(cities).to.have.length(1);
          expect(cities[0]).to.be.a('string').and.not.equal('');
          expect(text).to.include('celsius');
          expect(await client.json('Hello'))
            .to.have.property('city')
            .that.is.a('string');
        });

        it(`throws its own errors, and where a stream breaks (${format})`, async () => {
          const client = library.connect(place, model);
          for (const status of [400, 401, 403, 404, 429, 500]) {
            provider.fault('*', String(status));
            const error = await thrown(client.chat('Hello'));
            expect(library.isItsError(error, status), `${status}: ${String(error)}`).to.equal(true);
          }
          for (const fault of ['reset-mid-stream', 'eof-mid-stream', 'error-event']) {
            provider.fault('*', `${fault},chunks=20`);
            const { text, error } = await read(client, 'Hello to everybody out there');
            expect(text, fault).to.not.equal('');
            expect(library.isItsError(error, null), `${fault}: ${String(error)}`).to.equal(true);
          }
        });
      }

      it('throws its own error for an unknown key', async () => {
        const client = library.connect({ ...place, key: 'gw_ws_nobody' }, models.openai);
        expect(library.isItsError(await thrown(client.chat('Hello')), 401)).to.equal(true);
      });

      const { embed } = library;
      if (embed === undefined) return;
      it('embeds', async () => {
        const vectors = await embed(place, '@main/text-embedding-3-small', ['river', 'gate']);
        expect(vectors.map((vector) => vector.length)).to.deep.equal([1536, 1536]);
      });
    });
  }
});
