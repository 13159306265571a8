import { expect } from 'chai';
import fc from 'fast-check';
import { GatewayError } from '../../src/common/core/errors.js';
import { type ClientRequest, Exchange } from '../../src/common/core/exchange.js';
import { parseJson } from '../../src/common/json/json.js';
import { QueryCompiler } from '../../src/data-plane/routing/conditions.js';
import { Findings } from '../../src/data-plane/routing/findings.js';
import { quickest } from '../support/quickest.js';
import { expectWithinMs } from '../support/time-limits.js';

/** What a call brings; everything else is the same for all. */
interface Call {
  readonly body?: string;
  readonly metadata?: Record<string, string>;
  readonly headers?: string[];
  readonly path?: string;
}

function exchange({
  body = '{}',
  metadata = {},
  headers = [],
  path = '/v1/chat/completions',
}: Call): Exchange {
  const request: ClientRequest = {
    method: 'POST',
    path,
    query: '',
    headers,
    remoteAddress: '127.0.0.1',
    bytes: Buffer.from(body),
    stream: null,
    json: parseJson(body) as Record<string, unknown>,
  };
  const x = new Exchange('req-1', { name: 'chat', format: 'openai-chat', body: 'json' }, request);
  x.metadata = metadata;
  return x;
}

const compile = (query: object): ((x: Exchange) => boolean) => {
  const wrong = new Findings();
  const test = new QueryCompiler(wrong, ['x-gateway-']).compile(query, 'q');
  if (!wrong.none) throw wrong.error();
  return test;
};

const holds = (query: object, call: Call): boolean => compile(query)(exchange(call));

/** What a query is refused with; empty where it compiles. */
function findings(...queries: unknown[]): string[] {
  const wrong = new Findings();
  const compiler = new QueryCompiler(wrong, ['x-gateway-']);
  queries.forEach((query, i) => {
    compiler.compile(query as object, `q${i}`);
  });
  return wrong.none
    ? []
    : (wrong.error().errors ?? []).map((line) => line.replace(/^path: (.+?), message: /s, '$1: '));
}

