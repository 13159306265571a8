// lane: slow
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import protobuf from 'protobufjs';
import { encode, type Message } from '../../proto/codec.js';
import type { FieldShape, Shape } from '../../proto/shape.js';
import { type AdminMethod, adminTree } from '../../proto/tree.js';
import { scanJson } from '../../src/common/json/json-scan.js';
import { AdminError } from '../../src/control-plane/administration/admin-error.js';
import { readRequest } from '../../src/control-plane/administration/grpc/grpc.js';
import { refusalOf } from '../../src/control-plane/administration/grpc/grpc-refusal.js';
import { readSpans } from '../../src/control-plane/administration/resources/logs/spans/otlp-request.js';
import { bind } from '../../src/control-plane/administration/rest/bind.js';
import { checkRules } from '../../src/control-plane/administration/shape/rules.js';
import { quickest } from '../support/quickest.js';
import { expectWithinMs } from '../support/time-limits.js';

const methodOf = (name: string): AdminMethod => {
  const found = [...adminTree().methods.values()].find((method) => method.name === name);
  if (found === undefined) throw new Error(name);
  return found;
};
const createConfig = methodOf('Configs.CreateConfig');
const createCollection = methodOf('Collections.CreateCollection');
const applyDocuments = methodOf('Documents.ApplyDocuments');

function problemOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    return (error as Error).message;
  }
  return 'none';
}

const overRest = (method: AdminMethod, body: string): unknown => {
  const request = {
    ...{ verb: 'POST', path: '/', query: '', address: '', gone: new AbortController().signal },
    headers: ['content-type', 'application/json'],
    body: Buffer.from(body),
  };
  const message = bind(method, method.bindings[0]!, [], request);
  checkRules(method.request, message);
  return message;
};
const overGrpc = (method: AdminMethod, bytes: Buffer): unknown => {
  const message = readRequest(method, bytes);
  checkRules(method.request, message);
  return message;
};
const configOf = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 1]));

const most = (field: FieldShape): number => field.rules.max_items ?? 1;
const hasLong = (shape: Shape, depth = 0): boolean =>
  shape.fields.some(
    (field) =>
      most(field) >= 500 || (depth < 4 && field.message !== null && hasLong(field.message, depth + 1)),
  );

/** A value of each field; lists and maps that may have 500 items or more have as many as they may. */
function filled(shape: Shape, depth = 0): Message {
  const message: Record<string, unknown> = {};
  for (const field of shape.fields) {
    // Lists of free objects in it have limits of their own.
    if (field.kind === 'message' && depth > 3) continue;
    const count = most(field) >= 500 ? most(field) : Math.min(most(field), 8);
    if (field.map) {
      const names = Array.from({ length: count }, (_, i) => `k${i}`);
      message[field.name] = Object.fromEntries(names.map((name) => [name, exampleOf(field, depth)]));
    } else if (field.list) message[field.name] = Array.from({ length: count }, () => exampleOf(field, depth));
    else message[field.name] = exampleOf(field, depth);
  }
  return message;
}

function exampleOf({ kind, message }: FieldShape, depth: number): unknown {
  switch (kind) {
    case 'message':
      return filled(message!, depth + 1);
    case 'string':
      return 'a';
    case 'bool':
      return true;
    case 'int32':
    case 'double':
      return 1;
    case 'bytes':
      return Buffer.from('a');
    case 'timestamp':
      return '2030-01-31T00:00:00.000Z';
    case 'mask':
      return [];
    case 'value':
    case 'struct':
      return { a: 'b', c: 1, d: true, e: 'f', g: 2, h: 'i', j: 'k', l: 'm', n: 3, o: 'p' };
  }
}

