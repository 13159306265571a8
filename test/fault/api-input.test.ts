// lane: slow
import { request } from 'node:http';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { clientApis } from '../support/client-apis.js';
import { type RunningGateway, startGateway } from '../support/gateway.js';

interface Said {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
}

interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string | Buffer;
}

/** The members for length, number of answers and stop sequences in each API; null where the API has none. */
interface Knobs {
  limit(value: string): string;
  count: ((value: string) => string) | null;
  stop: ((value: string) => string) | null;
  /** A conversation of one turn that holds a picture. */
  picture(url: string): unknown;
}

const member = (name: string) => (value: string) => `"${name}":${value}`;
const within = (name: string) => (value: string) => `"generationConfig":{"${name}":${value}}`;

const knobs: Readonly<Record<string, Knobs>> = {
  'openai-chat': {
    limit: member('max_tokens'),
    count: member('n'),
    stop: member('stop'),
    picture: (url) => [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
  },
  'anthropic-messages': {
    limit: member('max_tokens'),
    count: null,
    stop: member('stop_sequences'),
    picture(url) {
      const [, media_type = '', data = ''] = /^data:([^;]*);base64,(.*)$/s.exec(url) ?? [];
      const source = { type: 'base64', media_type, data };
      return [{ role: 'user', content: [{ type: 'image', source }] }];
    },
  },
  'openai-responses': {
    limit: member('max_output_tokens'),
    count: null,
    stop: null,
    picture: (url) => [{ role: 'user', content: [{ type: 'input_image', image_url: url }] }],
  },
  'gemini-generate-content': {
    limit: within('maxOutputTokens'),
    count: within('candidateCount'),
    stop: within('stopSequences'),
    picture(url) {
      const [, mimeType = '', data = ''] = /^data:([^;]*);base64,(.*)$/s.exec(url) ?? [];
      return [{ role: 'user', parts: [{ inlineData: { mimeType, data } }] }];
    },
  },
};

/** 100 MB, in 100 KB. */
const zeros = gzipSync(Buffer.alloc(100 * 1024 * 1024));

/** Less than usual, and more than all bodies but those that are too large. */
const bodyLimit = 4 * 1024 * 1024;

/** What clients send, hostile or mistaken, to every API. */
describe('hostile requests to every API', () => {
  let gateway: RunningGateway;
  let provider: SimulatedProvider;

  before(async function () {
    this.timeout(20_000);
    [gateway, provider] = await Promise.all([
      startGateway({ env: { HEADGATE_LOG_BODIES: 'false', HEADGATE_BODY_LIMIT_BYTES: String(bodyLimit) } }),
      startSimulated({ record: true }),
    ]);
    const { providers } = gateway.admin();
    for (const [slug, row, key, path] of [
      ['openai', 'openai', 'sk-sim', '/v1'],
      ['anthropic', 'anthropic', 'sk-ant-sim', '/v1'],
      ['gemini', 'google', 'AIza-sim', '/v1beta'],
    ] as const)
      await providers.create({ slug, provider: row, key, base_url: provider.url + path });
  });
  beforeEach(() => provider.reset());

  after(async () => {
    await gateway?.stop();
    await provider?.close();
  });

  /** As it stands, path, headers and all: `fetch` would tidy them up. */
  function send({ method = 'POST', path, headers = {}, body = '' }: Sent): Promise<Said> {
    return new Promise((resolve, reject) => {
      const sent = request({ port: gateway.port, method, path, headers, agent: false }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (piece: string) => {
          text += piece;
        });
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }));
      });
      // A body that is too large is answered before all of it was sent.
      sent.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EPIPE') reject(error);
      });
      sent.end(body);
    });
  }

  for (const api of clientApis) {
    for (const slug of [api.native, api.other]) {
      describe(`${api.name} before ${slug}`, () => {
        const text = JSON.stringify(api.body(false));
        /** The body with further members. */
        const and = (...members: string[]): string => text.replace(/\}$/, `,${members.join(',')}}`);
        const knob = knobs[api.format]!;

        const post = (body: string | Buffer, more: Sent = {}): Promise<Said> =>
          send({
            path: api.path(false),
            body,
            ...more,
            headers: {
              'content-type': 'application/json',
              'content-length': String(Buffer.byteLength(body)),
              'x-gateway-api-key': gateway.workspaceKey,
              'x-gateway-provider': `@${slug}`,
              ...more.headers,
            },
          });

        /** Refused in the client's shape, in words that give nothing away, and nobody was asked. */
        function expectRefused({ status, text: said }: Said, wanted: number): void {
          expect(status, said).to.equal(wanted);
          expect(api.isError(JSON.parse(said), status), said).to.equal(true);
          expect(said).to.not.match(/\.[jt]s:\d|node_modules|127\.0\.0\.1/);
          expect(provider.requests).to.have.length(0);
        }

        const malformed: Readonly<Record<string, string | Buffer>> = {
          nothing: '',
          'a trailing comma': and('').replace(',}', ',}'),
          'a comment': `${text} // said`,
          'single quotes': text.replaceAll('"', "'"),
          NaN: and('"seed":NaN'),
          Infinity: and('"seed":-Infinity'),
          'UTF-16': Buffer.from(text, 'utf16le'),
          latin1: Buffer.from(text.replace('Hello', 'H\u00e9llo'), 'latin1'),
          'a megabyte of [': '['.repeat(1_000_000),
          '65 levels': and(`"x":${'['.repeat(65)}${']'.repeat(65)}`),
          'a million objects': and(`"x":[${'{},'.repeat(1_000_000)}{}]`),
          'a list': `[${text}]`,
          'a bare string': '"Hello"',
        };
        for (const [name, body] of Object.entries(malformed))
          it(`${name}: 400`, async () => expectRefused(await post(body), 400));

        it('what is larger than a body may be: 413', async () => {
          const long = 'x'.repeat(2 * bodyLimit);
          expectRefused(await post(and(`"x":"${long}"`)), 413);
          const picture = knob.picture(`data:image/png;base64,${'A'.repeat(2 * bodyLimit)}`);
          expectRefused(await post(JSON.stringify({ ...api.body(false), [api.messages]: picture })), 413);
        });

        const coded: Readonly<Record<string, readonly [string, Buffer]>> = {
          gzip: ['gzip', gzipSync(text)],
          'a bomb': ['gzip', zeros],
          'gzip in gzip': ['gzip, gzip', gzipSync(gzipSync(text))],
          'a thousand codings': [Array(1000).fill('gzip').join(','), gzipSync(text)],
          'a coding that there is not': ['x-none', Buffer.from(text)],
        };
        for (const [name, [coding, body]] of Object.entries(coded))
          it(`a body coded as ${name}: 415`, async () =>
            expectRefused(await post(body, { headers: { 'content-encoding': coding } }), 415));

        it('keys of prototypes are keys like any other', async () => {
          const hostile = and(
            '"__proto__":{"polluted":1}',
            '"constructor":{"prototype":{"polluted":1}}',
            '"toString":1',
          );
          for (let i = 0; i < 2; i++) {
            const answer = await post(hostile);
            expect(answer.status, answer.text).to.be.oneOf([200, 400]);
            expect(answer.text).to.not.include('polluted');
          }
          expect((await post(text)).status).to.equal(200);
        });

        it('odd numbers go through whole, or are refused; they break nothing', async () => {
          const numbers = [
            '1e400',
            '-1e400',
            '-0',
            '1.0',
            '5.5',
            '"5"',
            'true',
            '0',
            '-1',
            '129',
            '1e9',
            '9007199254740993',
            '[]',
            '{}',
          ];
          const bodies = numbers.flatMap((value) => [
            and(knob.limit(value)),
            ...(knob.count === null ? [] : [and(knob.count(value))]),
            and(`"temperature":${value}`, `"top_p":${value}`, `"seed":${value}`, `"logit_bias":${value}`),
            and(`"stream":${value}`),
          ]);
          if (knob.stop !== null)
            for (const stop of ['5', '["a","b","c","d","e"]', '[5]', '[""]', '[null]', '{}'])
              bodies.push(and(knob.stop(stop)));
          for (const body of bodies) {
            const { status, text: said } = await post(body);
            expect(status, `${body}: ${said}`).to.be.oneOf([200, 400]);
            if (status === 400) expect(api.isError(JSON.parse(said), 400), said).to.equal(true);
          }
        });

        it('odd conversations are refused or asked, never an error of the gateway’s', async () => {
          const turns = (value: unknown): string =>
            JSON.stringify({ ...api.body(false), [api.messages]: value });
          const [turn] = api.body(false)[api.messages] as readonly object[];
          for (const conversation of [
            [],
            [null],
            [1],
            [[]],
            ['x'],
            {},
            'x',
            5,
            null,
            [{}],
            [{ ...turn, role: 'nobody' }],
            [{ ...turn, role: 5 }],
            [{ role: 'user' }],
            knob.picture('data:text/html;base64,PGI+'),
            knob.picture('data:image/png;base64,%%%'),
          ]) {
            const { status, text: said } = await post(turns(conversation));
            expect(status, `${JSON.stringify(conversation)}: ${said}`).to.be.oneOf([200, 400]);
            if (status === 400) expect(api.isError(JSON.parse(said), 400), said).to.equal(true);
          }
          const crowd = await post(turns(Array(50_000).fill(turn)));
          expect(crowd.status, crowd.text.slice(0, 300)).to.be.oneOf([200, 400, 413]);
        });

        it('of equal keys the last one counts', async () => {
          const answer = await post(text.replace('{', `{"${api.messages}":[],`));
          expect(answer.status, answer.text).to.equal(200);
        });

        it('a member of another API’s format replaces none of its own', async () => {
          const foreign = [
            '"messages":[{"role":"user","content":"Hidden"}]',
            '"contents":[{"role":"user","parts":[{"text":"Hidden"}]}]',
            '"input":"Hidden"',
          ].filter((each) => !each.startsWith(`"${api.messages}"`));
          if (!text.includes('"stream"'))
            foreign.push('"stream":true', '"stream_options":{"include_usage":true}');
          const answer = await post(and(...foreign));
          expect(answer.status, answer.text).to.be.oneOf([200, 400]);
          expect(answer.text).to.not.include('Hidden');
          if (answer.status === 200) expect(answer.text).to.include(api.said);
        });

        it('what is reflected or made into a header cannot begin another', async () => {
          const config = (more: object): Sent => ({
            headers: {
              'x-gateway-provider': '',
              'x-gateway-config': JSON.stringify({ provider: `@${slug}`, ...more }),
            },
          });
          for (const more of [
            { override_params: { model: 'a\r\nSet-Cookie: x=1' } },
            { custom_host: `${provider.url}/v1\r\nx-evil: 1` },
            { forward_headers: ['x-a\r\nx-evil'] },
            { api_key: 'sk\r\nx-evil: 1' },
          ]) {
            const { status, headers } = await post(text, config(more));
            expect(status, JSON.stringify(more)).to.be.within(200, 499);
            expect(headers['set-cookie']).to.equal(undefined);
            for (const sent of provider.requests) expect(sent.headers).to.not.have.property('x-evil');
          }
        });

        it('keys that come twice, or with something after them, are invalid', async () => {
          for (const key of [
            `${gateway.workspaceKey}x`,
            `x${gateway.workspaceKey}`,
            `${gateway.workspaceKey} ${gateway.workspaceKey}`,
            `${gateway.workspaceKey}\u00e4x`,
            gateway.workspaceKey.toUpperCase(),
            '',
          ])
            expectRefused(await post(text, { headers: { 'x-gateway-api-key': key } }), 401);
          const twice = await post(text, {
            headers: { 'x-gateway-api-key': [gateway.workspaceKey, 'gw_ws_nobody'] },
          });
          expectRefused(twice, 400);
          expect(twice.headers['x-gateway-request-id']).to.be.a('string');
        });

        it('metadata that is none is refused or left out', async () => {
          for (const value of [
            '{',
            '[]',
            '"x"',
            '5',
            '{"__proto__":{"a":1}}',
            `{"a":"${'x'.repeat(33_000)}"}`,
          ]) {
            const { status, text: said } = await post(text, { headers: { 'x-gateway-metadata': value } });
            expect(status, `${value.slice(0, 20)}: ${said}`).to.be.oneOf([200, 400]);
          }
        });

        it('a config’s own target comes before a virtual key, and that before a provider; who is stored needs no key', async () => {
          const elsewhere = slug === 'gemini' ? 'openai' : 'gemini';
          const asked = async (headers: Record<string, string>): Promise<string | undefined> => {
            const answer = await post(text, { headers });
            expect(answer.status, answer.text).to.equal(200);
            return String(answer.headers['x-gateway-provider']);
          };
          const named = { openai: 'openai', anthropic: 'anthropic', gemini: 'google' };
          const config = JSON.stringify({ provider: `@${slug}` });
          const both = { 'x-gateway-virtual-key': elsewhere, 'x-gateway-provider': `@${elsewhere}` };
          expect(await asked({ ...both, 'x-gateway-config': config })).to.equal(named[slug as 'openai']);
          expect(
            await asked({ 'x-gateway-virtual-key': slug, 'x-gateway-provider': `@${elsewhere}` }),
          ).to.equal(named[slug as 'openai']);
        });

        it('hop-by-hop names take no key away and go no further', async () => {
          const answer = await post(text, {
            headers: {
              connection: 'close, x-gateway-api-key, authorization',
              'keep-alive': 'timeout=9',
              te: 'trailers',
            },
          });
          expect(answer.status, answer.text).to.equal(200);
          const [sent] = provider.requests;
          expect(sent?.headers).to.not.have.any.keys('keep-alive', 'te', 'x-gateway-api-key');
        });

        it('odd encodings, ranges, validators and cookies change nothing', async () => {
          const answer = await post(text, {
            headers: {
              'accept-encoding': 'br;q=x, *;q=0, , gzip',
              range: `bytes=${Array.from({ length: 1000 }, (_, i) => `${i}-${i}`).join(',')}`,
              'if-none-match': '*',
              'if-range': '"x"',
              cookie: Array.from({ length: 1000 }, (_, i) => `c${i}=${i}`).join('; '),
            },
          });
          expect(answer.status, answer.text).to.equal(200);
          expect(answer.text).to.include(api.said);
          expect(provider.requests[0]?.headers).to.not.have.any.keys('cookie', 'range', 'if-none-match');
        });

        it('other spellings of the path reach no provider', async () => {
          const path = api.path(false);
          for (const odd of [
            `/x/..${path}/../../admin`,
            `/v1/../admin`,
            `${path}%00`,
            `${path}%0d%0a`,
            `${path}/..%2f..%2fadmin`,
            `${path}/..%5cadmin`,
            `${path}\\..\\admin`,
            `/v1/@evil`,
            `//evil.example${path}`,
            `${path}/${'x'.repeat(8 * 1024)}`,
          ]) {
            const { status, text: said } = await post(text, { path: odd });
            expect(status, `${odd.slice(0, 60)}: ${said.slice(0, 200)}`).to.be.within(400, 499);
            for (const sent of provider.requests)
              expect(sent.path, odd)
                .to.match(/^\/v1(beta)?\//)
                .and.not.include('..');
          }
        });

        it('a key in the query is not used, and is not passed on', async () => {
          const path = `${api.path(false)}${api.path(false).includes('?') ? '&' : '?'}api_key=sk-of-mine`;
          const answer = await post(text, { path });
          expect(answer.status, answer.text).to.be.oneOf([200, 400]);
          for (const sent of provider.requests) {
            expect(sent.path).to.not.include('sk-of-mine');
            expect(JSON.stringify(sent.headers)).to.not.include('sk-of-mine');
          }
        });

        it('other methods are refused, and no header makes them another', async () => {
          for (const method of ['PATCH', 'PUT', 'OPTIONS', 'DELETE', 'GET']) {
            const answer = await post(method === 'GET' ? '' : text, {
              method,
              headers: { 'x-http-method-override': 'POST' },
            });
            expect(answer.status, `${method}: ${answer.text}`).to.be.oneOf([404, 405]);
          }
          expect(provider.requests).to.have.length(0);
        });
      });
    }
  }

  describe('vectors', () => {
    const call = (path: string, body: object): Promise<Said> =>
      send({
        path,
        body: JSON.stringify(body),
        headers: {
          'content-type': 'application/json',
          'x-gateway-api-key': gateway.workspaceKey,
          'x-gateway-provider': path.startsWith('/v1beta/') ? '@gemini' : '@openai',
        },
      });

    it('dimensions of which there are none, or no whole number, are refused', async () => {
      for (const value of [0, -1, 1.5, '5', null, true]) {
        const openai = await call('/v1/embeddings', {
          model: 'text-embedding-3-small',
          input: 'Hello',
          dimensions: value,
        });
        expect(openai.status, `${value}: ${openai.text}`).to.equal(400);
        expect((JSON.parse(openai.text) as { error: { param: unknown } }).error.param).to.equal('dimensions');
      }
      for (const value of [0, -1, 1.5, '5', true]) {
        const gemini = await call('/v1beta/models/gemini-embedding-001:embedContent', {
          content: { parts: [{ text: 'Hello' }] },
          outputDimensionality: value,
        });
        expect(gemini.status, `${value}: ${gemini.text}`).to.equal(400);
        expect(gemini.text).to.include('outputDimensionality');
      }
      expect(provider.requests).to.have.length(0);
    });
  });

  describe('paths of the administration and of providers', () => {
    const ask = (path: string, method = 'GET'): Promise<Said> =>
      send({
        path,
        method,
        body: method === 'GET' ? '' : '{}',
        headers: {
          'content-type': 'application/json',
          'x-gateway-api-key': gateway.workspaceKey,
          'x-gateway-provider': '@openai',
        },
      });

    /** Answers and errors of the administration have another shape than those of a provider or of the data plane. */
    const ofAdmin = /"(?:success|errorCode|total|object":"list)"/;

    it('naming a provider takes no path of the administration there', async () => {
      for (const path of [
        '/v1/api-keys',
        '/v1/configs',
        '/v1/providers',
        '/v1/audit-logs',
        '/v1/virtual-keys/x',
      ])
        for (const method of ['GET', 'DELETE']) {
          const { status, text } = await ask(path, method);
          expect(text, `${method} ${path}: ${status}`).to.match(ofAdmin);
        }
      expect(provider.requests).to.have.length(0);
    });

    it('a path of the administration after a provider’s, in any spelling, does not lead to it', async () => {
      for (const path of [
        '/v1beta/api-keys',
        '/v1/openai/api-keys',
        '/v1/openai/v1/api-keys',
        '/v1/@openai/api-keys',
        '/v1/openai/../api-keys',
        '/v1/openai/..;/api-keys',
        '/v1/openai/%2e%2e/api-keys',
        '/v1/openai//v1/api-keys',
        '/v1//api-keys',
        '/v1/./api-keys',
        '/V1/api-keys',
        '/v1/API-KEYS',
        '/v1/api%2dkeys',
        '/v1/api-keys%2f',
        '/v1/api-keys;x',
      ]) {
        const { text } = await ask(path);
        expect(text, path).to.not.match(ofAdmin);
      }
      for (const { path } of provider.requests) expect(path).to.not.match(/\.\.|%2e|\/\//i);
    });
  });

  describe('models in the address of the Gemini API', () => {
    const call = (model: string): Promise<Said> =>
      send({
        path: `/v1beta/models/${model}:generateContent`,
        body: JSON.stringify({ contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] }),
        headers: {
          'content-type': 'application/json',
          'x-goog-api-key': gateway.workspaceKey,
          'x-gateway-provider': '@gemini',
        },
      });

    for (const model of [
      '..',
      '%2e%2e',
      '..%2f..%2fadmin',
      'a%2f..%2fb',
      'a%2F%2Fb',
      '%00',
      'a%0d%0ab',
      '%',
    ]) {
      it(`${model} is refused`, async () => {
        const { status } = await call(model);
        expect(status).to.be.within(400, 499);
        expect(provider.requests).to.have.length(0);
      });
    }

    it('a name with colons is one name', async () => {
      const { status, text } = await call('a:b:c');
      expect(status, text).to.equal(200);
      expect((JSON.parse(text) as { modelVersion: string }).modelVersion).to.equal('a:b:c');
    });
  });
});
