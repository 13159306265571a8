import { everyElement } from '../../common/core/target.js';
import { getHeader } from '../../common/http/headers.js';
import { isJsonObject, LosslessNumber } from '../../common/json/json.js';
import { PatternRefused } from '../../common/text/pattern.js';
import type { RequestFacts } from '../../common/vocabulary/request-facts.js';
import { credentialComplaint } from './credential-headers.js';
import { childPath, type Findings } from './findings.js';
import { readParamPath } from './param-path.js';
import { PatternBudget } from './pattern-budget.js';

type Test = (facts: RequestFacts) => boolean;
type Read = (facts: RequestFacts) => unknown;
type Scalar = string | number | boolean | null;

interface Field {
  readonly read: Read;
  /** Can it only be text? */
  readonly isText: boolean;
}

const never: Test = () => false;

/** Levels of `$and` and `$or` of one query. */
const maxDepth = 16;
/** Comparisons of one config, all of its queries together. */
const maxComparisons = 1000;
/** Longest list of `$and` and `$or`, of `$in`, and longest pattern. */
const maxQueries = 200;
const maxValues = 1000;
const maxPattern = 1024;
/** Bytes of heap of a comparison, and of each value that it compares with, beside the texts. Rounded up. */
const comparisonBytes = 600;
const valueBytes = 64;
/** Longest text that may be a number. */
const maxDigits = 64;

/** Compiles the queries of one config, each once. */
export class QueryCompiler {
  readonly #findings: Findings;
  readonly #headerPrefixes: readonly string[];
  readonly #patterns = new PatternBudget();
  #comparisons = 0;
  #values = 0;

  /** Bytes of heap that the tests compiled so far take, without the texts of their queries. An estimate, rounded up. */
  get bytes(): number {
    return this.#patterns.bytes + comparisonBytes * this.#comparisons + valueBytes * this.#values;
  }

  /** Errors of a query are added to `findings`; such a query never holds. */
  constructor(findings: Findings, headerPrefixes: readonly string[]) {
    this.#findings = findings;
    this.#headerPrefixes = headerPrefixes;
  }

  /** `path` is the place of the query in the config. */
  compile(query: object, path: string): Test {
    return this.#query(query, path, 1);
  }

  /** All of its keys must hold. */
  #query(value: unknown, path: string, depth: number): Test {
    if (!isJsonObject(value)) return this.#wrong(path, 'must be an object of conditions');
    if (depth > maxDepth) return this.#wrong(path, `is nested too deep: at most ${maxDepth} levels`);
    const keys = Object.keys(value);
    if (keys.length === 0) return this.#wrong(path, 'is empty: name what is to be compared');
    return all(
      keys.map((key) => {
        const at = childPath(path, key);
        if (key === '$and' || key === '$or') return this.#several(key, value[key], at, depth);
        return this.#field(key, value[key], at);
      }),
    );
  }

  #several(operator: '$and' | '$or', value: unknown, path: string, depth: number): Test {
    if (!Array.isArray(value) || value.length === 0 || value.length > maxQueries) {
      return this.#wrong(path, `must be a list of 1 to ${maxQueries} queries`);
    }
    const tests = value.map((query, i) => this.#query(query, `${path}[${i}]`, depth + 1));
    return operator === '$and' ? all(tests) : any(tests);
  }

  #field(name: string, value: unknown, path: string): Test {
    const read = fieldReader(name);
    if (read === null) {
      return this.#wrong(
        path,
        'is no field to compare: metadata.<key>, params.<path>, headers.<name>, url.pathname, $and or $or',
      );
    }
    if (name.startsWith('headers.')) {
      const complaint = credentialComplaint(name.slice('headers.'.length), this.#headerPrefixes);
      if (complaint !== null) return this.#wrong(path, complaint);
    }
    const field: Field = { read, isText: !name.startsWith('params.') };
    if (!isJsonObject(value)) return this.#compare(field, '$eq', value, path);
    const operators = Object.keys(value);
    if (operators.length === 0) return this.#wrong(path, 'is empty: give a value or an operator');
    return all(
      operators.map((operator) => this.#compare(field, operator, value[operator], childPath(path, operator))),
    );
  }

  #compare(field: Field, operator: string, given: unknown, path: string): Test {
    const { read } = field;
    this.#comparisons++;
    if (this.#comparisons > maxComparisons) {
      return this.#wrong(path, `makes too many comparisons: at most ${maxComparisons} a config`);
    }
    switch (operator) {
      case '$eq':
      case '$ne': {
        const wanted = this.#value(field, given, path);
        if (wanted === undefined) return never;
        // A missing key makes both comparisons false.
        return operator === '$eq'
          ? (facts) => read(facts) === wanted
          : (facts) => {
              const found = read(facts);
              return found !== undefined && found !== wanted;
            };
      }
      case '$in':
      case '$nin':
        return this.#listed(field, operator, given, path);
      case '$gt':
      case '$gte':
      case '$lt':
      case '$lte':
        return this.#ordered(read, operator, given, path);
      case '$regex':
        return this.#pattern(read, given, path);
      default:
        return this.#wrong(path, 'is no operator: $eq, $ne, $gt, $gte, $lt, $lte, $in, $nin or $regex');
    }
  }

  /** The value that a field is compared with; undefined: an impossible one, which was added to the findings. */
  #value({ isText }: Field, given: unknown, path: string): Scalar | undefined {
    const value = scalar(given);
    if (value === undefined) this.#findings.add(path, 'must be text, a number, true, false or null');
    if (!isText || (typeof value !== 'number' && typeof value !== 'boolean')) return value;
    this.#findings.add(path, `is compared with what is always text, and must be text too: "${value}"`);
    return undefined;
  }

  #listed(field: Field, operator: '$in' | '$nin', given: unknown, path: string): Test {
    const { read } = field;
    if (!Array.isArray(given) || given.length === 0 || given.length > maxValues) {
      return this.#wrong(path, `must be a list of 1 to ${maxValues} values`);
    }
    this.#values += given.length;
    const wanted = new Set<unknown>();
    for (const [i, item] of given.entries()) wanted.add(this.#value(field, item, `${path}[${i}]`));
    return operator === '$in'
      ? (facts) => wanted.has(read(facts))
      : (facts) => {
          const found = read(facts);
          return found !== undefined && !wanted.has(found);
        };
  }

  #ordered(read: Read, operator: '$gt' | '$gte' | '$lt' | '$lte', given: unknown, path: string): Test {
    const limit = scalar(given);
    if (typeof limit !== 'number' && typeof limit !== 'string') {
      return this.#wrong(path, 'must be a number or text');
    }
    const holds = orders[operator];
    return (facts) => {
      const found = comparable(read(facts), limit);
      return found !== null && holds(found, limit);
    };
  }

  #pattern(read: Read, given: unknown, path: string): Test {
    if (typeof given !== 'string' || given === '' || given.length > maxPattern) {
      return this.#wrong(path, `must be a regular expression of 1 to ${maxPattern} characters`);
    }
    try {
      const test = this.#patterns.compile(given);
      return (facts) => {
        const found = read(facts);
        return typeof found === 'string' && test(found);
      };
    } catch (thrown) {
      if (thrown instanceof PatternRefused) return this.#wrong(path, thrown.message);
      throw thrown;
    }
  }

  #wrong(path: string, message: string): Test {
    this.#findings.add(path, message);
    return never;
  }
}