describe('a condition', () => {
  const body = '{"model":"gpt-4o","n":3,"big":9007199254740993,"on":true,"none":null,"tools":[{"name":"f"}]}';
  const call: Call = {
    body,
    metadata: { plan: 'paid', seats: '12', toString: 'own' },
    headers: ['x-region', 'eu', 'x-count', '7'],
    path: '/v1/messages',
  };
  for (const [query, expected] of [
    [{ 'metadata.plan': 'paid' }, true],
    [{ 'metadata.plan': { $eq: 'free' } }, false],
    [{ 'metadata.plan': { $ne: 'free' } }, true],
    [{ 'metadata.plan': { $ne: 'paid' } }, false],
    [{ 'metadata.absent': { $ne: 'paid' } }, false],
    [{ 'metadata.absent': { $nin: ['paid'] } }, false],
    [{ 'metadata.absent': { $lt: 'z' } }, false],
    [{ 'metadata.absent': { $regex: '.*' } }, false],
    [{ 'metadata.absent': null }, false],
    [{ 'metadata.seats': { $gt: 11 } }, true],
    [{ 'metadata.seats': { $gte: 12, $lte: 12 } }, true],
    [{ 'metadata.seats': { $lt: 12 } }, false],
    [{ 'metadata.seats': { $gt: '2' } }, false],
    [{ 'metadata.plan': { $gt: 1 } }, false],
    [{ 'metadata.seats': '12' }, true],
    [{ 'metadata.seats': { $ne: null } }, true],
    [{ 'metadata.toString': 'own' }, true],
    [{ 'params.model': { $in: ['gpt-4o', 'o3'] } }, true],
    [{ 'params.model': { $nin: ['gpt-4o'] } }, false],
    [{ 'params.model': { $regex: '^gpt-4' } }, true],
    [{ 'params.model': { $regex: '(?i)^GPT' } }, true],
    [{ 'params.model': { $regex: '^4o' } }, false],
    [{ 'params.n': 3 }, true],
    [{ 'params.n': '3' }, false],
    [{ 'params.n': { $regex: '3' } }, false],
    [{ 'params.big': { $gt: 9007199254740000 } }, true],
    [{ 'params.big.value': '9007199254740993' }, false],
    [{ 'params.on': true }, true],
    [{ 'params.none': null }, true],
    [{ 'params.tools.0.name': 'f' }, true],
    [{ 'params.tools[0].name': 'f' }, true],
    [{ 'params.tools[1].name': 'f' }, false],
    [{ 'params.model.length': 6 }, false],
    [{ 'params.constructor.name': 'Object' }, false],
    [{ 'params.__proto__.x': null }, false],
    [{ 'metadata.__proto__': { $ne: 'x' } }, false],
    [{ 'headers.X-Region': 'eu' }, true],
    [{ 'headers.x-count': { $gte: 7 } }, true],
    [{ 'url.pathname': '/v1/messages' }, true],
    [{ 'metadata.plan': 'paid', 'params.n': 4 }, false],
    [{ $and: [{ 'metadata.plan': 'paid' }, { 'params.n': 3 }] }, true],
    [{ $or: [{ 'metadata.plan': 'free' }, { 'params.n': 3 }] }, true],
    [{ $or: [{ 'metadata.plan': 'free' }, { $and: [{ 'params.n': 3 }, { 'params.on': false }] }] }, false],
  ] as const) {
    it(`${JSON.stringify(query)} ${expected ? 'holds' : 'does not hold'}`, () => {
      expect(holds(query, call)).to.equal(expected);
    });
  }

  it('holds for no body and no metadata, and throws for none', () => {
    for (const text of ['[]', '1', '"a"', 'null', '{"a":[]}'])
      expect(holds({ 'params.a.b.c': 'x' }, { body: text })).to.equal(false);
  });

  it('does as the same comparison of plain values does', () => {
    const value = fc.oneof(
      fc.string({ maxLength: 3 }),
      fc.integer({ min: -3, max: 3 }),
      fc.boolean(),
      fc.constant(null),
    );
    fc.assert(
      fc.property(value, value, (found, wanted) => {
        const made = { body: JSON.stringify({ a: found }) };
        expect(holds({ 'params.a': wanted }, made)).to.equal(found === wanted);
        expect(holds({ 'params.a': { $ne: wanted } }, made)).to.equal(found !== wanted);
        expect(holds({ 'params.a': { $in: [wanted, 9] } }, made)).to.equal(found === wanted);
      }),
    );
  });
});

