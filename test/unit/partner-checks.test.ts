// lane: not quick
import { expect } from 'chai';
import type {
  CheckParameters,
  CheckResult,
  RemoteCheck,
  RemoteContext,
} from '../../plugins/guardrails/check.js';
import { checks } from '../../plugins/guardrails/checks/index.js';
import { partnerChecks } from '../../plugins/guardrails/checks/partners/index.js';
import { slicesOf } from '../../plugins/guardrails/checks/partners/partner.js';
import { Secret } from '../../src/common/access/secret.js';
import { guardrailChecks } from '../../src/common/guardrails/guardrail-checks.js';
import { partnerOfCheck, partners } from '../../src/common/guardrails/partners.js';
import {
  type Answer,
  type Asked,
  type CheckService,
  filledParameters,
  remoteContext,
  startCheckService,
} from '../support/check-service.js';
import { partnerExamples } from '../support/partner-examples.js';

const claims = Buffer.from('{"opaque":{"apex-url":"https://apex.example.com"}}').toString('base64url');
/** Of partners that have no address of their own, or one in their key. */
const ofPartner: Readonly<Record<string, object>> = {
  'crowdstrike-aidr': { baseUrl: 'https://aidr.example.com' },
  acuvity: { apiKey: `h.${claims}.s` },
};
/** The plugin of a partner: every credential that it may need. */
const credentials = {
  ...{
    apiKey: 'key-of-the-partner',
    resourceName: 'ours',
    region: 'eu-central-1',
    domain: 'aws.us.pangea.cloud',
  },
  ...{ accessKeyId: 'AKIAEXAMPLE', accessKeySecret: 'secret-of-aws', application: 'shop', projectId: 'p1' },
  apiDomain: 'eu.prompt.security',
};

