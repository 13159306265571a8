import { RE2JS } from 're2js';
import type { Exchange } from '../core/exchange.js';
import { getHeader } from '../core/headers.js';
import { isJsonObject, LosslessNumber } from '../core/json.js';
import { childPath, type Findings } from './findings.js';

type Test = (x: Exchange) => boolean;
type Read = (x: Exchange) => unknown;
type Scalar = string | number | boolean | null;

/** Levels of `$and` and `$or`, and comparisons in all, of one query. */
const maxDepth = 16;
const maxComparisons = 200;
/** Longest list of `$in`, and longest pattern. */
const maxValues = 1000;
const maxPattern = 1024;
/** Characters of a value that a pattern is tried on: linear time is still time. */
const maxMatched = 32 * 1024;

/** Compiles the query of a condition, once. What is wrong with it goes into `findings`, and the result holds nowhere. */
export function compileQuery(query: object, path: string, findings: Findings): Test {
  return new QueryReader(findings).query(query, path, 1);
}

const never: Test = () => false;

class QueryReader {
  #comparisons = 0;

  constructor(readonly findings: Findings) {}

  /** All of its keys must hold. */
  query(value: unknown, path: string, depth: number): Test {
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
    if (!Array.isArray(value) || value.length === 0 || value.length > maxComparisons) {
      return this.#wrong(path, `must be a list of 1 to ${maxComparisons} queries`);
    }
    const tests = value.map((query, i) => this.query(query, `${path}[${i}]`, depth + 1));
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
    if (!isJsonObject(value) || value instanceof LosslessNumber)
      return this.#compare(read, '$eq', value, path);
    const operators = Object.keys(value);
    if (operators.length === 0) return this.#wrong(path, 'is empty: give a value or an operator');
    return all(
      operators.map((operator) => this.#compare(read, operator, value[operator], childPath(path, operator))),
    );
  }

  #compare(read: Read, operator: string, given: unknown, path: string): Test {
    this.#comparisons++;
    if (this.#comparisons > maxComparisons) {
      return this.#wrong(path, `makes too many comparisons: at most ${maxComparisons} a query`);
    }
    switch (operator) {
      case '$eq':
      case '$ne': {
        const wanted = scalar(given);
        if (wanted === undefined) return this.#wrong(path, 'must be text, a number, true, false or null');
        // A key that is not there compares to nothing: both are false.
        return operator === '$eq'
          ? (x) => read(x) === wanted
          : (x) => {
              const found = read(x);
              return found !== undefined && found !== wanted;
            };
      }
      case '$in':
      case '$nin':
        return this.#listed(read, operator, given, path);
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

  #listed(read: Read, operator: '$in' | '$nin', given: unknown, path: string): Test {
    if (!Array.isArray(given) || given.length === 0 || given.length > maxValues) {
      return this.#wrong(path, `must be a list of 1 to ${maxValues} values`);
    }
    const wanted = new Set<unknown>();
    for (const [i, item] of given.entries()) {
      const value = scalar(item);
      if (value === undefined) this.#wrong(`${path}[${i}]`, 'must be text, a number, true, false or null');
      wanted.add(value);
    }
    return operator === '$in'
      ? (x) => wanted.has(read(x))
      : (x) => {
          const found = read(x);
          return found !== undefined && !wanted.has(found);
        };
  }

  #ordered(read: Read, operator: '$gt' | '$gte' | '$lt' | '$lte', given: unknown, path: string): Test {
    const limit = scalar(given);
    if (typeof limit !== 'number' && typeof limit !== 'string') {
      return this.#wrong(path, 'must be a number or text');
    }
    const holds = orders[operator];
    return (x) => {
      const found = comparable(read(x), limit);
      return found !== null && holds(found, limit);
    };
  }

  #pattern(read: Read, given: unknown, path: string): Test {
    if (typeof given !== 'string' || given === '' || given.length > maxPattern) {
      return this.#wrong(path, `must be a regular expression of 1 to ${maxPattern} characters`);
    }
    let pattern: RE2JS;
    try {
      pattern = RE2JS.compile(given);
    } catch (thrown) {
      return this.#wrong(path, `is no regular expression in RE2's syntax: ${(thrown as Error).message}`);
    }
    return (x) => {
      const found = read(x);
      return typeof found === 'string' && pattern.matcher(found.slice(0, maxMatched)).find();
    };
  }

  #wrong(path: string, message: string): Test {
    this.findings.add(path, message);
    return never;
  }
}

const all = (tests: readonly Test[]): Test =>
  tests.length === 1 ? tests[0]! : (x) => tests.every((test) => test(x));
const any = (tests: readonly Test[]): Test =>
  tests.length === 1 ? tests[0]! : (x) => tests.some((test) => test(x));

type Order = (found: string | number, limit: string | number) => boolean;

const orders: Record<'$gt' | '$gte' | '$lt' | '$lte', Order> = {
  $gt: (found, limit) => found > limit,
  $gte: (found, limit) => found >= limit,
  $lt: (found, limit) => found < limit,
  $lte: (found, limit) => found <= limit,
};

/** Text compares with text. Metadata and headers hold numbers as text: to a number they compare as one. */
function comparable(found: unknown, limit: string | number): string | number | null {
  if (typeof found === typeof limit) return found as string | number;
  if (typeof limit !== 'number' || typeof found !== 'string' || found.trim() === '') return null;
  const number = Number(found);
  return Number.isNaN(number) ? null : number;
}

function scalar(value: unknown): Scalar | undefined {
  if (value instanceof LosslessNumber) return Number(value.value);
  if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return value as Scalar;
  return undefined;
}

/** What a field's name reads from an exchange; null: it is the name of none. */
export function fieldReader(name: string): Read | null {
  if (name === 'url.pathname') return (x) => x.request.path;
  const dot = name.indexOf('.');
  const rest = name.slice(dot + 1);
  if (dot < 0 || rest === '') return null;
  switch (name.slice(0, dot)) {
    case 'metadata':
      return (x) => ownValue(x.metadata, rest);
    case 'headers': {
      const lower = rest.toLowerCase();
      return (x) => getHeader(x.request.headers, lower);
    }
    case 'params': {
      const keys = rest.split('.');
      return (x) => {
        let at: unknown = x.request.json;
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
  if (typeof holder !== 'object' || holder === null) return undefined;
  return Object.hasOwn(holder, key) ? (holder as Record<string, unknown>)[key] : undefined;
}
