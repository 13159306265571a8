import { expect } from 'chai';
import type { HeaderList } from '../../src/common/http/headers.js';
import type { ProviderRecord } from '../../src/common/ipc/records.js';
import { PreparedRequest } from '../../src/data-plane/upstream/prepared-request.js';
import { requestHead } from '../../src/data-plane/upstream/request-head.js';
import type { UpstreamRequest } from '../../src/data-plane/upstream/upstream.js';
import { type Ask, type Asked, BareWorker, soon } from '../support/bare-worker.js';

const sorted = (headers: HeaderList): string[] =>
  headers.flatMap((text, i) => (i % 2 === 0 ? [`${text}: ${headers[i + 1]}`] : [])).sort();

/** What a provider sees of a request, and what its connection is chosen by. */
const seen = ({ method, url, headers, body, tenant, account, callerChosen }: UpstreamRequest) => ({
  method,
  url,
  headers: sorted(headers),
  body: String(body),
  tenant,
  account,
  callerChosen,
});

const headerOf = ({ request: { headers } }: Asked, name: string): string | undefined =>
  headers.find((_, i) => i % 2 === 1 && headers[i - 1] === name);

describe('calls of one target', () => {
  let worker: BareWorker;
  let key: string;

  beforeEach(async () => {
    worker = await new BareWorker().start();
    key = worker.key();
    worker.addProvider('s', {});
  });
  afterEach(() => worker.close());

  /** The provider's answer does not matter: its error ends the request. */
  const asked = async (how: Ask, who = key): Promise<Asked> => {
    const before = worker.asked.length;
    const client = worker.ask(who, { stream: false, ...how });
    await soon('the provider is asked', () => worker.asked.length > before || client.ended);
    const asked = worker.asked[before];
    if (asked === undefined) throw new Error(client.text);
    asked.handler.head(400, ['content-type', 'application/json']);
    asked.handler.data(Buffer.from('{"error":{"message":"No."}}'));
    asked.handler.end();
    await soon('it is answered', () => client.ended);
    return asked;
  };

  const changed = (slug: string, record: Partial<ProviderRecord>): void => {
    worker.addProvider(slug, record);
    worker.report({ kind: 'provider', workspace: 'ws', name: slug });
  };

  const chat = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] };
  const records: Readonly<Record<string, Partial<ProviderRecord>>> = {
    'an API key': {},
    'a base URL and headers': {
      baseUrl: 'https://models.test/v1',
      headers: ['x-team', 'a', 'openai-beta', 'stored'],
    },
    'a base URL of the workspace': { baseUrl: 'https://models.test/v1', hostTrusted: false },
    fields: { fields: { openai_organization: 'org-1', openai_project: 'proj-1' } },
    'no key': { credential: null, baseUrl: 'http://models.test' },
    'another format': { provider: 'anthropic' },
    'an OAuth token': { provider: 'anthropic', credential: 'sk-ant-oat-1' },
  };
  const configs = {
    'a provider': { provider: '@s' },
    'a virtual key': { virtual_key: 's' },
    'rules for bodies': { provider: '@s', override_params: { temperature: 0 }, drop_params: ['user'] },
    'another model': { provider: '@s', override_params: { model: 'gpt-4o' } },
    'a default model': { provider: '@s', default_params: { model: 'gpt-4o' } },
    'fields of its own': { provider: '@s', openai_organization: 'org-2' },
    'forwarded headers': { provider: '@s', forward_headers: ['x-mine'] },
  };
  const asks: Readonly<Record<string, Ask>> = {
    'a chat': { body: chat },
    'a stream': { body: { ...chat, stream: true } },
    'a chat with headers that go on': {
      headers: ['openai-beta', 'one', 'openai-beta', 'two', 'openai-organization', 'org-3', 'x-mine', '1'],
      body: chat,
    },
    'a version that goes on': { headers: ['anthropic-version', '2026-10-21'], body: chat },
    'messages of another format': { path: '/v1/messages', body: { ...chat, max_tokens: 5 } },
    'a model with a provider in its name': { body: { ...chat, model: '@s/gpt-5' } },
  };

  for (const [recordName, record] of Object.entries(records)) {
    it(`are the same as the first one, to a provider with ${recordName}`, async () => {
      let prepared = 0;
      for (const [configName, config] of Object.entries(configs)) {
        for (const [askName, how] of Object.entries(asks)) {
          const name = `${configName}, ${askName}`;
          const ask = { ...how, config: JSON.stringify(config) };
          changed('s', record);
          const first = await asked(ask);
          const second = await asked(ask);
          const third = await asked(ask);
          expect(seen(second.request), name).to.deep.equal(seen(first.request));
          expect(seen(third.request), name).to.deep.equal(seen(first.request));
          if (third.request.prepared) prepared += 1;
        }
      }
      expect(prepared).to.be.at.least(10);
    });
  }

  it('have the credential that is stored when they are sent', async () => {
    worker.addProvider('s', { credential: 'sk-1' });
    const how = { config: '{"provider":"@s"}' };
    for (const _ of [1, 2]) expect(headerOf(await asked(how), 'authorization')).to.equal('Bearer sk-1');
    changed('s', { credential: 'sk-2' });
    for (const _ of [1, 2]) {
      const { request } = await asked(how);
      expect(headerOf({ request } as Asked, 'authorization')).to.equal('Bearer sk-2');
      expect(request.account).to.equal('sk-2');
    }
  });

  it('have the credential of their own workspace where several send the same config', async () => {
    const config = '{"provider":"@s"}';
    const keys = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => [name, worker.key({ workspaceId: name })]);
    for (const [name, of] of keys) {
      worker.addProvider('s', { credential: `sk-${name}`, workspaceId: name! });
      await asked({ config }, of);
    }
    for (const _ of [1, 2]) {
      for (const [name, of] of keys) {
        const one = await asked({ config }, of);
        expect(headerOf(one, 'authorization')).to.equal(`Bearer sk-${name}`);
        expect(one.request.account).to.equal(`sk-${name}`);
        expect(one.request.tenant).to.equal(name);
      }
    }
  });

  it('ask each for its own model', async () => {
    const how = { config: '{"provider":"@s"}' };
    for (const model of ['gpt-4o', 'gpt-4o', 'gpt-5', '@other/gpt-4o', 'gpt-4o', 'm'.repeat(1000), 'gpt-5']) {
      worker.settled.length = 0;
      const { request } = await asked({ ...how, body: { ...chat, model } });
      const bare = model.replace('@other/', '');
      expect(JSON.parse(String(request.body)).model).to.equal(bare);
      await soon('it is settled', () => worker.settled.length > 0);
      expect(worker.settled[0]!.attempts[0]!.model).to.equal(bare);
    }
  });

  it('are refused once their provider is gone or restricted to other models', async () => {
    const refusals: readonly (readonly [Partial<ProviderRecord>, number])[] = [
      [{ models: { others: false, named: [] } }, 412],
      [{ provider: 'none' }, 400],
    ];
    for (const [record, status] of refusals) {
      changed('s', {});
      for (const _ of [1, 2]) await asked({ config: '{"provider":"@s"}' });
      changed('s', record);
      const client = worker.ask(key, { stream: false, config: '{"provider":"@s"}' });
      await soon('it is answered', () => client.ended);
      expect(client.status, client.text).to.equal(status);
    }
  });

  it('have the changes of a hook each, and not those made to another', async () => {
    const { chain } = worker.pipeline;
    let count = 0;
    Object.assign(chain, {
      attempt: [
        (_x: unknown, call: { url: string; headers: HeaderList }) => {
          count += 1;
          if (count % 2 === 0) return;
          call.headers.push('authorization-more', `secret-of-a-hook-${count}`);
          call.headers[1] = 'application/json; charset=utf-8';
          call.url += `?count=${count}`;
        },
      ],
    });
    const how = { config: '{"provider":"@s"}' };
    for (let i = 1; i <= 6; i++) {
      const one = await asked(how);
      const isChanged = i % 2 === 1;
      expect(one.request.url.endsWith(`?count=${i}`)).to.equal(isChanged);
      expect(headerOf(one, 'authorization-more')).to.equal(isChanged ? `secret-of-a-hook-${i}` : undefined);
      expect(headerOf(one, 'content-type')).to.equal(
        isChanged ? 'application/json; charset=utf-8' : 'application/json',
      );
      if (i > 1) expect(one.request.prepared === null).to.equal(isChanged);
    }
  });

  it('keep their credential from the client, whatever a hook adds', async () => {
    const credential = 'sk-proj-0123456789abcdefghij';
    worker.addProvider('s', { credential });
    for (let i = 0; i < 4; i++) {
      if (i === 3)
        Object.assign(worker.pipeline.chain, {
          attempt: [
            (_x: unknown, call: { headers: HeaderList }) =>
              void call.headers.push('cookie', 'c-0123456789abcdef'),
          ],
        });
      const [client, { handler }] = await worker.asking(key, { stream: false, config: '{"provider":"@s"}' });
      handler.head(400, ['content-type', 'application/json']);
      handler.data(Buffer.from(`{"error":{"message":"No ${credential} or c-0123456789abcdef."}}`));
      handler.end();
      await soon('it is answered', () => client.ended);
      expect(client.text).not.to.include(credential);
      expect(client.text.includes('c-0123456789abcdef')).to.equal(i < 3);
    }
  });
});

