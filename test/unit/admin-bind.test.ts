import { expect } from 'chai';
import type { Message } from '../../proto/codec.js';
import { AdminError } from '../../src/control-plane/administration/admin-error.js';
import { bind } from '../../src/control-plane/administration/rest/bind.js';
import { empty } from '../../src/control-plane/administration/shape/json.js';
import { quickest } from '../support/quickest.js';
import { updateThing } from '../support/things.js';
import { expectWithinMs } from '../support/time-limits.js';

const method = updateThing();

interface Sent {
  readonly query?: string;
  readonly headers?: string[];
  readonly body?: string | Buffer;
  readonly id?: string;
  readonly verb?: 'PUT' | 'GET';
}

function bound({ query = '', headers = [], body = '', id = 'a', verb = 'PUT' }: Sent): Message {
  const binding = method.bindings.find((one) => one.verb === verb)!;
  return bind(method, binding, [id], {
    verb,
    path: `/v1/things/${id}`,
    query,
    headers,
    address: '127.0.0.1',
    body: Buffer.from(body),
    gone: new AbortController().signal,
  });
}

function problemOf(sent: Sent): string {
  try {
    return `taken: ${JSON.stringify(bound(sent))}`;
  } catch (thrown) {
    if (!(thrown instanceof AdminError)) throw thrown;
    return `${thrown.answered.http} ${thrown.message}`;
  }
}