// Loops, since `every` and `some` would make a function of every call.
function all(tests: readonly Test[]): Test {
  if (tests.length === 1) return tests[0]!;
  return (facts) => {
    for (const test of tests) if (!test(facts)) return false;
    return true;
  };
}

function any(tests: readonly Test[]): Test {
  if (tests.length === 1) return tests[0]!;
  return (facts) => {
    for (const test of tests) if (test(facts)) return true;
    return false;
  };
}

type Comparison = (found: string | number, limit: string | number) => boolean;

const orders: Record<'$gt' | '$gte' | '$lt' | '$lte', Comparison> = {
  $gt: (found, limit) => found > limit,
  $gte: (found, limit) => found >= limit,
  $lt: (found, limit) => found < limit,
  $lte: (found, limit) => found <= limit,
};

/** Text compares with text. Metadata and headers have numbers as text: compared with a number they are converted. */
function comparable(found: unknown, limit: string | number): string | number | null {
  if (typeof found === typeof limit) return found as string | number;
  if (typeof limit !== 'number' || typeof found !== 'string') return null;
  if (found.length > maxDigits || found.trim() === '') return null;
  const number = Number(found);
  return Number.isNaN(number) ? null : number;
}

function scalar(value: unknown): Scalar | undefined {
  if (value instanceof LosslessNumber) return Number(value.value);
  if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return value as Scalar;
  return undefined;
}

/** The reader for a field's name; null: there is no such field. */
export function fieldReader(name: string): Read | null {
  if (name === 'url.pathname') return (facts) => facts.request.path;
  const dot = name.indexOf('.');
  const rest = name.slice(dot + 1);
  if (dot < 0 || rest === '') return null;
  switch (name.slice(0, dot)) {
    case 'metadata':
      return (facts) => ownValue(facts.metadata, rest);
    case 'headers': {
      const lower = rest.toLowerCase();
      return (facts) => getHeader(facts.request.headers, lower);
    }
    case 'params': {
      const path = readParamPath(rest);
      if (path === null || path.includes(everyElement)) return null;
      const keys = path.map(String);
      return (facts) => {
        let at: unknown = facts.request.json;
        for (const key of keys) at = ownValue(at, key);
        return at instanceof LosslessNumber ? Number(at.value) : at;
      };
    }
    default:
      return null;
  }
}

/** Of the value itself, never of its prototype. */
function ownValue(holder: unknown, key: string): unknown {
  if (typeof holder !== 'object' || holder === null || holder instanceof LosslessNumber) return undefined;
  return Object.hasOwn(holder, key) ? (holder as Record<string, unknown>)[key] : undefined;
}
