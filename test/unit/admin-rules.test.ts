import { expect } from 'chai';
import { decode, type Message } from '../../proto/codec.js';
import { AdminError } from '../../src/control-plane/administration/admin-error.js';
import { refusalOf } from '../../src/control-plane/administration/rest/refusal.js';
import { empty } from '../../src/control-plane/administration/shape/json.js';
import { checkRules } from '../../src/control-plane/administration/shape/rules.js';
import { updateThing } from '../support/things.js';
import { expectWithinMs } from '../support/time-limits.js';

const { request } = updateThing();

/** Why the rules refuse what is said of a thing; null: they do not. */
function problemOf(said: Message): string | null {
  try {
    checkRules(request, { ...empty(request), id: 'a', ...said });
    return null;
  } catch (thrown) {
    if (thrown instanceof AdminError && thrown.code === 'AB01') return thrown.message;
    throw thrown;
  }
}
const metadata = (name: string): object => JSON.parse(`{${JSON.stringify(name)}:"x"}`);

describe('rules of fields', () => {
  const refused: readonly (readonly [said: Message, problem: string])[] = [
    [{ id: '' }, 'id is required.'],
    [{ id: '  ' }, 'id is required.'],
    [{ name: 'x' }, 'name must be at least 2 characters long.'],
    [{ name: '  x  ' }, 'name must be at least 2 characters long.'],
    [{ name: 'abcdef' }, 'name must be at most 5 characters long.'],
    [{ price: -0.5 }, 'price must be at least 0.'],
    [{ price: 1001 }, 'price must be at most 1000.'],
    [{ price: Number.NaN }, 'price must be a finite number.'],
    [{ price: Number.POSITIVE_INFINITY }, 'price must be a finite number.'],
    [{ status: 'Active' }, 'status must be one of active, archived.'],
    [{ status: 'ıactive' }, 'status must be one of active, archived.'],
    [{ states: ['active', 'gone'] }, 'states[1] must be one of active, archived.'],
    [{ states: ['active', 'active'] }, 'states must not have an item twice.'],
    [{ states: ['active', 'archived', 'active'] }, 'states must have at most 2 items.'],
    [{ amounts: [1, 2] }, 'amounts must have at most 1 item.'],
    [{ metadata: { a: 'abcd' } }, 'metadata.a must be at most 3 characters long.'],
    [{ metadata: { a: '', b: '', c: '' } }, 'metadata must have at most 2 items.'],
    [{ metadata: metadata('__proto__') }, 'metadata must not have a field __proto__.'],
    [{ metadata: { constructor: 'x' } }, 'metadata must not have a field constructor.'],
    [{ part: { word: 'abcdef', count: 1 } }, 'part.word must be at most 5 characters long.'],
    [{ part: { word: 'a' } }, 'part.count is required.'],
    [{ parts: [{ count: 1 }, { count: 11 }] }, 'parts[1].count must be at most 10.'],
    [{ named_parts: { x: { count: 0 } } }, 'named_parts.x.count must be at least 1.'],
    [{ raw: new Uint8Array(5) }, 'raw must be at most 4 bytes long.'],
    [{ email: 'nobody' }, 'email must be an e-mail address.'],
    [{ email: 'a@b@c.example' }, 'email must be an e-mail address.'],
    [{ email: 'a@example.com\nBcc: b@example.com' }, 'email must be an e-mail address.'],
    [{ address: 'javascript:alert(1)' }, 'address must be an http or https URL.'],
    [{ address: 'https://user:secret@example.com' }, 'address must have no user, query or fragment.'],
    [{ code: 'abc\n' }, 'code must match ^[a-z]+$.'],
    [{ name: 'a\0b' }, 'name must not contain the character U+0000.'],
    [{ name: 'a\ud800' }, 'name contains half of a surrogate pair: it is not valid Unicode.'],
    [
      { settings: { a: ['\ud83d'] } },
      'settings.a[0] contains half of a surrogate pair: it is not valid Unicode.',
    ],
    [{ settings: { 'a\0': 1 } }, 'A name in settings must not contain the character U+0000.'],
    [{ config: [] }, 'config must be an object, or the JSON text of one.'],
    [{ config: 5 }, 'config must be an object, or the JSON text of one.'],
    [{ config: `{"x":${'['.repeat(9000)}${']'.repeat(9000)}}` }, 'nested deeper than 64 levels.'],
    [{ config: { x: 'y'.repeat(20_000) } }, 'config must be at most 20000 bytes of JSON.'],
    [{ update_mask: ['name'] }, 'name cannot be cleared.'],
    [{ update_mask: ['part.count'] }, 'part.count cannot be cleared.'],
  ];
  for (const [said, problem] of refused) {
    it(`refuse ${JSON.stringify(said).slice(0, 80)}`, () => {
      const found = problemOf(said);
      // Of a path that goes on for long, its end.
      if (problem.startsWith('nested')) expect(found).to.match(/is nested deeper than 64 levels\.$/);
      else expect(found).to.equal(problem);
    });
  }

  it('name every field that is at fault, to a bound', () => {
    expect(
      problemOf({ id: '', name: 'x', part: { word: 'abcdef' }, parts: [{ count: 11 }, { count: 0 }] }),
    ).to.equal(
      [
        'id is required.',
        'name must be at least 2 characters long.',
        'part.word must be at most 5 characters long.',
        'part.count is required.',
        'parts[0].count must be at most 10.',
        'parts[1].count must be at least 1.',
      ].join(' '),
    );
    const many = problemOf({ parts: Array.from({ length: 500 }, () => ({ count: 11 })) });
    expect(many!.match(/parts\[/g)).to.have.length(16);
    expect(problemOf({ name: '', update_mask: ['name'] })!.match(/name/g)).to.have.length(1);
  });

  it('are reported over REST with a list of all fields at fault', () => {
    const error = AdminError.fields([
      { path: 'name', problem: 'is required.' },
      { path: 'scopes[0]', problem: 'is empty.' },
    ]);
    const errors = [
      { path: 'name', message: 'is required.' },
      { path: 'scopes[0]', message: 'is empty.' },
    ];
    const body = (headers: string[]): unknown => JSON.parse(refusalOf(error, { headers }, 'r').body);
    expect(body([])).to.deep.equal({
      success: false,
      data: { message: 'name is required. scopes[0] is empty.', errorCode: 'AB01', errors },
    });
    expect(body(['accept', 'application/problem+json'])).to.deep.include({ code: 'AB01', errors });
    const one = refusalOf(AdminError.field('name', 'is required.'), { headers: [] }, 'r');
    expect(JSON.parse(one.body).data).to.not.have.property('errors');
  });

  const taken: readonly Message[] = [
    { name: 'é😀é' },
    { name: '' },
    { price: 0 },
    { status: 'archived' },
    { part: { word: '', count: 10 } },
    { email: 'Ada.Lovelace+x@mail.example.com' },
    { address: 'http://10.0.0.1:8080/v1' },
    { config: '{"a":1}' },
    { config: 'no JSON: the method says so' },
    { config: { a: 1 } },
    { settings: {} },
    { update_mask: ['amounts'] },
    { update_mask: ['price', 'part', 'metadata'] },
  ];
  for (const said of taken) {
    const isTooShort = said['name'] === '';
    it(`${isTooShort ? 'refuse' : 'take'} ${JSON.stringify(said)}`, () =>
      expect(problemOf(said) === null).to.equal(!isTooShort));
  }

  it('look at a megabyte of marks that combine in less than a second', () => {
    const began = performance.now();
    expect(problemOf({ name: 'e\u0301'.repeat(500_000) })).to.match(/^name must be at most/);
    expectWithinMs(performance.now() - began, 1000);
  });

  it('hold for what came over the wire: names of maps, numbers that are none, text that is none', () => {
    const bytes = request.type
      .encode(request.type.create({ id: 'a', metadata: metadata('__proto__') }))
      .finish();
    const read = decode(request, bytes);
    expect(Object.keys(read['metadata'] as object)).to.deep.equal(['__proto__']);
    expect(problemOf(read)).to.equal('metadata must not have a field __proto__.');
    const endless = request.type.encode(request.type.create({ id: 'a', price: Number.NaN })).finish();
    expect(problemOf(decode(request, endless))).to.equal('price must be a finite number.');
  });
});
