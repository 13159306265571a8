import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { expect } from 'chai';
import type {
  CheckParameters,
  CheckResult,
  RemoteCheck,
  RemoteContext,
} from '../../plugins/guardrails/check.js';
import { checks } from '../../plugins/guardrails/checks/index.js';
import { secondsOf } from '../../plugins/guardrails/checks/remote/jwt.js';
import { urlsIn } from '../../plugins/guardrails/checks/remote/valid-urls.js';
import {
  type Answer,
  type Asked,
  type CheckService,
  filledParameters,
  remoteContext,
  startCheckService,
} from '../support/check-service.js';

const run = (
  id: string,
  parameters: CheckParameters,
  own: Partial<RemoteContext> = {},
): Promise<CheckResult> =>
  (checks.get(id) as RemoteCheck).run(remoteContext(own), filledParameters(id, parameters));
const explanation = ({ data }: CheckResult): string => (data as { explanation: string }).explanation;

describe('checks that ask another server', () => {
  let answer: (asked: Asked) => Answer;
  let service: CheckService;

  before(async () => {
    service = await startCheckService((asked) => answer(asked));
  });
  beforeEach(() => {
    service.asked.length = 0;
  });
  after(() => service.close());

  describe('a webhook', () => {
    const hook = (own: Partial<RemoteContext> = {}, parameters: CheckParameters = {}): Promise<CheckResult> =>
      run('default.webhook', { webhookURL: `${service.url}/hook`, ...parameters }, own);

    it('gets the request without its headers, and decides', async () => {
      answer = () => ({ body: { verdict: false, data: { reason: 'no' } } });
      const body = { messages: [{ role: 'user', content: 'Hi' }] };
      const result = await hook(
        { text: 'Hi', body, headers: ['x-a', '1'] },
        { headers: { 'X-Own': 'mine', Host: 'x' } },
      );
      expect(result.verdict).to.equal(false);
      expect(result.data).to.deep.include({ responseData: { reason: 'no' } });
      const [asked] = service.asked;
      expect(asked!.headers).to.include({ 'x-own': 'mine', 'content-type': 'application/json' });
      expect(asked!.headers.host).to.not.equal('x');
      expect(JSON.parse(asked!.body)).to.deep.equal({
        eventType: 'beforeRequestHook',
        ...{ requestType: 'chatComplete', provider: 'openai', metadata: { team: 'red' } },
        request: { json: body, text: 'Hi', isStreamingRequest: false },
        response: { json: null, text: '', statusCode: null },
      });
    });

    it('gets headers where it may, but no credentials', async () => {
      answer = () => ({ body: { verdict: true } });
      const headers = [
        'authorization',
        'Bearer s',
        'x-api-key',
        's',
        'cookie',
        's',
        'x-gateway-config',
        's',
        'x-user',
        'jo',
      ];
      expect((await hook({ headers }, { forwardHeaders: true })).verdict).to.equal(true);
      expect(JSON.parse(service.asked[0]!.body).request.headers).to.deep.equal({ 'x-user': 'jo' });
    });

    it('may change the request before it, and the answer after it', async () => {
      const transformedData = { request: { json: { a: 1 } }, response: { json: { b: 2 } } };
      answer = () => ({ body: { verdict: true, transformedData } });
      expect((await hook()).body).to.deep.equal({ a: 1 });
      expect((await hook({ phase: 'after' })).body).to.deep.equal({ b: 2 });
    });

    it('that fails is an error, with what to do', async () => {
      answer = () => ({ status: 500 });
      expect((await hook()).error).to.include({
        name: 'ServiceFailed',
        message: 'The webhook answered with status 500.',
      });
      answer = () => ({ body: { ok: true } });
      expect((await hook()).error?.message).to.match(/without a verdict: \{"verdict": true\}/);
      const rejected = await hook({ send: () => Promise.reject(new Error('The address is not allowed.')) });
      expect(rejected.error?.message).to.equal('The address is not allowed.');
    });
  });

  it('a log server gets request and answer', async () => {
    answer = () => ({ status: 204 });
    const own = { phase: 'after', text: 'Hello', answer: { id: 'a' }, body: { model: 'm' } } as const;
    expect((await run('default.log', { logURL: service.url }, own)).verdict).to.equal(true);
    expect(JSON.parse(service.asked[0]!.body)).to.deep.include({
      eventType: 'afterRequestHook',
      response: { json: { id: 'a' }, text: 'Hello', statusCode: 200 },
    });
    answer = () => ({ status: 503 });
    expect((await run('default.log', { logURL: service.url }, own)).error?.name).to.equal('ServiceFailed');
  });

  describe('URLs', () => {
    it('are taken from prose without its marks, each once', () => {
      expect(
        urlsIn(
          'See https://a.example/x(y), (https://b.example/). And https://a.example/x(y)! "http://c.example".',
        ),
      ).to.deep.equal(['https://a.example/x(y)', 'https://b.example/', 'http://c.example']);
      expect(urlsIn('http://'.repeat(50_000))).to.have.length.at.most(21);
    });

    it('are valid where a server answers', async () => {
      answer = ({ path }) => ({ status: path === '/gone' ? 404 : 200 });
      const judge = (text: string, parameters: CheckParameters = {}): Promise<CheckResult> =>
        run('default.validUrls', parameters, { phase: 'after', text });
      expect((await judge(`see ${service.url}/a and ${service.url}/b.`)).verdict).to.equal(true);
      expect(service.asked.map(({ method }) => method)).to.deep.equal(['HEAD', 'HEAD']);
      const gone = await judge(`see ${service.url}/a and ${service.url}/gone.`);
      expect(gone.verdict).to.equal(false);
      expect(explanation(gone)).to.equal('1 of 2 URLs lead nowhere.');
      expect((await judge(`see ${service.url}/gone`, { onlyDNS: true })).verdict).to.equal(true);
      expect((await judge(`see ${service.url}/gone`, { not: true })).verdict).to.equal(true);
      expect((await judge('see nothing')).verdict).to.equal(false);
      const many = Array.from({ length: 25 }, (_, i) => `https://example.org/${i}`).join(' ');
      expect((await judge(many)).error?.name).to.equal('TooManyUrls');
    });
  });

  describe('a JSON web token', () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const ec = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    const ed = generateKeyPairSync('ed25519');
    const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const now = (): number => Math.floor(Date.now() / 1000);
    const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const token = (alg: string, kid: string, key: KeyObject, claims: object): string => {
      const text = `${encode({ alg, kid })}.${encode({ iat: now(), exp: now() + 60, ...claims })}`;
      const options = alg.startsWith('ES')
        ? { dsaEncoding: 'ieee-p1363' as const }
        : alg.startsWith('PS')
          ? { padding: 6, saltLength: 32 }
          : {};
      return `${text}.${sign(alg === 'EdDSA' ? null : 'sha256', Buffer.from(text), { key, ...options }).toString('base64url')}`;
    };
    const jwks = {
      keys: [
        { ...rsa.publicKey.export({ format: 'jwk' }), kid: 'r' },
        { ...ec.publicKey.export({ format: 'jwk' }), kid: 'e' },
        { ...ed.publicKey.export({ format: 'jwk' }), kid: 'd' },
        { kty: 'oct', k: 'c2VjcmV0', kid: 'o' },
        { kty: 'new', kid: 'n' },
      ],
    };
    const judge = (given: string | null, parameters: CheckParameters = {}): Promise<CheckResult> =>
      run(
        'default.jwt',
        { jwksUri: `${service.url}/keys`, headerKey: 'Authorization', ...parameters },
        { headers: given === null ? [] : ['authorization', `Bearer ${given}`] },
      );

    beforeEach(() => {
      answer = () => ({ body: jwks });
    });

    for (const [alg, kid, key] of [
      ['RS256', 'r', rsa.privateKey],
      ['PS256', 'r', rsa.privateKey],
      ['ES256', 'e', ec.privateKey],
      ['EdDSA', 'd', ed.privateKey],
    ] as const) {
      it(`with ${alg} is accepted, and refused where one bit differs`, async () => {
        const good = token(alg, kid, key, {});
        expect(explanation(await judge(good))).to.equal('The token is valid.');
        const [head, claims, mark = ''] = good.split('.');
        const wrong = Buffer.from(mark, 'base64url');
        wrong[8]! ^= 1;
        expect((await judge(`${head}.${claims}.${wrong.toString('base64url')}`)).verdict).to.equal(false);
        expect((await judge(`${head}.${encode({ iat: now(), sub: 'other' })}.${mark}`)).verdict).to.equal(
          false,
        );
      });
    }

    it('is refused with the reason', async () => {
      const why = async (given: string | null, parameters: CheckParameters = {}): Promise<string> => {
        const result = await judge(given, parameters);
        expect(result.verdict).to.equal(false);
        expect(result.error).to.equal(undefined);
        return explanation(result).replace('The token was refused: ', '');
      };
      const own = (claims: object): string => token('RS256', 'r', rsa.privateKey, claims);
      expect(await why(null)).to.equal('the request has no header Authorization.');
      expect(await why('a.b')).to.equal('it is no JSON web token.');
      expect(await why(token('RS256', 'r', stranger.privateKey, {}))).to.equal('its signature is wrong.');
      expect(await why(token('RS256', 'x', rsa.privateKey, {}))).to.equal('its key is not in the key set.');
      expect(await why(token('RS256', 'e', rsa.privateKey, {}))).to.equal(
        'its key is for another algorithm.',
      );
      expect(await why(`${encode({ alg: 'none', kid: 'r' })}.${encode({ iat: now() })}.`)).to.equal(
        'its algorithm is not allowed.',
      );
      expect(await why(`${encode({ alg: 'HS256', kid: 'o' })}.${encode({ iat: now() })}.AAAA`)).to.equal(
        'its algorithm is not allowed.',
      );
      expect(await why(own({}), { algorithms: ['ES256'] })).to.equal('its algorithm is not allowed.');
      expect(await why(own({ exp: now() - 60 }))).to.equal('it has expired.');
      expect(await why(own({ nbf: now() + 60 }))).to.equal('it is not valid yet.');
      expect(await why(own({ iat: undefined }))).to.equal('it does not say when it was issued.');
      expect(await why(own({ iat: now() - 7200 }), { maxTokenAge: '1h' })).to.equal(
        'it is older than maxTokenAge.',
      );
      expect(await why(own({ iss: 'a' }), { issuer: 'b' })).to.equal('its issuer is another.');
      expect(await why(own({ aud: ['a', 'c'] }), { audience: 'b' })).to.equal('its audience is another.');
      expect(await why(own({ role: 'user' }), { claims: { role: 'admin' } })).to.equal(
        'its claim role has another value.',
      );
      const good = own({ iss: 'b', aud: ['b'], roles: ['admin'] });
      expect(
        (await judge(good, { issuer: 'b', audience: 'b', claims: { roles: 'admin' } })).verdict,
      ).to.equal(true);
    });

    it('has its key set fetched once, and not again for each unknown key', async () => {
      const parameters = filledParameters('default.jwt', { jwksUri: service.url, headerKey: 'x-token' });
      const ask = (given: string): Promise<CheckResult> =>
        (checks.get('default.jwt') as RemoteCheck).run(
          remoteContext({ headers: ['x-token', given] }),
          parameters,
        );
      for (let i = 0; i < 3; i++)
        expect((await ask(token('RS256', 'r', rsa.privateKey, {}))).verdict).to.equal(true);
      for (let i = 0; i < 3; i++)
        expect((await ask(token('RS256', `x${i}`, rsa.privateKey, {}))).verdict).to.equal(false);
      expect(service.asked).to.have.length(1);
    });

    it('is refused while its keys cannot be fetched, which is tried once', async () => {
      answer = () => ({ status: 500 });
      const parameters = filledParameters('default.jwt', { jwksUri: service.url, headerKey: 'x-token' });
      const ask = (): Promise<CheckResult> =>
        (checks.get('default.jwt') as RemoteCheck).run(
          remoteContext({ headers: ['x-token', token('RS256', 'r', rsa.privateKey, {})] }),
          parameters,
        );
      const results = await Promise.all(Array.from({ length: 20 }, ask));
      results.push(await ask());
      for (const { verdict, error, data } of results) {
        expect([verdict, error]).to.deep.equal([false, undefined]);
        expect(JSON.stringify(data)).to.match(/could not be checked: .*status 500/);
      }
      expect(service.asked).to.have.length(1);
    });

    it('is refused where its age cannot be read, or its key is too large to verify with', async () => {
      const why = async (parameters: CheckParameters = {}): Promise<string> =>
        explanation(await judge(token('RS256', 'r', rsa.privateKey, {}), parameters));
      expect(await why({ maxTokenAge: 'soon' })).to.match(/maxTokenAge must be/);
      const large = { kty: 'RSA', kid: 'r', e: 'AQAB', n: Buffer.alloc(2048, 255).toString('base64url') };
      answer = () => ({ body: { keys: [large] } });
      expect(await why()).to.match(/its key is not in the key set/);
    });

    it('has an age in seconds, minutes, hours, days or weeks', () => {
      expect(['90s', '30m', '12h', '1d', '2 weeks'].map(secondsOf)).to.deep.equal([
        90, 1800, 43_200, 86_400, 1_209_600,
      ]);
    });
  });

  describe('pictures', () => {
    const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(20)]);
    const data = png.toString('base64');
    const inline = (body: object, parameters: CheckParameters = {}): Promise<CheckResult> =>
      run('default.inlineImage', parameters, { body: body as RemoteContext['body'] });

    it('are put into the request, in each format', async () => {
      answer = () => ({ body: png });
      const url = `${service.url}/a.png`;
      const user = (part: object): object => ({
        role: 'user',
        content: [{ type: 'text', text: 'Hi' }, part],
      });
      expect(
        (await inline({ messages: [user({ type: 'image_url', image_url: { url, detail: 'low' } })] })).body,
      ).to.deep.equal({
        messages: [
          user({ type: 'image_url', image_url: { url: `data:image/png;base64,${data}`, detail: 'low' } }),
        ],
      });
      expect((await inline({ input: [user({ type: 'input_image', image_url: url })] })).body).to.deep.equal({
        input: [user({ type: 'input_image', image_url: `data:image/png;base64,${data}` })],
      });
      expect(
        (await inline({ messages: [user({ type: 'image', source: { type: 'url', url } })] })).body,
      ).to.deep.equal({
        messages: [user({ type: 'image', source: { type: 'base64', media_type: 'image/png', data } })],
      });
      expect((await inline({ contents: [{ parts: [{ fileData: { fileUri: url } }] }] })).body).to.deep.equal({
        contents: [{ parts: [{ inlineData: { mimeType: 'image/png', data } }] }],
      });
    });

    it('stay where another provider is asked, or there are none', async () => {
      answer = () => ({ body: png });
      const body = {
        messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: service.url } }] }],
      };
      expect(await inline(body, { providers: ['anthropic'] })).to.not.have.property('body');
      expect(await inline({ messages: [{ role: 'user', content: 'Hi' }] })).to.not.have.property('body');
      expect(service.asked).to.have.length(0);
    });

    it('that are none, too large or gone are errors', async () => {
      const body = {
        messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: service.url } }] }],
      };
      answer = () => ({ body: '<html>' });
      expect((await inline(body)).error?.message).to.equal('A picture is neither PNG, JPEG, GIF nor WebP.');
      answer = () => ({ body: png });
      expect((await inline(body, { maxSizeBytes: 10 })).error?.message).to.equal(
        'A picture has more than 10 bytes.',
      );
      answer = () => ({ status: 404 });
      expect((await inline(body)).error?.message).to.match(/answered with status 404/);
    });
  });
});
