import { expect } from 'chai';
import fc from 'fast-check';
import { type ClientRequest, Exchange, type JsonObject } from '../../src/common/core/exchange.js';
import type { RouteNode, Target } from '../../src/common/core/target.js';
import { parseJson, stringifyJson } from '../../src/common/json/json.js';
import type { Address } from '../../src/data-plane/pipeline/outgoing/address.js';
import {
  mergedBody,
  sameFormatBytes,
  sameFormatJson,
} from '../../src/data-plane/pipeline/outgoing/target-body.js';
import { compileConfig } from '../../src/data-plane/routing/compile.js';

const only = (node: RouteNode): Target => {
  if (node.kind !== 'target') throw new Error('a config of one target');
  return node.target;
};

const targetOf = (params: object): Target =>
  only(
    compileConfig(stringifyJson({ virtual_key: 'v', ...params }), {
      slug: null,
      version: 'inline',
      isProvider: () => true,
    }).root,
  );

/** A call with this body for a provider of the same format, which asks for `model` under its own name unless told. */
function call(body: string, model: string | null = null, quirks: string[] = [], modelInPath = false) {
  const request: ClientRequest = {
    method: 'POST',
    path: '/v1/chat/completions',
    query: '',
    headers: [],
    remoteAddress: '127.0.0.1',
    bytes: Buffer.from(body),
    stream: null,
    json: parseJson(body) as JsonObject,
  };
  const endpoint = { name: 'chat', format: 'openai-chat', body: 'json' } as const;
  const x = new Exchange('req-1', modelInPath ? { ...endpoint, modelInPath } : endpoint, request);
  const said = request.json?.['model'];
  x.modelAsked = typeof said === 'string' ? said : null;
  const address = { model: model ?? x.modelAsked, provider: { quirks } } as unknown as Address;
  return { x, address };
}

/** What is sent, however it is made. */
function sameFormatBody(x: Exchange, target: Target, address: Address): Buffer {
  const json = sameFormatJson(x, target, address);
  return json === null ? sameFormatBytes(x, target, address) : Buffer.from(stringifyJson(json));
}

function sent(body: string, params: object, model?: string): string {
  const { x, address } = call(body, model);
  return sameFormatBody(x, targetOf(params), address).toString();
}

