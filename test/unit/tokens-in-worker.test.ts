import { expect } from 'chai';
import { KeyHasher } from '../../src/common/access/gateway-key.js';
import { isTokenForm } from '../../src/common/access/token-form.js';
import { tokensOf } from '../../src/common/ipc/messages.js';
import type { KeyRecord } from '../../src/common/ipc/records.js';
import { BareWorker, type Client, keyRecord } from '../support/bare-worker.js';
import { eventually } from '../support/gateway.js';

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
let serial = 0;
/** By its form alone: a data worker does not check signatures. */
const tokenText = (): string => `${part({ alg: 'RS256' })}.${part({ jti: ++serial })}.c2lnbmF0dXJl`;

describe('JSON web tokens in a data worker', () => {
  let worker: BareWorker;

  beforeEach(async () => {
    worker = await new BareWorker().start();
  });
  afterEach(() => worker.close());

  const accepted = (more: Partial<KeyRecord> = {}): string => {
    const text = tokenText();
    worker.tokens.set(text, keyRecord({ isToken: true, ...more }));
    return text;
  };
  const plain = { stream: false } as const;
  const ended = (client: Client) => eventually('it ends', async () => client.ended);
  const { organisationId } = keyRecord({});

  it('are looked up once, and again after a key of their organisation was removed', async () => {
    const [token, key] = [accepted(), worker.key()];
    for (let i = 0; i < 5; i++) await worker.asking(token, plain);
    expect(worker.lookups).to.equal(1);
    await worker.asking(key, plain);
    expect(worker.lookups).to.equal(2);
    worker.report(tokensOf('another organisation'));
    await worker.asking(token, plain);
    expect(worker.lookups).to.equal(2);
    worker.report(tokensOf(organisationId));
    await worker.asking(token, plain);
    // Running requests are asked about too, and share the answer. The key is not forgotten.
    expect(worker.lookups).to.equal(3);
    await worker.asking(key, plain);
    expect(worker.lookups).to.equal(3);
  });

  it('end the requests that run with them when they are no longer accepted', async () => {
    const [gone, kept, key] = [accepted(), accepted(), worker.key()];
    const [first] = await worker.streaming(gone);
    const [second, asked] = await worker.streaming(kept);
    const [third] = await worker.streaming(key);
    worker.tokens.delete(gone);
    worker.report(tokensOf(organisationId));
    await eventually('it ends', async () => first.ended && first.text.includes('"code":"key_revoked"'));
    asked.handler.data(Buffer.from('data: [DONE]\n\n'));
    asked.handler.end();
    await ended(second);
    expect(second.text).to.not.include('error');
    expect(third.ended).to.equal(false);
  });

  it('that are refused are asked for again, and the reason is in the answer', async () => {
    const token = tokenText();
    for (const [refused, status] of [
      ['03', 401],
      ['033', 401],
      ['permission_denied', 403],
      ['01', 401],
    ] as const) {
      worker.tokens.set(token, { refused, message: `Refused with ${refused}.` });
      const client = worker.ask(token, plain);
      await ended(client);
      expect([client.status, client.text.includes(`Refused with ${refused}.`)]).to.deep.equal([status, true]);
    }
    worker.tokens.set(token, keyRecord({ isToken: true }));
    const [client] = await worker.asking(token, plain);
    expect(client.ended).to.equal(false);
  });

  it('that have expired are refused with 01', async () => {
    const client = worker.ask(accepted({ expiresAt: Date.now() - 1 }), plain);
    await ended(client);
    expect([client.status, client.text.includes('Expired token')]).to.deep.equal([401, true]);
  });

  it('that fail over and over are refused without a look-up, and those that were accepted are not', async () => {
    const sender = { remoteAddress: '10.0.0.9' };
    const codeOf = async (token: string, from = sender): Promise<string> => {
      try {
        return (await worker.directory.key(`jwt-${'0'.repeat(64 - token.length)}${token}`, from, token))!
          .keyId;
      } catch (error) {
        return (error as { code: string }).code;
      }
    };
    worker.tokens.set('good', keyRecord({ isToken: true, keyId: 'accepted' }));
    worker.tokens.set('new', keyRecord({ isToken: true, keyId: 'accepted' }));
    expect(await codeOf('good')).to.equal('accepted');
    const codes: string[] = [];
    for (let i = 0; i < 400; i++) codes.push(await codeOf(`bad${i}`));
    expect(codes.slice(0, 300)).to.deep.equal(Array.from({ length: 300 }, () => '03'));
    expect(codes.filter((code) => code === 'too_many_unknown_keys').length).to.be.at.least(50);
    worker.report(tokensOf(organisationId));
    expect(await codeOf('good')).to.equal('accepted');
    expect(await codeOf('new', { remoteAddress: '10.0.0.10' })).to.equal('accepted');
  });

  it('in authorization give way to a gateway key in another header', async () => {
    const key = worker.key();
    const headers = ['authorization', `Bearer ${tokenText()}`];
    const [client] = await worker.asking(key, { ...plain, headers });
    expect(client.ended).to.equal(false);
    expect(worker.lookups).to.equal(1);
  });

  it('have a hash of their own kind, and are no token where their form is another', () => {
    const { hash } = new KeyHasher(Buffer.alloc(32, 1));
    const token = tokenText();
    expect(hash(token)).to.match(/^jwt-[0-9a-f]{64}$/);
    expect(hash(token)).to.equal(hash(`${token}`));
    for (const text of [
      '',
      'eyJ',
      'eyJ.eyJ',
      `${token}.x`,
      `${token}=`,
      ` ${token}`,
      token.replaceAll('.', ','),
      'sk-x',
    ])
      expect([isTokenForm(text), hash(text)], text).to.deep.equal([false, null]);
    expect(hash(`eyJ.eyJ.${'a'.repeat(20_000)}`)).to.equal(null);
  });
});
