import { expect } from 'chai';
import { decode, encode } from '../../proto/codec.js';
import { type StoredMethod, treeOf } from '../../proto/tree.js';

const method = (name: string, request: string): StoredMethod => ({
  ...{ service: 'Things', method: name, request: `a.b.${request}`, response: 'a.b.Thing' },
  ...{ streams: false, bindings: [], comment: '' },
  access: { scopes: [], resource: 'thing', action: name, audited: false, organisationOnly: false },
});
const string = (id: number): object => ({ type: 'string', id });

describe('the stored tree of methods', () => {
  const tree = treeOf({
    files: [],
    comments: {},
    methods: [
      method('Create', 'Thing'),
      method('Broken', 'BrokenThing'),
      method('Missing', 'MissingThing'),
      method('Nested', 'Tree'),
    ],
    types: {
      nested: {
        a: {
          nested: {
            b: {
              nested: {
                Thing: {
                  fields: { name: string(1), part: { type: 'Part', id: 2 }, at: { type: 'c.Mark', id: 3 } },
                },
                Part: { fields: { number: string(1) } },
                Tree: { fields: { name: string(1), trees: { rule: 'repeated', type: 'Tree', id: 2 } } },
                BrokenThing: { fields: { part: { type: 'Nothing', id: 1 } } },
              },
            },
          },
        },
        c: { nested: { Mark: { fields: { text: string(1) } } } },
      },
    } as never,
  });
  const requestOf = (name: string) => tree.methods.get(`Things.${name}`)!.request;

  it('reads a message with those that it is made of, and no others', () => {
    const message = { name: 'n', part: { number: '1' }, at: { text: 'x' } };
    expect(decode(requestOf('Create'), encode(requestOf('Create'), message))).to.deep.equal(message);
  });

  it('reads one that has itself in it', () => {
    const message = { name: 'n', trees: [{ name: 'm', trees: [] }] };
    expect(decode(requestOf('Nested'), encode(requestOf('Nested'), message))).to.deep.equal(message);
  });

  it('has one shape for a message, however it is come by', () => {
    expect(requestOf('Create')).to.equal(tree.methods.get('Things.Broken')!.response);
  });

  it('refuses a message that it does not have, or that has one in it', () => {
    expect(() => requestOf('Missing')).to.throw('a.b.MissingThing');
    expect(() => requestOf('Broken')).to.throw('Nothing');
  });
});
