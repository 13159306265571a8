import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { Keys } from '../../plugins/cache/key.js';
import { bodyDigest } from '../../src/common/plugin-host/slots.js';
import { sentOnHeaders } from '../../src/data-plane/providers/client-headers.js';
import { CacheStage, type CallFacts, completion, usualFacts } from '../support/cache-stage.js';
import { root } from '../support/root.js';

const word = fc.string({
  minLength: 1,
  maxLength: 6,
  unit: fc.constantFrom('a', 'b', '|', ':', '1', '\n', ','),
});
const scope = {
  organisation: word,
  workspace: word,
  key: word,
  credential: word,
  storedCredential: word,
  configVersion: word,
  guardrails: word,
  header: word.filter((text) => !text.includes('\n')),
  path: word.map((text) => `/v1/${text}`),
  query: word,
  metadata: fc.dictionary(fc.constantFrom('a', 'b', 'a:1'), word, { minKeys: 1 }),
  body: fc.record({
    model: fc.constant('m'),
    messages: fc.constant([]),
    temperature: fc.double({ min: 0, max: 2, noNaN: true }),
  }),
} satisfies Partial<Record<keyof CallFacts, fc.Arbitrary<unknown>>>;

const dimensions = Object.keys(scope) as (keyof typeof scope)[];
/** Does a namespace do away with this one? */
const shared: ReadonlySet<string> = new Set(['key', 'metadata']);