describe('the size of requests of the administration', () => {
  const tooMany = /more than 30000 names and values/;

  it('is refused by their number of values, over both transports', () => {
    expect(
      problemOf(() => overRest(createConfig, `{"name":"x","config":[${'{},'.repeat(1_200_000)}1]}`)),
    ).to.match(tooMany);
    const config = Array.from({ length: 10 }, () => configOf(9000));
    expect(problemOf(() => overRest(createConfig, JSON.stringify({ name: 'x', config })))).to.match(tooMany);
    const bytes = encode(createConfig.request, { name: 'x', config });
    expect(problemOf(() => overGrpc(createConfig, bytes))).to.match(tooMany);
    const nothing = Buffer.from('0a00'.repeat(2_000_000), 'hex');
    expect(problemOf(() => overGrpc(createCollection, nothing))).to.match(tooMany);
    expect(problemOf(() => overGrpc(applyDocuments, nothing))).to.match(/more than 400000 names and values/);
  });

  it('has room for what requests have', () => {
    const documents = Array.from({ length: 2000 }, (_, i) => ({
      kind: 'Config',
      name: `n${i}`,
      spec: configOf(20),
    }));
    expect(problemOf(() => overRest(applyDocuments, JSON.stringify({ documents })))).to.equal('none');
    expect(problemOf(() => overGrpc(applyDocuments, encode(applyDocuments.request, { documents })))).to.equal(
      'none',
    );
  });

  it('has room for ten thousand small documents', () => {
    const documents = Array.from({ length: 10_000 }, (_, i) => ({
      kind: 'ApiKey',
      name: `key-${i}`,
      spec: {
        ...{ type: 'workspace', sub_type: 'service', workspace: 'w', description: 'key of a service', a: 1 },
        ...{ scopes: ['completions.write'], rate_limits: [{ type: 'requests', unit: 'rpm', value: 100 }] },
        defaults: { metadata: { team: 'a' } },
      },
    }));
    expect(problemOf(() => overRest(applyDocuments, JSON.stringify({ documents })))).to.equal('none');
    expect(problemOf(() => overGrpc(applyDocuments, encode(applyDocuments.request, { documents })))).to.equal(
      'none',
    );
  });

  it('has room for each list and map that may have 500 items or more', () => {
    const large = [...adminTree().methods.values()].filter(({ request }) => hasLong(request));
    expect(large).to.have.length.above(10);
    const refused = large.filter((method) => {
      const message = filled(method.request);
      const grpc = problemOf(() => readRequest(method, encode(method.request, message)));
      const rest = problemOf(() => overRest(method, JSON.stringify(message)));
      return [grpc, rest].some((problem) => /names and values|more than \d+ (values|tokens)/.test(problem));
    });
    expect(refused.map(({ name }) => name)).to.deep.equal([]);
  });

  for (const [about, text] of [
    ['letters', 'x'.repeat(3_500_000)],
    ['emoji', '\u{1f600}'.repeat(850_000)],
    ['NUL', '\0'.repeat(600_000)],
  ] as const) {
    it(`is refused at once if it is one text of 3 MB: ${about}`, async function () {
      this.timeout(30_000);
      for (const name of ['name', 'parent_collection_id', 'workspace_id']) {
        const body = { name: 'x', [name]: text };
        expect(problemOf(() => checkRules(createCollection.request, body))).to.match(
          /must be at most (255|65536) characters long/,
        );
        expectWithinMs(
          await quickest(3, () => problemOf(() => checkRules(createCollection.request, body))),
          10,
        );
      }
    });
  }
});

describe('the length of a text without another limit', () => {
  const longest = 65_536;
  const problem = (text: string): string =>
    problemOf(() => checkRules(createCollection.request, { name: 'x', parent_collection_id: text }));

  it('is at most 65,536 UTF-16 units', () => {
    expect(problem('x'.repeat(longest))).to.equal('none');
    expect(problem('\u{1f600}'.repeat(longest / 2))).to.equal('none');
    for (const text of ['x'.repeat(longest + 1), '\u{1f600}'.repeat(longest / 2 + 1)])
      expect(problem(text)).to.match(/must be at most 65536 characters long/);
  });
});