describe('a REST request as a message', () => {
  const refused: readonly (readonly [Sent, string])[] = [
    [{ id: '' }, '400 id is required: the path has an empty segment.'],
    [{ id: '%' }, '400 id has a broken percent-encoding.'],
    [{ id: '%ff' }, '400 id has a broken percent-encoding.'],
    [{ id: 'a', body: '{"id":"b"}' }, '400 id is given twice, and differently.'],
    [{ id: 'a', query: 'id=b' }, '400 id is given twice, and differently.'],
    [
      { body: '{"workspace_id":"a"}', query: 'workspaceId=b' },
      '400 workspace_id is given twice, and differently.',
    ],
    [{ query: 'workspace_id=a&workspaceId=b' }, '400 workspace_id is given twice, and differently.'],
    [{ query: 'workspace_id=a&workspace_id=b' }, '400 workspace_id is given twice, and differently.'],
    [{ query: 'colour=red' }, '400 "colour" is not a field of the request.'],
    [{ query: '__proto__=x' }, '400 "__proto__" is not a field of the request.'],
    [{ query: '%ff=x' }, '400 The query has a broken percent-encoding.'],
    [{ query: 'etag=x' }, '400 "etag" is not a field of the request.'],
    [{ query: 'update_mask=name' }, '400 "update_mask" is not a field of the request.'],
    [{ query: 'part=x' }, '400 part cannot be given in a query.'],
    [{ query: 'metadata[a]=x' }, '400 "metadata[a]" is not a field of the request.'],
    [{ query: 'size=1e9' }, '400 size must be a number.'],
    [{ query: 'size=0x10' }, '400 size must be a number.'],
    [{ query: 'size=1.5' }, '400 size must be a whole number.'],
    [{ query: 'size=99999999999' }, '400 size must lie between -2147483648 and 2147483647.'],
    [{ query: 'isOn=yes' }, '400 isOn must be true or false.'],
    [{ verb: 'GET', body: '{}' }, '400 GET takes no body.'],
    [{ body: '{' }, '400 The body is not JSON.'],
    [{ body: '{"name":"a",}' }, '400 The body is not JSON.'],
    [{ body: '{"size":NaN}' }, '400 The body is not JSON.'],
    [{ body: '['.repeat(200_000) }, '400 The body cannot be read: it nests deeper than 1000 levels.'],
    [
      { body: JSON.stringify(Object.fromEntries(Array.from({ length: 10_001 }, (_, i) => [`k${i}`, i]))) },
      '400 The body cannot be read: it has an object of more than 10000 members.',
    ],
    [{ body: Buffer.from([0x7b, 0xff, 0x7d]) }, '400 The body is not valid UTF-8.'],
    [{ body: 'null' }, '400 The body must be an object.'],
    [
      { body: 'x', headers: ['content-type', 'text/plain'] },
      '400 The body must be application/json in UTF-8.',
    ],
    [
      { body: '{}', headers: ['content-type', 'application/json; charset="UTF-16"'] },
      '400 The body must be application/json in UTF-8.',
    ],
    [{ body: '{}', headers: ['content-encoding', 'gzip'] }, '415 The body must not be compressed.'],
    [{ headers: ['if-match', '"1"', 'if-match', '"2"'] }, '400 if-match is sent twice.'],
    [{ headers: ['if-match', '"1", "2"'] }, '400 if-match names several versions: send one.'],
    [{ headers: ['idempotency-key', 'a', 'idempotency-key', 'a'] }, '400 idempotency-key is sent twice.'],
    [{ body: '{"kind":"other"}' }, '400 kind cannot be changed.'],
    [{ body: '{"organisation_id":5}' }, '400 organisation_id must be text.'],
    [
      { body: '{"organisation_id":"o"}', query: 'organisation_id=p' },
      '400 organisation_id is given twice, and differently.',
    ],
    [{ body: '{"part":{"organisation_id":"o"}}' }, '400 part."organisation_id" is not a field of part.'],
  ];
  for (const [sent, problem] of refused) {
    it(`refuses ${JSON.stringify({ ...sent, body: String(sent.body ?? '').slice(0, 40) })}`, () =>
      expect(problemOf(sent)).to.equal(problem));
  }

  const taken: readonly (readonly [Sent, Message])[] = [
    [{ id: 'a%2Fb' }, { id: 'a/b' }],
    [{ id: 'a%252Fb' }, { id: 'a%2Fb' }],
    [{ id: '..' }, { id: '..' }],
    [{ id: 'a+b' }, { id: 'a+b' }],
    [{ query: 'name=a+b%2B' }, { name: 'a b+' }],
    [{ query: 'name=a=b' }, { name: 'a=b' }],
    [{ query: 'workspace_id=a&workspaceId=a' }, { workspace_id: 'a' }],
    [{ query: 'size=7&isOn=1&&' }, { size: 7, is_on: true }],
    [{ query: 'status=' }, {}],
    [{ query: 'states=active,archived,x' }, { states: ['active', 'archived', 'x'] }],
    [{ query: 'states=active&states[]=archived&states[1]=x' }, { states: ['active', 'archived', 'x'] }],
    [{ body: '\ufeff{"name":"abc"}' }, { name: 'abc', update_mask: ['name'] }],
    [
      { body: '{"name":null,"part":{"note":null},"metadata":{}}' },
      { part: { word: '' }, update_mask: ['name', 'part.note', 'metadata'] },
    ],
    [{ body: '{"id":"a","workspaceId":"w"}' }, { workspace_id: 'w', update_mask: ['workspace_id'] }],
    [{ headers: ['if-match', 'W/"3"', 'idempotency-key', 'k'] }, { etag: '3', request_id: 'k' }],
    [{ headers: ['if-match', '*'] }, {}],
    [{ query: 'organisation_id=o' }, { organisation_id: 'o' }],
    [{ body: '{"organisation_id":"o"}' }, { organisation_id: 'o' }],
    [{ body: '{"organisation_id":null}' }, {}],
    [{ body: '{}', headers: ['content-type', 'application/merge-patch+json;charset=utf-8'] }, {}],
  ];
  for (const [sent, message] of taken) {
    it(`takes ${JSON.stringify(sent)}`, () =>
      expect(bound(sent)).to.deep.equal({
        ...empty(method.request),
        ...{ id: 'a', update_mask: [] },
        ...message,
      }));
  }

  it('of a long query is read in no time that grows with its square', async () => {
    const query = 'states=active&'.repeat(20_000);
    expectWithinMs(await quickest(3, () => bound({ query })), 500);
  });
});
