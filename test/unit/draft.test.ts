import { expect } from 'chai';
import fc from 'fast-check';
import { deepFreeze } from '../../src/common/bytes/deep-freeze.js';
import { edited } from '../../src/common/json/draft.js';

type Value = Record<string, unknown>;

describe('the edit of a JSON value', () => {
  const base = (): Value => ({
    model: 'm',
    messages: [
      { role: 'system', content: 'a' },
      { role: 'user', content: [{ type: 'text', text: 'b' }] },
    ],
    tools: [{ name: 't' }],
  });
  type Message = { role: string; content: unknown };

  const messagesOf = (body: Value): Message[] => body['messages'] as Message[];
  for (const [what, change] of [
    [
      'a deep change',
      (body: Value) =>
        Object.assign((messagesOf(body)[1]!.content as Value[])[0]!, { text: 'c' }) && undefined,
    ],
    [
      'a list that grows',
      (body: Value) => messagesOf(body).push({ role: 'user', content: 'x' }) && undefined,
    ],
    ['a list that is turned around', (body: Value) => messagesOf(body).reverse() && undefined],
    ['a list that loses its first', (body: Value) => messagesOf(body).shift() && undefined],
    ['a key that goes', (body: Value) => (Reflect.deleteProperty(body, 'tools') ? undefined : body)],
    [
      'another value with parts of the old',
      (body: Value) => ({ ...body, model: 'n', first: messagesOf(body)[0] }),
    ],
    ['a part in two places', (body: Value) => Object.assign(body, { copy: body['messages'] }) && undefined],
    [
      'a list that is mapped',
      (body: Value) =>
        Object.assign(body, { messages: messagesOf(body).map((one) => ({ ...one, role: 'x' })) }) &&
        undefined,
    ],
  ] as const) {
    it(`makes of ${what} what it would be in a copy, and leaves the frozen original as it is`, () => {
      const original = base();
      deepFreeze(original);
      const copy = base();
      const wanted = change(copy) ?? copy;
      const made = edited<Value>(original, change as (body: Value) => Value | undefined);
      expect(JSON.parse(JSON.stringify(made))).to.deep.equal(JSON.parse(JSON.stringify(wanted)));
      expect(original).to.deep.equal(base());
    });
  }

  it('copies only what it changes, and nothing where it changes nothing', () => {
    const original = base();
    const made = edited<Value>(original, (body) => {
      (body['messages'] as Message[])[0]!.role = 'developer';
    });
    expect(made['tools']).to.equal(original['tools']);
    expect((made['messages'] as unknown[])[1]).to.equal((original['messages'] as unknown[])[1]);
    expect(edited<Value>(original, (body) => void JSON.stringify(body))).to.equal(original);
  });

  it('is over when its function has returned', () => {
    let kept: Value = {};
    edited<Value>(base(), (body) => {
      kept = body;
    });
    expect(() => {
      kept['a'] = 1;
    }).to.throw(TypeError, 'until the function of edit has returned');
  });

  it('sets any key of any value as a copy would', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.string(),
        fc.jsonValue(),
        (value, key, set) => {
          const copy = { ...value };
          Object.defineProperty(copy, key, {
            value: set,
            enumerable: true,
            configurable: true,
            writable: true,
          });
          const made = edited<Value>(value, (body) => {
            Object.defineProperty(body, key, {
              value: set,
              enumerable: true,
              configurable: true,
              writable: true,
            });
          });
          expect(JSON.stringify(made)).to.equal(JSON.stringify(copy));
        },
      ),
    );
  });
});
