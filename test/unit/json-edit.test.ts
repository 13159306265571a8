import { expect } from 'chai';
import { editJson, editJsonBytes, type JsonEdit } from '../../src/common/json/json-edit.js';

/** Both variants, which must agree. */
function edit(text: string, edits: JsonEdit[]): string {
  const out = editJson(text, edits);
  expect(editJsonBytes(Buffer.from(text), edits).toString()).to.equal(out);
  return out;
}

const set = (key: string, value: string): JsonEdit => ({ key, value });
const remove = (key: string): JsonEdit => ({ key, value: null });

describe('json-edit', () => {
  it('replaces a value and leaves every other byte', () => {
    const text = ' {\n  "seed" : 9223372036854775807 ,\t"model":  "a" , "x":[ 1.50,{"model":"inner"} ] }\n';
    expect(edit(text, [set('model', '"b"')])).to.equal(text.replace('"a"', '"b"'));
  });

  it('recognises a key however it is spelled, and replaces each of equal keys', () => {
    expect(edit('{"mod\\u0065l":"a","model":"b"}', [set('model', '"c"')])).to.equal(
      '{"mod\\u0065l":"c","model":"c"}',
    );
  });

  it('is not misled by escapes, quotes and braces in strings', () => {
    expect(edit('{"a\\\\":"}\\"model\\":","model":1,"b":"\\\\"}', [set('model', '2')])).to.equal(
      '{"a\\\\":"}\\"model\\":","model":2,"b":"\\\\"}',
    );
  });

  it('adds what is missing, at the end', () => {
    expect(edit('{}', [set('a', '1')])).to.equal('{"a":1}');
    expect(edit('{ }', [set('a', '1'), set('b', '2')])).to.equal('{"a":1,"b":2 }');
    expect(edit('{"x":[] }', [set('a"', '1')])).to.equal('{"x":[],"a\\"":1 }');
  });

  it('takes members out with their comma', () => {
    expect(edit('{"a":1}', [remove('a')])).to.equal('{}');
    expect(edit('{"a":1, "b":2}', [remove('a')])).to.equal('{ "b":2}');
    expect(edit('{"a":1, "b":2}', [remove('b')])).to.equal('{"a":1}');
    expect(edit('{"a":1,"b":2,"c":3}', [remove('b')])).to.equal('{"a":1,"c":3}');
    expect(edit('{"a":1,"b":2,"c":3}', [remove('a'), remove('b'), remove('c')])).to.equal('{}');
    expect(edit('{"a":1,"b":2,"a":3}', [remove('a')])).to.equal('{"b":2}');
    expect(edit('{"a":1}', [remove('z')])).to.equal('{"a":1}');
  });

  it('replaces, adds and removes at once', () => {
    expect(
      edit('{"a":1,"b":2,"c":3}', [remove('a'), set('b', '{"x":[]}'), remove('c'), set('d', '4')]),
    ).to.equal('{"b":{"x":[]},"d":4}');
    expect(edit('{"a":1}', [remove('a'), set('d', '4')])).to.equal('{"d":4}');
  });

  it('lets the last of equal edits count', () => {
    expect(edit('{"a":1}', [set('a', '2'), set('a', '3'), set('b', '1'), set('b', '2')])).to.equal(
      '{"a":3,"b":2}',
    );
    expect(edit('{}', [set('a', '2'), remove('a')])).to.equal('{}');
  });

  it('handles keys and values beyond ASCII', () => {
    expect(edit('{"größe":"漢字","b":"🙂"}', [set('größe', '"ü"'), set('日', '"本"')])).to.equal(
      '{"größe":"ü","b":"🙂","日":"本"}',
    );
    expect(edit('{"gr\\u00f6ße":1}', [set('größe', '2')])).to.equal('{"gr\\u00f6ße":2}');
  });

  it('treats __proto__ as a key', () => {
    expect(edit('{"__proto__":{"a":1},"b":1}', [set('__proto__', '2')])).to.equal('{"__proto__":2,"b":1}');
  });

  it('refuses a text that is no object', () => {
    for (const text of ['[]', '', '"{"', '1'])
      expect(() => editJson(text, [set('a', '1')])).to.throw(SyntaxError);
  });
});
