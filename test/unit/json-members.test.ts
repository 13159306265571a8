import { expect } from 'chai';
import fc from 'fast-check';
import { findMembers, type Member } from '../../src/core/json-members.js';

const names = ['usage', 'model'].map((name) => Buffer.from(name));

function membersOf(text: string): { usage: unknown; model: unknown } | null {
  const bytes = Buffer.from(text);
  const found: (Member | null)[] = [];
  if (!findMembers(bytes, names, found)) return null;
  const [usage, model] = found.map((member) =>
    member === null ? undefined : JSON.parse(bytes.toString('utf8', member.start, member.end)),
  );
  return { usage, model };
}

const isObject = (text: string): boolean => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
};

describe('finding members of a JSON object without parsing it', () => {
  it('finds what JSON.parse finds, of equal names the last', () => {
    const key = fc.oneof(fc.constantFrom('usage', 'model', 'other', 'Usage'), fc.string());
    const object = fc.dictionary(key, fc.jsonValue(), { noNullPrototype: true });
    fc.assert(
      fc.property(object, fc.constantFrom(undefined, 1, '\t'), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        const parsed = JSON.parse(text) as Record<string, unknown>;
        const found = membersOf(text);
        // Only an escaped key of its own is left to JSON.parse.
        if (Object.keys(value).some((name) => JSON.stringify(name).includes('\\'))) return;
        expect(found).to.deep.equal({ usage: parsed['usage'], model: parsed['model'] });
      }),
    );
    expect(membersOf('{"model":"a","model":"b"}')).to.deep.equal({ usage: undefined, model: 'b' });
  });

  it('takes no text for an object that JSON.parse refuses, wherever it was spoilt', () => {
    const text = '{"model":"a\\u00e9\\n","usage":{"n":[1,-0.5e+3,{}],"t":true,"z":null},"e":[]}';
    expect(isObject(text)).to.equal(true);
    expect(membersOf(text)).not.to.equal(null);
    for (let at = 0; at < text.length; at++) {
      for (const by of ['', ' ', '"', '}', ']', ',', ':', '0', '\\', 'x', '\n', '{']) {
        const spoilt = text.slice(0, at) + by + text.slice(at + 1);
        const found = membersOf(spoilt);
        if (found !== null) expect(isObject(spoilt), spoilt).to.equal(true);
        else if (isObject(spoilt))
          expect(spoilt, 'only escaped keys are left to JSON.parse').to.match(/\\[^"]*":/);
      }
      expect(membersOf(text.slice(0, at)), text.slice(0, at)).to.equal(null);
    }
  });

  it('leaves a text that nests too deep to JSON.parse', () => {
    expect(membersOf(`{"a":${'['.repeat(255)}${']'.repeat(255)}}`)).not.to.equal(null);
    expect(membersOf(`{"a":${'['.repeat(256)}${']'.repeat(256)}}`)).to.equal(null);
  });
});
