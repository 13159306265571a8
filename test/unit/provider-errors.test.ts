import { expect } from 'chai';
import { type Ask, BareWorker, type Client, soon } from '../support/bare-worker.js';

interface Body {
  type?: string;
  provider?: string;
  error: { message: string; type?: string; status?: string; code?: unknown; [more: string]: unknown };
}

const page = '<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>';
/** What came with an error status, and what of it the client should read. */
const bodies: readonly (readonly [name: string, body: string, says: string])[] = [
  ['a web page', page, 'a web page: 502 Bad Gateway'],
  ['a page without a title', '<p>no</p>', 'a web page'],
  ['nothing', '', 'status 418'],
  ['blanks', ' \n', 'status 418'],
  ['a text', 'upstream connect error', 'upstream connect error'],
  ['a JSON string', '"Incorrect API key"', 'Incorrect API key'],
  ['an error that is a bare string', '{"code":"x","error":"No such model"}', 'No such model'],
  ['a list', '[{"error":{"code":418,"message":"In a list"}}]', 'In a list'],
  ['an empty list', '[]', 'status 418'],
  ['a number', '17', 'status 418'],
  ['JSON without an error', '{"ok":false}', 'status 418'],
  ['an error of null', '{"error":null}', 'status 418'],
  ['an event', 'event: error\ndata: {"error":{"message":"In an event"}}\n\n', 'In an event'],
  ['a very long text', 'x'.repeat(600 * 1024), 'status 418'],
  [
    'an error with fields nested deeply',
    `{"error":{"message":"Deep","more":${'['.repeat(900)}${']'.repeat(900)}}}`,
    'Deep',
  ],
  [
    'an error with fields nested beyond measure',
    `{"error":{"message":"Deep","more":${'['.repeat(50_000)}${']'.repeat(50_000)}}}`,
    'status 418',
  ],
];

describe('an error of a provider', () => {
  let worker: BareWorker;

  before(async () => {
    worker = await new BareWorker().start();
  });
  after(() => worker.close());

  const answered = async (body: string, how: Ask = {}, type = 'text/html'): Promise<Client> => {
    const [client, { handler }] = await worker.asking(worker.key(), how);
    handler.head(418, ['content-type', type]);
    if (body !== '') handler.data(Buffer.from(body));
    handler.end();
    await soon('it is answered', () => client.ended);
    return client;
  };
  const header = (client: Client, name: string) => client.headers[client.headers.indexOf(name) + 1];
  const hi = [{ role: 'user', content: 'Hi' }];
  const contents = [{ role: 'user', parts: [{ text: 'Hi' }] }];
  const at = (path: string, body: object, slug = 'p'): Ask => ({
    path,
    body,
    config: `{"provider":"@${slug}"}`,
  });

  const openAi: readonly Ask[] = [
    { stream: false },
    { stream: true },
    at('/v1/completions', { model: 'm', prompt: 'Hi' }),
    at('/v1/embeddings', { model: 'm', input: 'Hi' }),
    at('/v1/moderations', { model: 'm', input: 'Hi' }),
    at('/v1/responses', { model: 'm', input: 'Hi' }),
    { stream: false, config: '{"provider":"@anthropic"}' },
    { stream: false, config: '{"provider":"@google"}' },
  ];
  const anthropic: readonly Ask[] = ['anthropic', 'p'].map((slug) =>
    at('/v1/messages', { model: 'm', max_tokens: 9, messages: hi }, slug),
  );
  const gemini: readonly Ask[] = ['generateContent', 'streamGenerateContent'].flatMap((method) =>
    ['google', 'p'].map((slug) => at(`/v1beta/models/m:${method}`, { contents }, slug)),
  );

  for (const [name, body, says] of bodies) {
    it(`is an error object of the client's format where it came as ${name}`, async () => {
      for (const how of openAi) {
        const client = await answered(body, how);
        const { error, provider } = JSON.parse(client.text) as Body;
        expect(client.status).to.equal(418);
        expect(error.message)
          .to.match(/^\w+ error: /)
          .and.include(says);
        expect(error.type).to.be.a('string');
        expect(error).to.include.keys('param', 'code');
        expect(error.message.startsWith(`${provider} error: `)).to.equal(true);
        expect(header(client, 'content-type')).to.equal('application/json');
        expect(header(client, 'x-gateway-error-origin')).to.equal('provider');
      }
      for (const how of anthropic) {
        const { type, error } = JSON.parse((await answered(body, how)).text) as Body;
        expect(type).to.equal('error');
        expect(error.type).to.be.a('string');
        expect(error.message).to.include(says);
      }
      for (const how of gemini) {
        const { error } = JSON.parse((await answered(body, how)).text) as Body;
        expect(error.message).to.include(says);
        expect(error.code).to.equal(418);
        expect(error.status).to.be.a('string');
      }
    });
  }

  it('names the provider and keeps its further fields in the shape of OpenAI', async () => {
    const given = { error: { message: 'No', type: 'bad', code: 400, param: null, metadata: { raw: 'x' } } };
    const client = await answered(JSON.stringify(given), { stream: false });
    expect(JSON.parse(client.text)).to.deep.equal({
      error: { message: 'openai error: No', type: 'bad', param: null, code: '400', metadata: { raw: 'x' } },
      provider: 'openai',
    });
  });

  it('stays as it came in the shapes of Anthropic and Gemini', async () => {
    const claude =
      '{"type":"error", "error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"r"}';
    expect((await answered(claude, anthropic[0])).text).to.equal(claude);
    const google = '{"error": {"code":418,"message":"No","status":"TEAPOT","details":[{"@type":"x"}]}}';
    expect((await answered(google, gemini[0])).text).to.equal(google);
  });

  it('is unchanged on a path that is passed through, and for a target with passthrough', async () => {
    for (const [, body] of bodies.filter(([, text]) => text !== '')) {
      const passed = await answered(body, { method: 'GET', path: '/v1/files' });
      expect(passed.text).to.equal(body);
      expect(header(passed, 'content-type')).to.equal('text/html');
      const config = '{"provider":"@p","passthrough":true}';
      expect((await answered(body, { stream: false, config })).text).to.equal(body);
    }
  });
});