describe('checks of partners', () => {
  let answer: (asked: Asked) => Answer;
  let service: CheckService;

  before(async () => {
    service = await startCheckService((asked) => answer(asked));
  });
  beforeEach(() => {
    service.asked.length = 0;
    answer = () => ({ status: 500 });
  });
  after(() => service.close());

  /** A request whose calls reach the service, whatever host they are for. `hosts`: those that were asked. */
  function contextOf(
    id: string,
    texts: readonly string[],
    own: Partial<RemoteContext>,
    hosts: string[],
  ): RemoteContext {
    const base = remoteContext();
    const all = { ...credentials, ...ofPartner[partnerOfCheck(id)!] };
    const given = Object.entries(all).map(([name, text]) => [name, new Secret(text)]);
    return {
      ...base,
      texts,
      text: texts.join('\n'),
      body: { messages: [{ role: 'user', content: 'Who is it?' }] },
      partner: Object.fromEntries(given),
      ...own,
      send(request) {
        const url = new URL(request.url);
        hosts.push(url.origin);
        return base.send({ ...request, url: `${service.url}${url.pathname}${url.search}` });
      },
    };
  }

  async function run(
    id: string,
    parameters: CheckParameters,
    texts: readonly string[],
    own: Partial<RemoteContext> = {},
  ): Promise<CheckResult & { readonly hosts: readonly string[] }> {
    const hosts: string[] = [];
    const check = checks.get(id) as RemoteCheck;
    const result = await check.run(contextOf(id, texts, own, hosts), filledParameters(id, parameters));
    return { ...result, hosts };
  }

  it('are there for every id of a partner, and each has an example', () => {
    const ids = [...guardrailChecks.keys()].filter((id) => partnerOfCheck(id) !== undefined);
    expect(partnerChecks.map(({ id }) => id)).to.have.members(ids);
    expect([...new Set(partnerExamples.map(({ id }) => id))]).to.have.members(ids);
    for (const { id, partner } of partnerChecks) expect(partners.has(partner!), id).to.equal(true);
  });

  for (const example of partnerExamples) {
    const {
      id,
      phase = guardrailChecks.get(id)!.phases[0]!,
      parameters = {},
      texts = ['Hello, Ann'],
    } = example;
    describe(`${id}${example.about === undefined ? '' : ` (${example.about})`}`, () => {
      it('asks in the form of the partner, and reads its verdict', async () => {
        for (const [{ reply, transformed, data }, verdict] of [
          ...example.good.map((one) => [one, true] as const),
          ...example.bad.map((one) => [one, false] as const),
        ]) {
          service.asked.length = 0;
          answer = (asked) => ({ body: typeof reply === 'function' ? reply(JSON.parse(asked.body)) : reply });
          const result = await run(id, parameters, texts, { phase });
          const label = JSON.stringify([result, service.asked.map(({ body }) => body)]);
          expect(result.error, label).to.equal(undefined);
          expect(result.verdict, label).to.equal(verdict);
          expect(result.transformed, label).to.deep.equal(transformed);
          if (data !== undefined) expect(result.data, label).to.deep.include(data);
          expect([...new Set(result.hosts)], label).to.deep.equal([example.host]);
          const [{ path, method, headers, body }] = service.asked as [Asked];
          expect(`${method} ${path}`).to.equal(`POST ${example.path}`);
          expect(headers).to.include({ 'content-type': 'application/json', ...example.headers });
          if (example.body !== undefined) expect(JSON.parse(body)).to.deep.include(example.body);
          for (const text of texts.filter((one) => one !== ''))
            expect(JSON.stringify(result.data), label).to.not.include(text);
        }
      });
    });
  }

  const one = [...new Map(partnerExamples.map((example) => [example.id, example])).values()];
  const each = one.map(({ id, phase, parameters = {}, texts = ['Hello, Ann'] }) => ({
    ...{ id, parameters, texts },
    own: { phase: phase ?? guardrailChecks.get(id)!.phases[0]! },
  }));

  it('err where the partner answers with an error, or in another form, and never show its answer', async () => {
    for (const wrong of [
      { status: 401, body: { message: 'Hello, Ann' } },
      { status: 500, body: 'Hello, Ann' },
      { body: 'Hello, Ann' },
      { body: { other: 'Hello, Ann' } },
      { body: [] },
    ]) {
      answer = () => wrong;
      for (const { id, parameters, texts, own } of each) {
        const result = await run(id, parameters, texts, own);
        expect(result.error, `${id} ${JSON.stringify(wrong)}`).to.be.an('object');
        expect(result.transformed, id).to.equal(undefined);
        expect(JSON.stringify(result), id).to.not.include('Ann').and.not.include(credentials.apiKey);
      }
    }
  });

  it('report an error where a 200 lacks the requested result', async () => {
    for (const [id, body] of [
      ['walledai.walledprotect', { success: true, data: {} }],
      ['pangea.textGuard', { status: 'Success', result: {} }],
    ] as const) {
      answer = () => ({ body });
      expect((await run(id, {}, ['Hello, Ann'])).error, id).to.be.an('object');
    }
  });

  it('err where the partner does not answer', async () => {
    for (const { id, parameters, texts, own } of each) {
      const check = checks.get(id) as RemoteCheck;
      const send = (): Promise<never> => Promise.reject(new Error('no answer'));
      const result = await check.run(
        { ...contextOf(id, texts, own, []), send },
        filledParameters(id, parameters),
      );
      expect(result.error?.message, id).to.equal('no answer');
    }
  });

  it('send nothing where there is no text', async () => {
    for (const { id, parameters, own } of each)
      expect((await run(id, parameters, ['', ' \n'], own)).verdict, id).to.equal(true);
    expect(service.asked).to.deep.equal([]);
  });

  it('send no texts that are longer than the event loop could write in time', async () => {
    const { error } = await run('lasso.classify', {}, ['x'.repeat(512 * 1024 + 1)]);
    expect(error?.message).to.include('more than 524288 characters');
    expect(service.asked).to.deep.equal([]);
  });

  it('call the address of the plugin in place of the usual host, where it has one', async () => {
    for (const { id, parameters, texts, own } of each) {
      service.asked.length = 0;
      const all = {
        ...credentials,
        ...ofPartner[partnerOfCheck(id)!],
        baseUrl: 'https://eu.example.com/sub/',
      };
      const given = Object.entries(all).map(([name, text]) => [name, new Secret(text)]);
      const { hosts } = await run(id, parameters, texts, { ...own, partner: Object.fromEntries(given) });
      expect([...new Set(hosts)], id).to.deep.equal(['https://eu.example.com']);
      const usual = one.find((example) => example.id === id)!.path;
      expect(service.asked[0]!.path, id).to.equal(`/sub${usual}`);
    }
  });

  it('name the credential that is missing', async () => {
    const { error } = await run('lasso.classify', {}, ['Hello'], { partner: {} });
    expect(error?.message).to.equal('The plugin of Lasso Security has no apiKey.');
  });

  it('of Bedrock are signed by the keys of the plugin', async () => {
    answer = () => ({ body: { action: 'NONE', outputs: [], assessments: [] } });
    await run('bedrock.guard', { guardrailId: 'g1', guardrailVersion: '1' }, ['Hello']);
    expect(service.asked[0]!.headers.authorization).to.match(
      /^AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE\/\d{8}\/eu-central-1\/bedrock\/aws4_request, SignedHeaders=content-type;host;/,
    );
    expect(JSON.stringify(service.asked)).to.not.include('secret-of-aws');
  });

  it('of Azure sign in with Microsoft Entra, once', async () => {
    const texts = { resourceName: 'ours', tenantId: 't1', clientId: 'c', clientSecret: 's' };
    const partner = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, new Secret(text)]));
    answer = ({ path }) => ({
      body: path.startsWith('/t1/')
        ? { access_token: 'token-of-entra', expires_in: 3600 }
        : { userPromptAnalysis: { attackDetected: false } },
    });
    for (let i = 0; i < 2; i++)
      expect((await run('azure.shieldPrompt', {}, ['Hello'], { partner })).verdict).to.equal(true);
    expect(service.asked.map(({ path }) => path.split('?')[0])).to.deep.equal([
      '/t1/oauth2/v2.0/token',
      ...['/contentsafety/text:shieldPrompt', '/contentsafety/text:shieldPrompt'],
    ]);
    expect(service.asked[0]!.body).to.include('grant_type=client_credentials').and.include('client_secret=s');
    expect(service.asked[2]!.headers.authorization).to.equal('Bearer token-of-entra');
  });

  it('of Azure use the credentials of the service that they ask', async () => {
    const texts = { apiKey: 'a', resourceName: 'ours', 'pii.apiKey': 'b', 'pii.resourceName': 'lang' };
    const partner = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, new Secret(text)]));
    answer = () => ({ body: { results: { documents: [{ id: '0', redactedText: 'Hello', entities: [] }] } } });
    const { hosts, error } = await run('azure.pii', {}, ['Hello'], { partner });
    expect(error).to.equal(undefined);
    expect(hosts).to.deep.equal(['https://lang.cognitiveservices.azure.com']);
    expect(service.asked[0]!.headers['ocp-apim-subscription-key']).to.equal('b');
  });

  it('ask in slices about a text that is longer than the partner takes, and lose none of it', async () => {
    const text = 'word '.repeat(3000);
    answer = ({ body }) => ({
      body: {
        results: {
          documents: JSON.parse(body).analysisInput.documents.map(
            (document: { id: string; text: string }) => ({
              ...{ id: document.id, redactedText: document.text.replaceAll('word', '****') },
              entities: [{ category: 'Other' }],
            }),
          ),
        },
      },
    });
    const { transformed } = await run('azure.pii', { redact: true }, ['', text]);
    expect(transformed).to.deep.equal(['', text.replaceAll('word', '****')]);
    for (const whole of [text, 'x'.repeat(25_000), '😀'.repeat(7001), '']) {
      const slices = slicesOf(whole, 999);
      expect(slices.join('')).to.equal(whole);
      // Half a character would be replaced.
      for (const slice of slices)
        expect(Buffer.from(slice).toString() === slice && slice.length <= 999).to.equal(true);
    }
  });
});
