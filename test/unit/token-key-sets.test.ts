import { expect } from 'chai';
import { defaultAuthSettings } from '../../src/control-plane/store/records/auth-settings.js';
import type { AuthSettings, StoredKeySet } from '../../src/control-plane/store/store.js';
import { keysIn } from '../../src/control-plane/tokens/key-set.js';
import { KeySets, KeySetUnavailable } from '../../src/control-plane/tokens/key-sets.js';
import { parseToken, repeatsName } from '../../src/control-plane/tokens/parsed-token.js';
import { tokenKeyId } from '../../src/control-plane/tokens/token-checker.js';
import { eventually } from '../support/gateway.js';
import { type IssuerKey, makeIssuerKey } from '../support/token-issuer.js';

const second = 1000;
const hour = 3_600_000;

describe('key sets of organisations', () => {
  let one: IssuerKey;
  let two: IssuerKey;
  let now = 0;
  let asked = 0;
  let keys: readonly object[] | Error = [];
  let removed: string[] = [];
  let sets: KeySets;
  let settings: AuthSettings;
  let release: (() => void) | null = null;
  let slow: Promise<void> | null = null;
  let stored = new Map<string, StoredKeySet>();

  before(async () => {
    [one, two] = await Promise.all([makeIssuerKey('one', 'ES256'), makeIssuerKey('two', 'ES256')]);
  });
  beforeEach(() => {
    now = 1_000_000;
    asked = 0;
    removed = [];
    release = null;
    slow = null;
    keys = [one.jwk];
    settings = { ...defaultAuthSettings, jwksUrl: 'https://id.example.com/keys' };
    stored = new Map();
    sets = start();
  });

  /** A gateway that starts: it knows what is stored. */
  const start = (bytes = 500): KeySets =>
    new KeySets({
      async fetch() {
        asked += 1;
        await slow;
        if (keys instanceof Error) throw keys;
        return { document: { keys }, bytes };
      },
      removed: (organisation) => {
        removed.push(organisation);
        release?.();
      },
      store: {
        get: async (organisation, url) => {
          const found = stored.get(organisation);
          return found?.url === url ? found : null;
        },
        put: async (organisation, keySet) => void stored.set(organisation, keySet),
      },
      log: { warn: () => {} },
      clock: () => now,
      now: () => now,
    });

  const has = async (kid: string): Promise<boolean> =>
    (await sets.find('org', settings, kid, 'ES256')).length > 0;
  /** What `tick` has begun is over. */
  const settle = (): Promise<void> => new Promise((done) => setTimeout(done, 5));
  const away = async (work: Promise<unknown>): Promise<string> => {
    try {
      await work;
    } catch (error) {
      if (error instanceof KeySetUnavailable) return error.message;
      throw error;
    }
    throw new Error('it is not away');
  };

  it('are fetched once for many askers, and for an unknown kid at most once in 30 s', async () => {
    expect(await Promise.all([has('one'), has('one'), has('two')])).to.deep.equal([true, true, false]);
    expect(asked).to.equal(1);
    keys = [one.jwk, two.jwk];
    now += 29 * second;
    expect(await has('two')).to.equal(false);
    for (let i = 0; i < 50; i++) await has(`random ${i}`);
    expect(asked).to.equal(1);
    now += 2 * second;
    expect(await has('two')).to.equal(true);
    for (let i = 0; i < 50; i++) await has(`random ${i}`);
    expect(asked).to.equal(2);
  });

  it('in use are fetched again within five minutes, and report a key that was removed', async () => {
    await has('one');
    sets.accepted('org', now + hour);
    keys = [two.jwk];
    const until = now + 290 * second;
    while (now < until && removed.length === 0) {
      now += 5 * second;
      sets.tick();
      await settle();
    }
    expect(removed).to.deep.equal(['org']);
    expect(await has('one')).to.equal(false);
    expect(asked).to.equal(2);
    // Another key under the same kid is another key.
    keys = [{ ...one.jwk, kid: 'two' }];
    await sets.refresh('org', settings);
    expect(removed).to.deep.equal(['org', 'org']);
  });

  it('whose tokens have all expired are not fetched again', async () => {
    await has('one');
    sets.accepted('org', now + 60 * second);
    now += hour;
    sets.tick();
    await settle();
    expect(asked).to.equal(1);
  });

  it('stay valid for a day while the key server is away, which is asked every 30 s', async () => {
    await has('one');
    sets.accepted('org', now + 100 * hour);
    keys = new KeySetUnavailable('it does not answer');
    const before = asked;
    for (let i = 0; i < 12 * 60; i++) {
      now += 5 * second;
      sets.tick();
      await Promise.resolve();
    }
    await settle();
    expect(await has('one')).to.equal(true);
    expect(asked - before).to.be.within(2, 120);
    expect(await away(sets.refresh('org', settings))).to.include('does not answer');
    expect(await has('one')).to.equal(true);
    now += 25 * hour;
    sets.tick();
    await settle();
    expect(removed).to.deep.equal(['org']);
    expect(await away(has('one'))).to.include('does not answer');
  });

  it('are known to a gateway that starts while the key server is away, for a day', async () => {
    keys = [{ ...one.jwk, d: 'AAAA', x5u: 'https://id.example.com/chain' }];
    await has('one');
    await settle();
    expect(JSON.stringify([...stored])).to.not.match(/AAAA|chain/);
    keys = new KeySetUnavailable('it does not answer');
    now += 20 * hour;
    sets = start();
    expect(await Promise.all([has('one'), has('one'), has('two')])).to.deep.equal([true, true, false]);
    keys = [two.jwk];
    now += 31 * second;
    sets.accepted('org', now + hour);
    sets.tick();
    await eventually('the old key is removed', async () => removed.length > 0);
    expect(removed).to.deep.equal(['org']);
    expect([await has('one'), await has('two')]).to.deep.equal([false, true]);
    keys = new KeySetUnavailable('it does not answer');
    now += 25 * hour;
    sets = start();
    expect(await away(has('two'))).to.include('does not answer');
  });

  it('are known to a gateway that starts while the key server is slow, and another address has others', async () => {
    await has('one');
    await settle();
    let answer = (): void => {};
    slow = new Promise((done) => {
      answer = done;
    });
    keys = [two.jwk];
    sets = start();
    expect(await Promise.all([has('one'), has('one')])).to.deep.equal([true, true]);
    answer();
    await eventually('the keys are those of the server', async () => !(await has('one')));
    keys = new KeySetUnavailable('it does not answer');
    sets = start();
    settings = { ...settings, jwksUrl: 'https://other.example.com/keys' };
    expect(await away(has('two'))).to.include('does not answer');
  });

  for (const from of ['fetched', 'stored'])
    it(`count in the memory of all of them, where they were ${from}`, async () => {
      const [url, bytes] = [settings.jwksUrl!, 1024 * 1024];
      if (from === 'stored') keys = new Error('away');
      sets = start(bytes);
      for (let i = 0; i < 20; i++) {
        const padding = { kid: 'x'.repeat(bytes) };
        stored.set(`org-${i}`, { url, keys: { keys: [one.jwk, padding] }, fetchedAt: now });
        expect(await sets.find(`org-${i}`, settings, 'one', 'ES256')).to.have.lengthOf(1);
        sets.accepted(`org-${i}`, now + hour);
      }
      expect(removed).to.include('org-0').and.not.include('org-19');
    });

  it('that were never had are not asked for more than once in 30 s', async () => {
    keys = new KeySetUnavailable('it does not answer');
    for (let i = 0; i < 20; i++) await away(has('one'));
    expect(asked).to.equal(1);
    now += 31 * second;
    keys = [one.jwk];
    expect(await has('one')).to.equal(true);
  });

  it('of the settings hold beside those of the server, and follow the settings', async () => {
    settings = { ...settings, jwks: { keys: [two.jwk] } };
    expect([await has('one'), await has('two')]).to.deep.equal([true, true]);
    settings = { ...settings, jwks: null };
    now += 10 * second;
    expect([await has('one'), await has('two')]).to.deep.equal([true, false]);
    settings = { ...settings, jwksUrl: null, jwks: { keys: [two.jwk] } };
    expect([await has('one'), await has('two')]).to.deep.equal([false, true]);
  });

  it('wait for a fetch after they have expired, and are used as they are where that fails', async () => {
    await has('one');
    keys = [two.jwk];
    sets.expire('org');
    expect(await has('one')).to.equal(false);
    keys = new KeySetUnavailable('no');
    sets.expire('org');
    expect(await has('two')).to.equal(true);
    const before = asked;
    expect(await has('two')).to.equal(true);
    expect(asked).to.equal(before);
  });

  it('lack what cannot check a signature safely', async () => {
    const rsa = (await makeIssuerKey('rsa')).jwk;
    const weak = { kty: 'RSA', kid: 'weak', n: 'A'.repeat(171), e: 'AQAB' };
    const cases: readonly (readonly [object | null | number, boolean])[] = [
      [rsa, true],
      [one.jwk, true],
      [{ ...rsa, alg: undefined, use: undefined }, true],
      [{ ...rsa, key_ops: ['verify'] }, true],
      [{ ...rsa, use: 'enc' }, false],
      [{ ...rsa, key_ops: ['encrypt'] }, false],
      [{ ...rsa, alg: 'RS512' }, false],
      [{ ...rsa, alg: 'HS256' }, false],
      [{ ...rsa, kid: undefined }, false],
      [{ ...rsa, e: 'AQ' }, false],
      [{ ...rsa, e: 'A'.repeat(300) }, false],
      [weak, false],
      [{ kty: 'oct', kid: 'x', k: 'AAAA' }, false],
      [{ ...one.jwk, crv: 'P-521' }, false],
      [{ ...one.jwk, x: 'AAAA' }, false],
      [null, false],
      [5, false],
    ];
    for (const [member, isThere] of cases)
      expect(await keysIn({ keys: [member] }), JSON.stringify(member)).to.have.lengthOf(isThere ? 1 : 0);
    for (const none of [null, 5, [], {}, { keys: {} }]) expect(await keysIn(none)).to.equal(null);
    const private_ = { ...one.jwk, d: 'AAAA' };
    expect(JSON.stringify(await keysIn({ keys: [private_] }))).to.not.include('AAAA');
  });
});