describe('the body for a target that speaks the format of the client', () => {
  const body =
    '{ "model":"m",\n "temperature": 1.0, "seed": 9007199254740993, "tools":[{"a":1, "b":2},{"a":3}] }';

  it('is what the client sent, byte for byte, where no rule applies', () => {
    const { x, address } = call(body);
    expect(sameFormatBody(x, targetOf({}), address)).to.equal(x.request.bytes);
  });

  for (const [what, params, expected] of [
    [
      'gets defaults only for what it lacks, and is otherwise as it came',
      { default_params: { temperature: 0, user: 'u' } },
      '{ "model":"m",\n "temperature": 1.0, "seed": 9007199254740993, "tools":[{"a":1, "b":2},{"a":3}],"user":"u" }',
    ],
    ['has its own null, which is no lack', { default_params: { model: 'other' } }, body],
    [
      'loses what is dropped, and is otherwise as it came',
      { drop_params: ['temperature', 'absent'] },
      '{ "model":"m", "seed": 9007199254740993, "tools":[{"a":1, "b":2},{"a":3}] }',
    ],
    [
      'has its defaults overridden and its overrides dropped',
      {
        default_params: { a: 1, b: 1, c: 1 },
        override_params: { b: 2, c: 2, d: 2 },
        drop_params: ['c', 'd'],
      },
      '{ "model":"m",\n "temperature": 1.0, "seed": 9007199254740993, "tools":[{"a":1, "b":2},{"a":3}],"a":1,"b":2 }',
    ],
    [
      'loses what is dropped in every element, and only that member is written anew',
      { drop_params: ['tools[*].a'] },
      '{ "model":"m",\n "temperature": 1.0, "seed": 9007199254740993, "tools":[{"b":2},{}] }',
    ],
    [
      'loses one element',
      { drop_params: ['tools[0]'] },
      '{ "model":"m",\n "temperature": 1.0, "seed": 9007199254740993, "tools":[{"a":3}] }',
    ],
    [
      'stays byte for byte where a path leads nowhere',
      { drop_params: ['tools[5].a', 'seed.a', 'model[0]', 'x[*].y'] },
      body,
    ],
    [
      'has what is dropped left out of an override',
      { override_params: { tools: [{ a: 1, b: 1 }] }, drop_params: ['tools[*].a'] },
      '{ "model":"m",\n "temperature": 1.0, "seed": 9007199254740993, "tools":[{"b":1}] }',
    ],
  ] as const) {
    it(what, () => {
      expect(sent(body, params)).to.equal(expected);
    });
  }

  it('has the model of the address, whatever an override sets, and loses it where it is dropped', () => {
    expect(sent('{"model":"@s/m"}', { override_params: { model: '@s/n' } }, 'n')).to.equal('{"model":"n"}');
    expect(sent('{"a":1}', { default_params: { model: 'n' } }, 'n')).to.equal('{"a":1,"model":"n"}');
    expect(sent('{"model":"@s/m","a":1}', { drop_params: ['model'] }, 'm')).to.equal('{"a":1}');
  });

  it('has no rule for the model where the path contains it', () => {
    const { x, address } = call('{"contents":[]}', 'm', [], true);
    const target = targetOf({
      default_params: { model: 'd', a: 1 },
      override_params: { model: 'o', b: 2 },
      drop_params: ['contents'],
    });
    expect(sameFormatBody(x, target, address).toString()).to.equal('{"a":1,"b":2}');
  });

  it('is passed through without rules of a parent and quirks of the provider', () => {
    const { x, address } = call(body, 'm', ['no-such-quirk']);
    const { root } = compileConfig(
      '{"override_params":{"a":1},"strategy":{"mode":"single"},"targets":[{"passthrough":true}]}',
      { slug: null, version: 'inline', isProvider: () => true },
    );
    expect(sameFormatBody(x, only(root), address)).to.equal(x.request.bytes);
  });

  it('leaves the body of the client as it was, for the target after this one', () => {
    const { x, address } = call(body);
    const before = stringifyJson(x.request.json);
    const target = targetOf({ drop_params: ['tools[*].a', 'seed'], override_params: { x: { y: 1 } } });
    sameFormatBody(x, target, address);
    mergedBody(x, target, address);
    expect(stringifyJson(x.request.json)).to.equal(before);
    expect(x.request.bytes?.toString()).to.equal(body);
  });

  it('has the same content by its bytes as after conversion', () => {
    const key = fc.constantFrom('a', 'b', 'c', 'model', '__proto__');
    const value = fc.oneof(
      fc.integer(),
      fc.string({ maxLength: 3 }),
      fc.array(fc.dictionary(key, fc.integer(), { maxKeys: 3 }), { maxLength: 3 }),
      fc.dictionary(key, fc.integer(), { maxKeys: 3 }),
    );
    const params = fc.dictionary(key, value, { maxKeys: 4 });
    const path = fc.constantFrom(
      'a',
      'b',
      'a.b',
      'b[0]',
      'c[*].a',
      '__proto__',
      'b[1].__proto__',
      'c[*]',
      'a[0].b',
    );
    fc.assert(
      fc.property(
        params,
        params,
        params,
        fc.array(path, { maxLength: 3 }),
        (given, default_params, override_params, drop_params) => {
          // JSON.parse makes `__proto__` a key like any other.
          const { x, address } = call(JSON.stringify(given));
          const target = targetOf({ default_params, override_params, drop_params });
          const named = { ...address, model: null };
          expect(JSON.parse(sameFormatBody(x, target, named).toString())).to.deep.equal(
            JSON.parse(stringifyJson(mergedBody(x, target, named))),
          );
        },
      ),
      { numRuns: 1000 },
    );
  });
});