describe('a query is refused', () => {
  const deep = (levels: number): object => (levels === 0 ? { 'params.a': 1 } : { $and: [deep(levels - 1)] });
  for (const [what, query, finding] of [
    ['where it is empty', {}, 'q0: is empty: name what is to be compared'],
    [
      'for an unknown operator',
      { 'params.a': { $where: '1' } },
      'q0["params.a"]["$where"]: is no operator: $eq, $ne, $gt, $gte, $lt, $lte, $in, $nin or $regex',
    ],
    [
      'for an unknown logical operator',
      { $nor: [] },
      'q0["$nor"]: is no field to compare: metadata.<key>, params.<path>, headers.<name>, url.pathname, $and or $or',
    ],
    [
      'for a field of the runtime',
      { 'constructor.name': 'x' },
      'q0["constructor.name"]: is no field to compare: metadata.<key>, params.<path>, headers.<name>, url.pathname, $and or $or',
    ],
    [
      'for a prototype',
      JSON.parse('{"__proto__.x":1}'),
      'q0["__proto__.x"]: is no field to compare: metadata.<key>, params.<path>, headers.<name>, url.pathname, $and or $or',
    ],
    [
      'for a path of all elements',
      { 'params.a[*].b': 1 },
      'q0["params.a[*].b"]: is no field to compare: metadata.<key>, params.<path>, headers.<name>, url.pathname, $and or $or',
    ],
    [
      'for an object as a value',
      { 'params.a': { $eq: {} } },
      'q0["params.a"]["$eq"]: must be text, a number, true, false or null',
    ],
    [
      'for a number that metadata is to equal, which is text',
      { 'metadata.seats': 12 },
      'q0["metadata.seats"]: is compared with what is always text, and must be text too: "12"',
    ],
    [
      'for true that a header is not to equal, which is text',
      { 'headers.x-on': { $ne: true } },
      'q0["headers.x-on"]["$ne"]: is compared with what is always text, and must be text too: "true"',
    ],
    [
      'for a number in a list for metadata',
      { 'metadata.seats': { $in: ['12', 13] } },
      'q0["metadata.seats"]["$in"][1]: is compared with what is always text, and must be text too: "13"',
    ],
    [
      'for false in a list for the path',
      { 'url.pathname': { $nin: [false] } },
      'q0["url.pathname"]["$nin"][0]: is compared with what is always text, and must be text too: "false"',
    ],
    [
      'for no list',
      { 'params.a': { $in: 'x' } },
      'q0["params.a"]["$in"]: must be a list of 1 to 1000 values',
    ],
    [
      'for an order of what has none',
      { 'params.a': { $gt: true } },
      'q0["params.a"]["$gt"]: must be a number or text',
    ],
    ['at 17 levels', deep(16), `q0${'["$and"][0]'.repeat(16)}: is nested too deep: at most 16 levels`],
    ['at 10,000 levels', deep(5000), `q0${'["$and"][0]'.repeat(16)}: is nested too deep: at most 16 levels`],
    [
      'for a pattern that is none',
      { 'params.a': { $regex: 'a(' } },
      'q0["params.a"]["$regex"]: is no regular expression in RE2\'s syntax: error parsing regexp: missing closing ): `a(`',
    ],
    [
      'for a pattern that looks back',
      { 'params.a': { $regex: '(a)\\1' } },
      'q0["params.a"]["$regex"]: is no regular expression in RE2\'s syntax: error parsing regexp: invalid escape sequence: `\\1`',
    ],
    [
      'for a pattern of 100 KB',
      { 'params.a': { $regex: 'a'.repeat(102_400) } },
      'q0["params.a"]["$regex"]: must be a regular expression of 1 to 1024 characters',
    ],
  ] as const) {
    it(what, () => {
      expect(findings(query)).to.deep.equal([finding]);
    });
  }

  for (const name of ['authorization', 'X-API-Key', 'api-key', 'cookie', 'x-goog-api-key']) {
    it(`for a look at the header ${name}, which may carry a key`, () => {
      expect(findings({ [`headers.${name}`]: { $regex: '^Bearer sk-a' } })[0]).to.include(
        'is a header that carries keys',
      );
    });
  }
  it("for a look at one of the gateway's own headers", () => {
    expect(findings({ 'headers.x-gateway-api-key': 'gw_1' })[0]).to.include("the gateway's own headers");
  });

  it('past a thousand comparisons of one config', () => {
    const many = (count: number) => ({ $or: Array.from({ length: count }, (_, i) => ({ 'params.a': i })) });
    expect(findings(many(200), many(200), many(200), many(200), many(200))).to.deep.equal([]);
    expect(findings(many(200), many(200), many(200), many(200), many(200), many(1))).to.deep.equal([
      'q5["$or"][0]["params.a"]: makes too many comparisons: at most 1000 a config',
    ]);
  });

  it('with AB01, whatever it holds', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom('params.a', '$and', '$or', 'metadata.b', 'x'), fc.jsonValue()),
        (query) => {
          try {
            compile(query)(exchange({ body: '{"a":1}' }));
          } catch (thrown) {
            if (!(thrown instanceof GatewayError) || thrown.code !== 'AB01') throw thrown;
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('the patterns of a config', () => {
  const pattern = (text: string) => ({ 'params.a': { $regex: text } });
  const tooLarge =
    /^q0\["params\.a"\]\["\$regex"\]: makes the patterns of this config too large together: \d+, at most 1000 /;

  for (const text of [
    'a{1,100000}',
    '(((a{100}){100}){100}){100}',
    '(a{1000}[(]b){1000}',
    '\\Q[\\E(a{1000}){1000}',
    '\\pL'.repeat(300),
  ]) {
    it(`are refused before they are compiled where they are too large: ${text.slice(0, 30)}`, async () => {
      let found: string[] = [];
      // The aim is one; a machine that does other things too may take its time.
      expectWithinMs(await quickest(3, () => (found = findings(pattern(text)))), 20);
      expect(found).to.have.length(1);
      expect(found[0]).to.match(tooLarge);
    });
  }

  for (const text of [
    '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}',
    '(?i)\\b(?:claude|gpt|gemini)\\b',
    '^\\p{L}+$',
    '[[:alpha:]]{1,64}',
    '[]()]{2}',
    '\\x{41}',
  ])
    it(`are taken in the sizes that people write: ${text}`, () => {
      expect(findings(pattern(text))).to.deep.equal([]);
    });

  it('share one size', () => {
    const some = Array.from({ length: 12 }, (_, i) => pattern(`x{70}${i}`));
    expect(findings(...some)).to.deep.equal([]);
    expect(findings(...some, pattern('y{70}'))[0]).to.match(/^q12.*too large together/);
  });

  it('see the beginning of a long text alone', () => {
    const test = compile(pattern('b'));
    expect(test(exchange({ body: JSON.stringify({ a: `${'a'.repeat(5000)}b` }) }))).to.equal(true);
    expect(test(exchange({ body: JSON.stringify({ a: `${'a'.repeat(10_000)}b` }) }))).to.equal(false);
  });

  // As large as a config may make them, on texts that give them the most to do.
  const random = (length: number, letters: string, seed: number): string => {
    let state = seed;
    return Array.from({ length }, () => {
      state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
      return letters[(state >> 16) % letters.length];
    }).join('');
  };
  for (const [what, patterns, letters] of [
    ['nested repeats', ['^(a+)+$'], 'a'],
    ['blanks before an end', ['\\s+$'], ' '],
    ['many states, small', ['[ab]*a[ab]{14}[cd]'], 'ab'],
    ['many states, large', ['[ab]*a[ab]{900}[cd]'], 'ab'],
    ['many ways', ['(?:.*a){60}[01]'], 'ab'],
    ['classes of Unicode', ['\\pL{1,45}[01]'], 'abé'],
    ['many patterns', Array.from({ length: 25 }, (_, i) => `[ab]*a[ab]{${8 + (i % 5)}}[cd]${i}`), 'ab'],
  ] as const) {
    it(`hold up a worker for no more than 5 ms: ${what}`, async () => {
      const test = compile({ $or: patterns.map(pattern) });
      let seed = 1;
      const calls = Array.from({ length: 40 }, () =>
        exchange({ body: JSON.stringify({ a: random(9000, letters, seed++) }) }),
      );
      // The first runs are the compiler's of JavaScript: what counts is what every further call pays.
      for (const x of calls.slice(0, 20)) test(x);
      let next = 20;
      expectWithinMs(await quickest(15, () => test(calls[next++]!)), 5);
    }).timeout(10_000);
  }

  it('are compiled once: a test of a short text costs microseconds', async () => {
    const test = compile(pattern('(?i)^(?:gpt|claude)-'));
    const x = exchange({ body: '{"a":"claude-sonnet-4-5"}' });
    expect(test(x)).to.equal(true);
    const thousand = await quickest(5, () => {
      for (let i = 0; i < 1000; i++) test(x);
    });
    expectWithinMs(thousand, 20);
  });
});