describe('a token that is read', () => {
  it('has no name twice in any of its objects', () => {
    expect(repeatsName('{"a":1,"b":{"a":1},"c":[{"a":"{\\"a\\":1}"},{"a":"a:"}]}')).to.equal(false);
    expect(repeatsName('{"a":1,"a":1}')).to.equal(true);
    expect(repeatsName('{"x":[{"a":1,"\\u0061":1}]}')).to.equal(true);
    expect(repeatsName('{"a":"b","b":"a"}')).to.equal(false);
  });

  it('is refused quickly where it is long or deep', () => {
    const part = (text: string): string => Buffer.from(text).toString('base64url');
    const head = part('{"alg":"RS256","kid":"k"}');
    const deep = `${head}.${part(`{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`)}.AA`;
    expect(parseToken(deep)?.kid).to.equal('k');
    expect(parseToken(`${head}.${part(`{"a":"${'x'.repeat(20_000)}"}`)}.AA`)).to.equal(null);
    expect(parseToken(`${'eyJ'.repeat(5000)}`)).to.equal(null);
  });

  it('leads to the same id for each token of a user, in characters that mean nothing elsewhere', () => {
    expect(tokenKeyId('alice@example.com')).to.equal('jwt:alice@example.com');
    expect(tokenKeyId('auth0|a b/c,d')).to.equal('jwt:auth0|a%20b%2Fc%2Cd');
    expect(tokenKeyId('ü'.repeat(200))).to.match(/^jwt:sha256-[\w-]{43}$/);
    expect(tokenKeyId(null)).to.equal('jwt');
  });
});
