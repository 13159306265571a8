import { expect } from 'chai';
import fc from 'fast-check';
import { decode, encode, type Message } from '../../proto/codec.js';
import type { FieldShape, Shape } from '../../proto/shape.js';
import { type AdminMethod, adminTree } from '../../proto/tree.js';
import { AdminError } from '../../src/control-plane/administration/admin-error.js';
import { redacted } from '../../src/control-plane/administration/audit/redact.js';
import { bind } from '../../src/control-plane/administration/rest/bind.js';
import { readMessage, writeMessage } from '../../src/control-plane/administration/shape/json.js';
import { checkRules } from '../../src/control-plane/administration/shape/rules.js';

const methods = [...adminTree().methods.values()];

/** Runs `run`; a refusal of the request is fine, anything else is a bug. */
function refused(run: () => unknown): AdminError | null {
  try {
    run();
    return null;
  } catch (thrown) {
    if (thrown instanceof AdminError && thrown.code === 'AB01') return thrown;
    throw thrown;
  }
}

const hostile = fc.constantFrom<unknown>(
  ...[
    null,
    true,
    0,
    -1,
    1.5,
    2 ** 31,
    1e308,
    '',
    ' ',
    '5',
    'active',
    'a\0',
    '\ud800',
    '__proto__',
    '2026-02-30',
  ],
  ...[
    'x'.repeat(300),
    [],
    {},
    [[]],
    [null],
    JSON.parse('{"__proto__":{"a":1}}'),
    { constructor: { prototype: 1 } },
  ],
);
const names = fc.constantFrom('__proto__', 'constructor', 'toString', 'a', '', '\ud800', 'x'.repeat(200));

/** Values that the field takes, mostly. */
function one(field: FieldShape, depth: number): fc.Arbitrary<unknown> {
  const { kind, rules } = field;
  switch (kind) {
    case 'string':
      return rules.in === undefined
        ? fc.oneof(fc.string(), fc.constantFrom('abc', 'pc-abc', 'a@b.example', 'https://example.com'))
        : fc.constantFrom(...rules.in.split(' '));
    case 'bool':
      return fc.boolean();
    case 'int32':
      return fc.integer({ min: rules.min ?? -10, max: rules.max ?? (rules.min ?? 0) + 1000 });
    case 'double':
      return fc.double({ min: rules.min ?? -1e9, max: rules.max ?? 1e15, noNaN: true });
    case 'bytes':
      return fc.base64String();
    case 'timestamp':
      return fc
        .date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true })
        .map((at) => at.toISOString());
    case 'struct':
      return fc.dictionary(fc.string(), fc.jsonValue());
    case 'message':
      return objects(field.message!, depth + 1);
    default:
      return fc.jsonValue() as fc.Arbitrary<unknown>;
  }
}

function values(field: FieldShape, depth: number): fc.Arbitrary<unknown> {
  const good = one(field, depth);
  const whole = field.list
    ? fc.array(good, { maxLength: 3 })
    : field.map
      ? fc.dictionary(fc.oneof(fc.string(), names), good, { maxKeys: 3 })
      : good;
  return fc.oneof({ weight: 12, arbitrary: whole }, { weight: 1, arbitrary: hostile });
}

function objects(shape: Shape, depth: number): fc.Arbitrary<unknown> {
  if (depth > 3) return hostile;
  const fields = Object.fromEntries(
    shape.fields.filter(({ apart }) => !apart).map((field) => [field.jsonName, values(field, depth)]),
  );
  const known = fc.record(fields, {
    requiredKeys: shape.fields.filter(({ apart, rules }) => !apart && rules.required).map((f) => f.jsonName),
  });
  return fc.oneof(
    { weight: 12, arbitrary: known },
    {
      weight: 1,
      arbitrary: fc.tuple(known, names, hostile).map(([body, name, value]) => ({ ...body, [name]: value })),
    },
  );
}

function accepted(method: AdminMethod, body: unknown): Message | null {
  let message: Message | null = null;
  refused(() => {
    const read = readMessage(method.request, body);
    checkRules(method.request, read);
    message = read;
  });
  return message;
}

describe('requests of the administration plane under fuzz', () => {
  it('are taken or refused with AB01, and what is taken is the same over the wire', function () {
    this.timeout(60_000);
    let taken = 0;
    for (const method of methods) {
      fc.assert(
        fc.property(objects(method.request, 0), (body) => {
          const message = accepted(method, body);
          if (message === null) return;
          taken += 1;
          const crossed = decode(method.request, encode(method.request, message));
          const written = JSON.stringify(writeMessage(method.request, message));
          expect(JSON.stringify(writeMessage(method.request, crossed))).to.equal(written);
          expect(refused(() => checkRules(method.request, crossed))).to.equal(null);
          JSON.stringify(redacted(method.request, message, () => 'hash'));
        }),
        { numRuns: 16 },
      );
    }
    expect(({} as Record<string, unknown>)['a']).to.equal(undefined);
    // Else nothing was tried.
    expect(taken).to.be.greaterThan(methods.length * 2);
  });

  it('of any bytes over gRPC are a message, or refused before the method runs', () => {
    for (const { request } of methods) {
      fc.assert(
        fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
          let message: Message;
          try {
            message = decode(request, bytes);
          } catch {
            return;
          }
          refused(() => checkRules(request, message));
          JSON.stringify(writeMessage(request, message));
        }),
        { numRuns: 16 },
      );
    }
  });

  it('of any query, path and body over REST are bound, or refused with a 4xx', () => {
    const text = fc.oneof(
      fc.string(),
      fc.constantFrom('%', '%ff', '%00', 'a=b&a=c', 'page_size=0', '&&=&', 'x[]=1'),
    );
    for (const method of methods) {
      for (const binding of method.bindings) {
        fc.assert(
          fc.property(fc.array(text, { minLength: 4, maxLength: 4 }), text, text, (captured, query, body) => {
            refused(() =>
              bind(method, binding, captured, {
                ...{ verb: binding.verb, path: '/', query, headers: [], address: '' },
                body: Buffer.from(body),
                gone: new AbortController().signal,
              }),
            );
          }),
          { numRuns: 8 },
        );
      }
    }
  });

  it('nest no message in itself, so that none is without end', () => {
    const visit = (shape: Shape, above: readonly string[]): void => {
      expect(above, `${above.join(' > ')} > ${shape.name}`).to.not.include(shape.name);
      for (const { message } of shape.fields) if (message !== null) visit(message, [...above, shape.name]);
    };
    for (const { request, response } of methods) for (const shape of [request, response]) visit(shape, []);
  });
});