describe('a prepared request', () => {
  const headers = ['content-type', 'application/json', 'content-length', '3', 'x-a', 'ä', 'host', 'other'];

  it('has the head that is made for each request, for every length, method and host', () => {
    const prepared = new PreparedRequest('https://models.test:8443/v1/chat?a=b#c', headers);
    expect(prepared.origin).to.equal('https://models.test:8443');
    for (const host of ['models.test:8443', 'other.test'])
      for (const method of ['POST', 'PUT', 'DELETE', 'GET', 'HEAD', 'POST'])
        for (const length of [1, 1, 20_000])
          expect(prepared.head(method, host, length, prepared.headers)).to.deep.equal(
            requestHead({ method, path: '/v1/chat?a=b', host, length }, headers),
          );
  });

  it('has headers that were added for one request, and not for the next', () => {
    const prepared = new PreparedRequest('https://models.test/v1', headers);
    for (const value of ['1', '2']) {
      const all = [...headers, 'traceparent', value];
      const { text } = prepared.head('POST', 'models.test', 7, all)!;
      const whole = requestHead({ method: 'POST', path: '/v1', host: 'models.test', length: 7 }, all)!;
      expect(text).to.equal(whole.text);
    }
    expect(prepared.head('POST', 'models.test', 7, [...headers, 'x', 'a\r\nb'])).to.equal(null);
  });

  it('has none where HTTP does not allow it', () => {
    const bad = new PreparedRequest('https://models.test/v1', ['x-a', 'a\r\nb']);
    for (const _ of [1, 2]) expect(bad.head('POST', 'models.test', 5, bad.headers)).to.equal(null);
    const badPath = new PreparedRequest('https://models.test/v 1', []);
    expect(badPath.head('POST', 'models.test', 5, [])).to.equal(null);
  });
});