describe('scopes of the cache', () => {
  it('no call gets the answer of another, over every pair of what they may differ in', async () => {
    for (const a of dimensions) {
      for (const b of dimensions.slice(dimensions.indexOf(a))) {
        await fc.assert(
          fc.asyncProperty(fc.record({ one: scope[a], other: scope[b] }), async ({ one, other }) => {
            const stage = await CacheStage.open();
            const calls = [
              usualFacts,
              { ...usualFacts, [a]: one },
              { ...usualFacts, [b]: other },
              { ...usualFacts, [a]: one, [b]: other },
            ];
            const seen = new Map<string, string>();
            for (const facts of calls as CallFacts[]) {
              const id = JSON.stringify(facts);
              const x = stage.call(facts);
              const reply = stage.look(x);
              if (seen.has(id)) {
                expect((reply as { body: Buffer }).body.toString()).to.equal(seen.get(id));
              } else {
                expect(reply, id).to.equal(undefined);
                const answer = completion(id);
                stage.answer(x, answer);
                stage.over(x);
                seen.set(id, answer.toString());
              }
            }
          }),
          { numRuns: 3 },
        );
      }
    }
  });

  it('a namespace shares across keys and metadata, and across nothing else', async () => {
    for (const dimension of dimensions) {
      const stage = await CacheStage.open();
      const facts = { ...usualFacts, namespace: 'team' };
      const first = stage.call(facts);
      expect(stage.look(first)).to.equal(undefined);
      stage.answer(first, completion('first'));
      stage.over(first);
      const [other] = fc.sample(scope[dimension] as fc.Arbitrary<unknown>, { numRuns: 1, seed: 7 });
      const found = stage.look(stage.call({ ...facts, [dimension]: other } as CallFacts));
      expect(found !== undefined, dimension).to.equal(shared.has(dimension));
    }
  });

  it('neither a namespace nor metadata is taken for something else with the same text', async () => {
    const apart: Partial<CallFacts>[] = [
      { key: 'team' },
      { key: 'other', namespace: 'team' },
      { metadata: { name: 'a' } },
      { metadata: { user: 'a' } },
    ];
    const stage = await CacheStage.open();
    for (const facts of apart) {
      const x = stage.call({ ...usualFacts, ...facts });
      expect(stage.look(x), JSON.stringify(facts)).to.equal(undefined);
      stage.answer(x, completion(JSON.stringify(facts)));
      stage.over(x);
    }
  });

  it('no delimiter can be played with', async () => {
    const stage = await CacheStage.open();
    const host = { directory: { provider: () => null }, sentOnHeaders } as never;
    const keys = new Keys(host);
    const asked = { namespace: null } as never;
    const nameOf = (facts: Partial<CallFacts>) => keys.of(stage.call({ ...usualFacts, ...facts }), asked);
    expect(nameOf({ organisation: 'a|b', workspace: 'c' })).to.not.equal(
      nameOf({ organisation: 'a', workspace: 'b|c' }),
    );
    expect(nameOf({ organisation: '1:a', workspace: '' })).to.not.equal(
      nameOf({ organisation: '1', workspace: 'a' }),
    );
    expect(nameOf({ metadata: { a: '1', b: '2' } })).to.not.equal(nameOf({ metadata: { a: '1,b:2' } }));
    expect(nameOf({ metadata: { a: '\ud800' } })).to.not.equal(nameOf({ metadata: { a: '\ud801' } }));
    expect(nameOf({ metadata: { a: '1', b: '2' } })).to.equal(nameOf({ metadata: { b: '2', a: '1' } }));
  });

  it('a repeated body has the name that it would get the first time, in every scope', async () => {
    const stage = await CacheStage.open();
    const host = { directory: { provider: () => null }, sentOnHeaders } as never;
    const asked = { namespace: null } as never;
    const json = { ...usualFacts.body };
    const keys = new Keys(host);
    const call = (facts: CallFacts, digest: string | null) => {
      const x = stage.call(facts);
      x.request.json = json;
      if (digest !== null) x.set(bodyDigest, digest);
      return x;
    };
    for (const dimension of dimensions.filter((name) => name !== 'body')) {
      const values = fc.sample(scope[dimension] as fc.Arbitrary<unknown>, { numRuns: 3, seed: 7 });
      for (const value of [...values, ...values]) {
        const facts = { ...usualFacts, [dimension]: value } as CallFacts;
        const digest = hash('sha256', call(facts, null).request.bytes!, 'base64url');
        const anew = new Keys(host).of(call(facts, null), asked);
        expect(keys.of(call(facts, digest), asked), dimension).to.equal(anew);
        expect(keys.of(call(facts, digest), asked), dimension).to.equal(anew);
      }
    }
  });

  it('a body is the same only to the byte, and but for its streaming', async () => {
    const stage = await CacheStage.open();
    const keys = new Keys({ directory: { provider: () => null }, sentOnHeaders } as never);
    const nameOf = (text: string) => {
      const x = stage.call({ ...usualFacts, body: JSON.parse(text) });
      Object.assign(x.request, { bytes: Buffer.from(text) });
      return keys.of(x, { namespace: null } as never);
    };
    const plain = nameOf('{"model":"m","n":1}');
    expect(nameOf('{"model":"m","n":1,"stream":true,"stream_options":{"include_usage":true}}')).to.equal(
      plain,
    );
    expect(nameOf('{"stream":true,"model":"m","n":1}')).to.equal(plain);
    for (const other of [
      '{"model":"m","n":2}',
      '{"model":"m","n":1.0}',
      '{"n":1,"model":"m"}',
      '{"model":"m","n":1,"n":1}',
    ])
      expect(nameOf(other), other).to.not.equal(plain);
  });

  it('every header that a provider row sends on is part of the name, but those that only name a request', () => {
    const folder = join(root, 'src/data-plane/providers');
    const named = new Set<string>();
    for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.ts'),
    )) {
      const source = readFileSync(join(folder, file), 'utf8');
      for (const [, list = ''] of source.matchAll(/passHeaders: \[([^\]]*)\]/g))
        for (const [, name = ''] of list.matchAll(/'([^']+)'/g)) named.add(name);
    }
    expect(named.size).to.be.above(10);
    const left = [...named].filter((name) => !sentOnHeaders.has(name));
    expect(left.sort()).to.deep.equal([
      'idempotency-key',
      'x-client-request-id',
      'x-grok-conv-id',
      'x-ms-client-request-id',
    ]);
  });
});
