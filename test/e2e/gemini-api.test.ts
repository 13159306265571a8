// lane: shared gateway
import {
  ApiError,
  FunctionCallingConfigMode,
  type FunctionDeclaration,
  GoogleGenAI,
  Type,
} from '@google/genai';
import { expect } from 'chai';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { eventually } from '../support/gateway.js';
import { type SharedGateway, shareGateway } from '../support/shared-gateway.js';

type Stored = Record<string, unknown>;

const functions: FunctionDeclaration[] = [
  {
    name: 'get_weather',
    description: 'The weather of a city.',
    parameters: { type: Type.OBJECT, properties: { city: { type: Type.STRING } }, required: ['city'] },
  },
  { name: 'get_time', parameters: { type: Type.OBJECT, properties: { zone: { type: Type.STRING } } } },
];

const thrown = (work: PromiseLike<unknown>): Promise<unknown> =>
  Promise.resolve(work).then(
    () => null,
    (error: unknown) => error,
  );

describe('the Gemini API', () => {
  let gateway: SharedGateway;
  let provider: SimulatedProvider;
  let client: GoogleGenAI;

  before(async function () {
    this.timeout(20_000);
    [gateway, provider] = await Promise.all([shareGateway(), startSimulated({ record: true })]);
    const admin = gateway.admin();
    const base_url = `${provider.url}/v1`;
    await admin.providers.create({ slug: 'main', provider: 'openai', key: 'sk-sim', base_url });
    await admin.providers.create({ slug: 'claude', provider: 'anthropic', key: 'sk-ant-sim', base_url });
    await admin.providers.create({
      slug: 'gemini',
      provider: 'google',
      key: 'AIza-sim',
      base_url: `${provider.url}/v1beta`,
    });
    client = new GoogleGenAI({ apiKey: gateway.workspaceKey, httpOptions: { baseUrl: gateway.url } });
  });

  beforeEach(() => provider.reset());

  after(async () => {
    await gateway?.stop();
    await provider?.close();
  });

  const seen = (): Stored => JSON.parse(provider.requests.at(-1)!.body.toString()) as Stored;
  const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }];

  function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(gateway.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-goog-api-key': gateway.workspaceKey, ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  }

  for (const [slug, name, format] of [
    ['gemini', 'gemini-2.5-flash', 'the same'],
    ['main', 'gpt-4o-mini', 'OpenAI chat'],
    ['claude', 'claude-sonnet-4-5', 'Anthropic'],
  ] as const) {
    describe(`before a provider of format ${format}`, () => {
      const model = `@${slug}/${name}`;

      it('answers', async () => {
        const answer = await client.models.generateContent({
          model,
          contents: 'Hello',
          config: { systemInstruction: 'Be brief.', temperature: 0.5 },
        });
        expect(answer.text).to.equal('You said: Hello');
        expect(answer.candidates?.[0]?.finishReason).to.equal('STOP');
        expect(answer.modelVersion).to.equal(name);
        const {
          promptTokenCount = 0,
          candidatesTokenCount = 0,
          totalTokenCount,
        } = answer.usageMetadata ?? {};
        expect(promptTokenCount).to.be.greaterThan(0);
        expect(totalTokenCount).to.equal(promptTokenCount + candidatesTokenCount);
      });

      it('streams the same', async () => {
        const stream = await client.models.generateContentStream({ model, contents: 'Hello to everybody' });
        let text = '';
        let finish: string | undefined;
        let tokens = 0;
        let chunks = 0;
        for await (const chunk of stream) {
          chunks++;
          text += chunk.text ?? '';
          finish = chunk.candidates?.[0]?.finishReason ?? finish;
          tokens = chunk.usageMetadata?.promptTokenCount ?? tokens;
        }
        expect(chunks).to.be.greaterThan(2);
        expect(text).to.equal('You said: Hello to everybody');
        expect(finish).to.equal('STOP');
        expect(tokens).to.be.greaterThan(0);
      });

      it('streams as one JSON array without alt=sse', async () => {
        const answer = await post(`/v1beta/models/${model}:streamGenerateContent`, { contents });
        expect(answer.status).to.equal(200);
        expect(answer.headers.get('content-type')).to.match(/^application\/json/);
        const list = (await answer.json()) as { candidates: { content: { parts: { text?: string }[] } }[] }[];
        expect(list.length).to.be.greaterThan(1);
        const texts = list.map((each) => each.candidates[0]?.content.parts.map(({ text }) => text).join(''));
        expect(texts.join('')).to.equal('You said: Hello');
      });

      it('cuts an array off where the stream breaks, so that it cannot be read as whole', async () => {
        provider.fault('*', 'reset-mid-stream,chunks=20');
        const answer = await post(`/v1beta/models/${model}:streamGenerateContent`, { contents });
        expect(await thrown(answer.text())).to.be.instanceOf(Error);
      });

      it('calls tools in parallel and takes their results over two turns', async () => {
        const question = { role: 'user', parts: [{ text: 'Ask get_weather and get_time.' }] };
        const config = { tools: [{ functionDeclarations: functions }] };
        const first = await client.models.generateContent({ model, contents: [question], config });
        const calls = first.functionCalls ?? [];
        expect(calls.map((call) => call.name)).to.deep.equal(['get_weather', 'get_time']);
        const stream = await client.models.generateContentStream({ model, contents: [question], config });
        const pieced = [];
        for await (const chunk of stream) pieced.push(...(chunk.functionCalls ?? []));
        expect(pieced.map((call) => [call.name, call.args])).to.deep.equal(
          calls.map((call) => [call.name, call.args]),
        );
        const results = calls.map((call) => ({
          functionResponse: {
            ...(call.id === undefined ? {} : { id: call.id }),
            name: call.name ?? '',
            response: { celsius: 21 },
          },
        }));
        const second = await client.models.generateContent({
          model,
          contents: [question, first.candidates![0]!.content!, { role: 'user', parts: results }],
          config,
        });
        expect(second.text).to.include('celsius');
      });

      it('calls the one function that is demanded', async () => {
        const answer = await client.models.generateContent({
          model,
          contents: 'Hello',
          config: {
            tools: [{ functionDeclarations: functions }],
            toolConfig: {
              functionCallingConfig: {
                mode: FunctionCallingConfigMode.ANY,
                allowedFunctionNames: ['get_time'],
              },
            },
          },
        });
        expect(answer.functionCalls?.map((call) => call.name)).to.deep.equal(['get_time']);
      });

      it('answers by a schema', async () => {
        const answer = await client.models.generateContent({
          model,
          contents: 'Hello',
          config: {
            responseMimeType: 'application/json',
            responseSchema: { type: Type.OBJECT, properties: { said: { type: Type.STRING } } },
          },
        });
        expect(JSON.parse(answer.text ?? ''))
          .to.have.property('said')
          .that.includes('Hello');
      });

      it('chats over turns', async () => {
        const chat = client.chats.create({ model });
        await chat.sendMessage({ message: 'One' });
        const answer = await chat.sendMessage({ message: 'Two' });
        expect(answer.text).to.equal('You said: Two');
        expect(chat.getHistory()).to.have.length(4);
      });

      it('counts tokens', async () => {
        const { totalTokens } = await client.models.countTokens({ model, contents: 'Hello to everybody' });
        expect(totalTokens).to.be.greaterThan(2);
      });

      it('throws ApiError with the status', async () => {
        for (const status of [400, 429, 503]) {
          provider.fault('*', String(status));
          const error = await thrown(client.models.generateContent({ model, contents: 'x' }));
          expect(error).to.be.instanceOf(ApiError).with.property('status', status);
        }
      });

      for (const fault of ['reset-mid-stream', 'eof-mid-stream', 'error-event']) {
        it(`throws in the middle of a stream: ${fault}`, async () => {
          provider.fault('*', `${fault},chunks=20`);
          const stream = await client.models.generateContentStream({ model, contents: 'Hello to everybody' });
          const error = await thrown(
            (async () => {
              for await (const _ of stream);
            })(),
          );
          expect(error).to.be.instanceOf(Error);
        });
      }
    });
  }

  for (const [model, size] of [
    ['@gemini/gemini-embedding-001', 'natively'],
    ['@main/text-embedding-3-small', 'before OpenAI'],
  ] as const) {
    it(`embeds ${size}`, async () => {
      const answer = await client.models.embedContent({ model, contents: ['one', 'two'] });
      expect(answer.embeddings).to.have.length(2);
      expect(answer.embeddings?.[0]?.values?.length).to.be.greaterThan(10);
      expect(answer.embeddings?.[0]?.values).to.not.deep.equal(answer.embeddings?.[1]?.values);
      const single = await post(`/v1beta/models/${model}:embedContent`, {
        content: { parts: [{ text: 'one' }] },
      });
      expect(single.status).to.equal(200);
      const { embedding } = (await single.json()) as { embedding: { values: number[] } };
      expect(embedding.values).to.deep.equal(answer.embeddings?.[0]?.values);
    });
  }

  it('passes a native request byte by byte', async () => {
    const body =
      '{ "contents":[{"parts":[{"text":"x"}]}] ,"labels":{}, "generationConfig":{"temperature":0.30}}';
    const answer = await post('/v1beta/models/%40gemini/gemini-2.5-flash:generateContent', body);
    expect(answer.status).to.equal(200);
    expect(provider.requests.at(-1)!.path).to.equal('/v1beta/models/gemini-2.5-flash:generateContent');
    expect(provider.requests.at(-1)!.body.toString()).to.equal(body);
    expect(provider.requests.at(-1)!.headers['x-goog-api-key']).to.equal('AIza-sim');
  });

  it('takes a gateway key out of the address, and lets it go nowhere', async () => {
    const greeting = gateway.output().length;
    for (const model of ['@gemini/gemini-2.5-flash', '@main/gpt-4o-mini']) {
      const answer = await fetch(
        `${gateway.url}/v1beta/models/${model}:streamGenerateContent?alt=sse&key=${gateway.workspaceKey}`,
        {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ contents }),
        },
      );
      expect(answer.status).to.equal(200);
      await answer.text();
      const sent = provider.requests.at(-1)!;
      expect(`${sent.path} ${JSON.stringify(sent.rawHeaders)}`).to.not.include(gateway.workspaceKey);
    }
    // The first start says the keys it has made.
    expect(gateway.output().slice(greeting)).to.not.include(gateway.workspaceKey);
    const elsewhere = await fetch(`${gateway.url}/v1beta/cachedContents?key=${gateway.workspaceKey}`);
    expect(elsewhere.status).to.equal(401);
    const stranger = await post(
      '/v1beta/models/@main/gpt-4o:generateContent?key=AIzaSyNobody',
      { contents },
      { 'x-goog-api-key': '' },
    );
    expect(stranger.status).to.equal(401);
    expect(await stranger.json())
      .to.have.property('error')
      .that.includes({ code: 401, status: 'UNAUTHENTICATED' });
  });

  it('refuses a bad body by the path of its field, in its own shape', async () => {
    const cases: [unknown, string][] = [
      [{}, 'contents'],
      [{ contents: [] }, 'contents'],
      [{ contents: [{ role: 'nobody', parts: [] }] }, 'contents[0].role'],
      [{ contents: [{ parts: [{ text: 5 }] }] }, 'contents[0].parts[0].text'],
      [{ contents, generationConfig: { temperature: 'hot' } }, 'generationConfig.temperature'],
      [{ contents, tools: [{ googleSearch: {} }] }, 'tools[0].googleSearch'],
    ];
    for (const [body, field] of cases) {
      const answer = await post('/v1beta/models/@main/gpt-4o:generateContent', body);
      expect(answer.status, field).to.equal(400);
      const { error } = (await answer.json()) as { error: Stored & { details: Stored[] } };
      expect(error['status']).to.equal('INVALID_ARGUMENT');
      expect(error.details[0]).to.have.nested.property('fieldViolations[0].field', field);
    }
    expect(provider.requests).to.have.length(0);
    const get = await fetch(`${gateway.url}/v1beta/models/x:generateContent`);
    expect(get.status).to.equal(405);
    const climbing = await post('/v1beta/models/@gemini/..%2F..%2Fx:generateContent', { contents });
    expect(climbing.status).to.equal(400);
    expect(provider.requests).to.have.length(0);
  });

  it('passes everything else under /v1beta on', async () => {
    const answer = await fetch(`${gateway.url}/v1beta/cachedContents?pageSize=2`, {
      headers: { 'x-goog-api-key': gateway.workspaceKey, 'x-gateway-provider': '@gemini' },
    });
    expect(provider.requests.at(-1)?.path).to.equal('/v1beta/cachedContents?pageSize=2');
    expect(provider.requests.at(-1)?.headers['x-goog-api-key']).to.equal('AIza-sim');
    expect(answer.status).to.not.equal(401);
  });

  it('writes usage, model and address of streams into the log', async () => {
    for (const [model, name] of [
      ['@gemini/gemini-2.5-logged', 'gemini-2.5-logged'],
      ['@main/gpt-4o-gemini', 'gpt-4o-gemini'],
    ] as const) {
      const stream = await client.models.generateContentStream({ model, contents: 'Hello' });
      let tokens: number | undefined;
      for await (const chunk of stream) tokens = chunk.usageMetadata?.promptTokenCount ?? tokens;
      const row = await eventually('the row of the stream', async () =>
        (await gateway.admin().logs.list({})).data.find((log) => log.ai_model === name),
      );
      expect(row).to.include({ req_units: tokens, response_status_code: 200 });
      expect(row.request_url).to.equal(`/v1beta/models/${model}:streamGenerateContent`);
    }
  });

  it("sends a second target a request built from the client's own body", async () => {
    const config = {
      strategy: { mode: 'fallback' },
      targets: [
        { virtual_key: 'gemini', override_params: { model: 'sim-fault:500' } },
        { virtual_key: 'claude', override_params: { model: 'claude-sonnet-4-5' } },
      ],
    };
    const answer = await post(
      '/v1beta/models/gemini-2.5-flash:generateContent',
      { contents },
      { 'x-gateway-config': JSON.stringify(config) },
    );
    expect(answer.status).to.equal(200);
    expect(((await answer.json()) as Stored)['modelVersion']).to.equal('claude-sonnet-4-5');
    expect(seen()).to.deep.include({ messages: [{ role: 'user', content: 'Hello' }] });
    expect(seen()).to.not.have.property('contents');
  });
});
