import { expect } from 'chai';
import type { Principal } from '../../src/common/access/principal.js';
import type { Endpoint } from '../../src/common/core/endpoint.js';
import { GatewayError } from '../../src/common/core/errors.js';
import { type ClientRequest, Exchange } from '../../src/common/core/exchange.js';
import { scanJson } from '../../src/common/json/json-scan.js';
import { createBodyReader } from '../../src/data-plane/endpoints/body-reader.js';
import { findEndpoint } from '../../src/data-plane/endpoints/table.js';
import { bodyReading } from '../../src/data-plane/pipeline/request/read-body.js';
import { RecurringBodies } from '../../src/data-plane/pipeline/request/recurring-bodies.js';

const caller = (organisationId: string): Principal => ({ organisationId }) as Principal;
const one = caller('one');

describe('bodies that come again', () => {
  let recurring: RecurringBodies;
  let read: (principal: Principal, text: string, path?: string, type?: string) => Exchange;

  beforeEach(() => {
    recurring = new RecurringBodies();
    const readBody = bodyReading(createBodyReader(), recurring, { exceeds: async () => null });
    read = (principal, text, path = '/v1/chat/completions', type = 'application/json') => {
      const endpoint: Endpoint = findEndpoint('POST', path);
      const headers = ['content-type', type];
      const request = { path, headers, bytes: Buffer.from(text), json: null };
      const x = new Exchange('x', endpoint, request as unknown as ClientRequest);
      x.principal = principal;
      void readBody(x);
      return x;
    };
  });

  const chat = '{"model":"m","stream":true,"messages":[{"role":"user","content":"Hello"}]}';

  it('are read once, with the same content', () => {
    const first = read(one, chat);
    recurring.keep(first);
    const again = read(one, chat);
    expect(again.request.json).to.equal(first.request.json);
    expect([again.modelAsked, again.streaming]).to.deep.equal(['m', true]);
  });

  it('are not scanned again, unless they have changed', () => {
    const { tokens } = scanJson(Buffer.from(chat));
    const first = read(one, chat);
    recurring.keep(first);
    const again = read(one, chat);
    expect([first.bodyTokens, again.bodyTokens]).to.deep.equal([tokens, tokens]);
    first.edit((body) => ({ ...body, seed: 1 }));
    again.edit({ model: 'm' }, Buffer.from('{"model":"m"}'));
    expect([first.bodyTokens, again.bodyTokens]).to.deep.equal([null, null]);
  });

  it('are read again where none is kept, or where a byte, the caller or the endpoint differs', () => {
    const first = read(one, chat);
    expect(read(one, chat).request.json).to.not.equal(first.request.json);
    recurring.keep(first);
    recurring.keep(read(caller('two'), '{"model":"m","messages":[{"role":"user","content":"x"}]}'));
    for (const other of [
      read(one, chat.replace('Hello', 'Hullo')),
      read(one, `${chat} `),
      read(caller('one'), chat),
      read(caller('two'), chat),
      read(one, chat, '/v1/messages/count_tokens'),
    ])
      expect(other.request.json).to.not.equal(first.request.json);
  });

  it('do not excuse a header that announces something else', () => {
    recurring.keep(read(one, chat));
    expect(() => read(one, chat, undefined, 'text/plain')).to.throw(GatewayError, /application\/json/);
  });
});
