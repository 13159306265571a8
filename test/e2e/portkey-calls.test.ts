import { OpenAIEmbeddings } from '@langchain/openai';
import { expect } from 'chai';
import { Portkey } from 'portkey-ai';
import { type RunningGateway, startGateway } from '../support/gateway.js';
import { type SimulatedProvider, startSimulated } from '../support/simulated/index.js';

describe('the public Node client of the same data plane', () => {
  let gateway: RunningGateway;
  let provider: SimulatedProvider;

  before(async function () {
    this.timeout(20_000);
    [gateway, provider] = await Promise.all([
      startGateway({ env: { HEADGATE_HEADER_PREFIXES: 'x-gateway-,x-portkey-' } }),
      startSimulated(),
    ]);
    const { providers } = gateway.admin();
    const base_url = `${provider.url}/v1`;
    await providers.create({ slug: 'main', provider: 'openai', key: 'sk-sim', base_url });
    await providers.create({ slug: 'claude', provider: 'anthropic', key: 'sk-ant-sim', base_url });
  });

  after(async () => {
    await gateway?.stop();
    await provider?.close();
  });

  const client = (slug: string, apiKey = gateway.workspaceKey): Portkey =>
    new Portkey({ apiKey, baseURL: `${gateway.url}/v1`, provider: `@${slug}` });
  const messages = [{ role: 'user', content: 'Hello out there' }];
  const thrown = (work: PromiseLike<unknown>): Promise<{ status?: number } | null> =>
    Promise.resolve(work).then(
      () => null,
      (error: { status?: number }) => error,
    );

  for (const slug of ['main', 'claude']) {
    it(`chats and streams with @${slug}`, async () => {
      const portkey = client(slug);
      const answer = await portkey.chat.completions.create({ model: 'some-model', max_tokens: 64, messages });
      const text = String(answer.choices[0]?.message?.content);
      expect(text).to.include('Hello out there');
      const stream = await portkey.chat.completions.create({
        model: 'some-model',
        max_tokens: 64,
        messages,
        stream: true,
      });
      let streamed = '';
      for await (const chunk of stream) streamed += chunk.choices[0]?.delta?.content ?? '';
      expect(streamed).to.equal(text);
    });

    it(`throws what @${slug} refuses, and where a stream of it breaks`, async () => {
      const portkey = client(slug);
      const ask = (model: string) => portkey.chat.completions.create({ model, max_tokens: 64, messages });
      expect(await thrown(ask('sim-fault:400'))).to.have.property('status', 400);
      const broken = await portkey.chat.completions.create({
        model: 'sim-fault:eof-mid-stream,chunks=20',
        max_tokens: 64,
        messages,
        stream: true,
      });
      const reading = async (): Promise<void> => {
        for await (const _ of broken);
      };
      expect(await thrown(reading())).to.be.instanceOf(Error);
    });
  }

  it('embeds, as @langchain/openai does', async () => {
    const { data } = await client('main').embeddings.create({
      model: 'text-embedding-3-small',
      input: ['river', 'gate'],
    });
    expect(data).to.have.lengthOf(2);
    const langchain = new OpenAIEmbeddings({
      model: '@main/text-embedding-3-small',
      apiKey: gateway.workspaceKey,
      configuration: { baseURL: `${gateway.url}/v1` },
    });
    const vectors = await langchain.embedDocuments(['river', 'gate']);
    expect(vectors.map((vector) => vector.length)).to.deep.equal([1536, 1536]);
  });

  it('throws for a key that nobody has', async () => {
    const portkey = client('main', 'pk-nobody');
    const error = await thrown(portkey.chat.completions.create({ model: 'some-model', messages }));
    expect(error).to.have.property('status', 401);
  });
});