describe('the size of refusals', () => {
  it('is small, whatever names the request has', () => {
    const name = '\u4e2d'.repeat(1_000_000);
    const error = AdminError.fields([{ path: name, problem: `is not a field of ${name}.` }]);
    expect(error.message).to.have.length(2001);
    expect(error.faults.map(({ path, problem }) => [path.length, problem.length])).to.deep.equal([
      [2001, 2001],
    ]);
    const { details, metadata } = refusalOf(error, 'id');
    const headers = JSON.stringify(metadata?.toHttp2Headers() ?? {});
    expect(encodeURI(details ?? '').length + headers.length).to.be.below(8192);
    // A cut within a pair.
    const pairs = AdminError.field('x', '\u{1f600}'.repeat(2000));
    for (const message of [pairs.message, `x${pairs.message}`])
      expect(() => encodeURI(refusalOf(new AdminError('AB01', message), 'id').details ?? '')).to.not.throw();
  });
});

describe('the size of spans', () => {
  const spans = (count: number, attributes: number): string => {
    const list = Array.from(
      { length: attributes },
      (_, i) => `{"key":"k${i}","value":{"stringValue":"v"}}`,
    ).join();
    const one = `{"name":"x","attributes":[${list}]}`;
    return `{"resourceSpans":[{"scopeSpans":[{"spans":[${Array.from({ length: count }, () => one).join()}]}]}]}`;
  };
  const field = (tag: number, bytes: Uint8Array): Uint8Array =>
    protobuf.Writer.create().uint32(tag).bytes(bytes).finish();
  const spansOnWire = (count: number, attributes: number): Buffer => {
    const value = Buffer.concat([field(10, Buffer.from('key')), field(18, field(10, Buffer.from('v')))]);
    const span = Buffer.concat(Array.from({ length: attributes }, () => field(74, value)));
    const all = Buffer.concat(Array.from({ length: count }, () => field(18, span)));
    return Buffer.from(field(10, field(18, all)));
  };
  const refusal = async (body: Buffer, encoding: 'json' | 'protobuf'): Promise<string> =>
    readSpans(body, encoding).then(
      (read) => `${read.length} spans`,
      (error: Error) => error.message,
    );

  it('is refused by the number of values, however they are compressed', async () => {
    const empty = Buffer.from(`{"resourceSpans":[${'{},'.repeat(2_600_000)}{}]}`);
    const fields = Buffer.from('0a00'.repeat(4_000_000), 'hex');
    for (const [body, encoding] of [
      [empty, 'json'],
      [fields, 'protobuf'],
    ] as const) {
      expect(await refusal(body, encoding)).to.match(/more than 1000000 names and values/);
      expect(await refusal(gzipSync(body), encoding)).to.match(/more than 1000000 names and values/);
    }
    const members = Array.from({ length: 20_000 }, (_, i) => `"k${i}":1`).join();
    expect(await refusal(Buffer.from(`{"a":{${members}}}`), 'json')).to.match(/more than 10000 members/);
    expect(await refusal(Buffer.from(`{"a":${'['.repeat(100_000)}`), 'json')).to.match(
      /deeper than 1000 levels/,
    );
  });

  it('is refused without reading the body to its end', async function () {
    this.timeout(30_000);
    const body = Buffer.from(`{"resourceSpans":[${'{},'.repeat(2_600_000)}{}]}`);
    const least = await quickest(5, () =>
      scanJson(body, { maxDepth: 64, maxTokens: 1_000_000, maxMembers: 10_000 }),
    );
    expectWithinMs(least, 20);
  });

  it('has room for what exporters send', async () => {
    expect(await refusal(Buffer.from(spans(8192, 10)), 'json')).to.equal('8192 spans');
    expect(await refusal(spansOnWire(8192, 10), 'protobuf')).to.equal('8192 spans');
  });
});
