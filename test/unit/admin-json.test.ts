import { expect } from 'chai';
import { decode, encode } from '../../proto/codec.js';
import { AdminError } from '../../src/control-plane/administration/admin-error.js';
import { readMessage, writeMessage } from '../../src/control-plane/administration/shape/json.js';
import { updateThing } from '../support/things.js';

const { request, response } = updateThing();

/** Why that body is refused; null: it is not. */
function problemOf(body: unknown): string | null {
  try {
    readMessage(request, body);
    return null;
  } catch (thrown) {
    if (thrown instanceof AdminError && thrown.code === 'AB01') return thrown.message;
    throw thrown;
  }
}

const nested = (depth: number): unknown => JSON.parse(`${'['.repeat(depth)}1${']'.repeat(depth)}`);

describe('JSON of the administration plane, coming in', () => {
  const cases: readonly (readonly [body: string, problem: string])[] = [
    ['[]', 'The body must be an object.'],
    ['null', 'The body must be an object.'],
    ['"x"', 'The body must be an object.'],
    ['{"colour":"red"}', '"colour" is not a field of the request.'],
    ['{"part":{"colour":1}}', 'part."colour" is not a field of part.'],
    [
      '{"parts":[{"word":"a"},{"wrod":"b"}]}',
      'parts[1]."wrod" is not a field of parts[1]: did you mean word?',
    ],
    ['{"__proto__":{"name":"x"}}', '"__proto__" is not a field of the request.'],
    ['{"constructor":1}', '"constructor" is not a field of the request.'],
    ['{"toString":1}', '"toString" is not a field of the request.'],
    ['{"settings":{"a":{"__proto__":{"x":1}}}}', 'settings.a must not have a field __proto__.'],
    ['{"settings":{"constructor":{"prototype":1}}}', 'settings must not have a field constructor.'],
    ['{"update_mask":["name"]}', '"update_mask" is not a field of the request.'],
    ['{"etag":"x"}', '"etag" is not a field of the request.'],
    ['{"request_id":"x"}', '"request_id" is not a field of the request.'],
    ['{"name":5}', 'name must be text.'],
    ['{"name":["x"]}', 'name must be text.'],
    ['{"size":"5"}', 'size must be a number.'],
    ['{"size":true}', 'size must be a number.'],
    ['{"size":1.5}', 'size must be a whole number.'],
    ['{"size":2147483648}', 'size must lie between -2147483648 and 2147483647.'],
    ['{"size":1e400}', 'size is a number too large to be kept.'],
    ['{"price":-1e400}', 'price is a number too large to be kept.'],
    ['{"numbers":[1,2.5]}', 'numbers[1] must be a whole number.'],
    ['{"numbers":7}', 'numbers must be a list.'],
    ['{"amounts":[]}', 'amounts must not be an empty list.'],
    ['{"isOn":"true"}', 'isOn must be true or false.'],
    ['{"isOn":1}', 'isOn must be true or false.'],
    ['{"states":{"0":"active"}}', 'states must be a list.'],
    ['{"states":[null]}', 'states[0] must be text.'],
    ['{"metadata":[]}', 'metadata must be an object.'],
    ['{"metadata":{"a":1}}', 'metadata.a must be text.'],
    ['{"part":"x"}', 'part must be an object.'],
    ['{"settings":[]}', 'settings must be an object.'],
    ['{"settings":{"x":1e999}}', 'settings.x is a number too large to be kept.'],
    ['{"raw":"#"}', 'raw must be base64.'],
    ['{"name":"a","theName":"b"}', 'name is given twice, and differently.'],
    ['{"workspace_id":"a","workspaceId":"b"}', 'workspace_id is given twice, and differently.'],
  ];
  for (const [body, problem] of cases) {
    it(`refuses ${body}`, () => expect(problemOf(JSON.parse(body))).to.equal(problem));
  }

  for (const time of [
    '2026-02-30T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-01T00:00:00',
    '2026-01-01',
    'tomorrow',
    '+275761-01-01T00:00:00Z',
    '0000-01-01T00:00:00Z',
    '9999-12-31T23:59:59-14:00',
    '2026-01-01T00:00:60Z',
    '2026-01-01T00:00:00+99:00',
    1767225600000,
  ]) {
    it(`refuses the time ${time}`, () => expect(problemOf({ at: time })).to.match(/^at must be a time with/));
  }

  it('refuses free JSON deeper than 64 levels, and takes what is not', () => {
    expect(problemOf({ anything: nested(65) })).to.match(/is nested deeper than 64 levels\.$/);
    expect(problemOf({ anything: nested(64) })).to.equal(null);
    expect(problemOf({ anything: nested(100_000) })).to.match(/nested deeper/);
  });

  it('names a field without repeating all of a long name', () => {
    expect(problemOf({ ['x'.repeat(100_000)]: 1 })?.length).to.be.lessThan(200);
  });

  it('takes the spellings of a field for one', () => {
    for (const body of [{ workspaceId: 'a' }, { workspace_id: 'a' }, { workspace_id: 'a', workspaceId: 'a' }])
      expect(readMessage(request, body)).to.include({ workspace_id: 'a' });
    expect(readMessage(request, { is_on: true })).to.include({ is_on: true });
  });

  it('reads null as not set', () => {
    expect(readMessage(request, { name: null, part: null, metadata: null, states: null })).to.deep.equal(
      readMessage(request, {}),
    );
  });

  it('writes no -0, and times in UTC with milliseconds', () => {
    const read = readMessage(request, JSON.parse('{"size":-0,"at":"2030-01-31T02:00:00.5+02:00"}'));
    expect(Object.is(read['size'], 0)).to.equal(true);
    expect(read['at']).to.equal('2030-01-31T00:00:00.500Z');
  });

  it('keeps what looks like a prototype as what it is, in metadata too', () => {
    const { metadata } = readMessage(request, JSON.parse('{"metadata":{"__proto__":"x"}}'));
    expect(Object.keys(metadata as object)).to.deep.equal(['__proto__']);
    expect(({} as Record<string, unknown>)['x']).to.equal(undefined);
  });
});

describe('JSON of the administration plane, going out', () => {
  it('writes null for what is absent, empty lists and maps, and every plain field', () => {
    expect(writeMessage(response, { id: 'a' })).to.deep.equal({
      ...{ id: 'a', name: null, parts: [], metadata: {}, at: null, settings: null, isOn: false, raw: null },
      ...{ part: null, size: 0, anything: null },
    });
  });

  it('leaves out what is no field, inside of messages too', () => {
    const written = writeMessage(response, {
      id: 'a',
      sealed: 'secret',
      parts: [{ word: 'w', count: 1, hash: 'secret' }],
    });
    expect(JSON.stringify(written)).to.not.include('secret');
    expect(written['parts']).to.deep.equal([{ word: 'w', count: 1, note: null }]);
  });

  it('gives the same for a message that has been over the wire', () => {
    const message = {
      ...{ id: 'a', name: 'n', metadata: { x: 'y' }, at: '2030-01-31T00:00:00.500Z', is_on: true, size: -5 },
      settings: { deep: [1, null, { x: 'é' }] },
      raw: new Uint8Array([1, 2]),
      part: { word: 'w', count: 0 },
      anything: [true],
    };
    const crossed = decode(response, encode(response, message));
    expect(writeMessage(response, crossed)).to.deep.equal(writeMessage(response, message));
  });
});
