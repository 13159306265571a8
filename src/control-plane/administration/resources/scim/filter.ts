import { type Filter, parse } from 'scim2-parse-filter';
import {
  type ScimComparison,
  type ScimCondition,
  type ScimOperator,
  type ScimQuery,
  scimGroupAttributes,
  scimUserAttributes,
} from '../../../store/records/scim-conditions.js';
import { ScimError } from './scim-error.js';

/** Translates filters of RFC 7644 into conditions of the store. */

const longest = 2048;
const deepest = 12;
const mostComparisons = 50;

const invalid = (problem: string): ScimError => new ScimError('invalidFilter', `filter: ${problem}`);

const coreSchema = /^urn:ietf:params:scim:schemas:core:2\.0:(?:User|Group):/i;
/** Other names that filters may use for attributes. */
const otherNames: Readonly<Record<string, string>> = {
  emails: 'emails.value',
  members: 'members.value',
  groups: 'groups.value',
  roles: 'roles.value',
  'name.formatted': 'displayname',
};

/** How deep the brackets of a filter are nested; those in quotes do not count. */
function depthOf(filter: string): number {
  let depth = 0;
  let most = 0;
  for (const [character] of filter.replace(/"(?:[^"\\]|\\.)*"/g, '').matchAll(/[()[\]]/g)) {
    depth += character === '(' || character === '[' ? 1 : -1;
    most = Math.max(most, depth);
  }
  return most;
}

const always: ScimComparison = { op: 'pr', attribute: 'id', value: null };

type Compare = Exclude<Filter, { filters: unknown } | { filter: unknown } | { valFilter: unknown }>;

class FilterReader {
  #comparisons = 0;

  constructor(readonly attributes: typeof scimUserAttributes) {}

  condition(filter: Filter, within = ''): ScimCondition {
    switch (filter.op) {
      case 'and':
      case 'or':
        return {
          op: filter.op,
          conditions: filter.filters.map((one) => this.condition(one, within)),
        };
      case 'not':
        return { op: 'not', condition: this.condition(filter.filter, within) };
      case '[]':
        return this.condition(filter.valFilter, `${within}${filter.attrPath}.`);
      default:
        return this.#comparison(filter as Compare, within);
    }
  }

  #comparison(filter: Compare, within: string): ScimCondition {
    this.#comparisons += 1;
    if (this.#comparisons > mostComparisons)
      throw invalid(`it has more than ${mostComparisons} comparisons.`);
    const name = `${within}${filter.attrPath}`.replace(coreSchema, '').toLowerCase();
    const value = 'compValue' in filter ? filter.compValue : null;
    if (name === 'emails.type' || name === 'emails.primary')
      return this.#ofOnlyAddress(name, filter.op, value);
    const attribute = otherNames[name] ?? name;
    const kind = Object.hasOwn(this.attributes, attribute) ? this.attributes[attribute] : undefined;
    if (kind === undefined)
      throw invalid(
        `${JSON.stringify(filter.attrPath.slice(0, 80))} is not an attribute that can be searched: ${Object.keys(this.attributes).join(', ')}.`,
      );
    const op = filter.op as ScimOperator;
    if (value === null && op !== 'pr') return this.#presence(op, attribute);
    if (op === 'pr') return { op, attribute, value: null };
    return { op, attribute, value: this.#valueOf(kind, attribute, op, value as string | number | boolean) };
  }

  /** `eq null` means that the attribute has no value, `ne null` that it has one. */
  #presence(op: ScimOperator, attribute: string): ScimCondition {
    const present: ScimComparison = { op: 'pr', attribute, value: null };
    if (op === 'ne') return present;
    if (op === 'eq') return { op: 'not', condition: present };
    throw invalid(`${op} takes no null.`);
  }

  /** Types of addresses are not searched. The filter that most identity providers send, for work addresses, matches all. */
  #ofOnlyAddress(name: string, op: string, value: unknown): ScimCondition {
    const isUsual = String(value).toLowerCase() === (name === 'emails.type' ? 'work' : 'true');
    if (op !== 'eq' || !isUsual)
      throw invalid('of addresses, only those with type eq "work" and primary eq true can be searched.');
    return always;
  }

  #valueOf(
    kind: string,
    attribute: string,
    op: ScimOperator,
    value: string | number | boolean,
  ): string | number | boolean {
    const isEquality = op === 'eq' || op === 'ne';
    if (kind === 'boolean') {
      const word = String(value).toLowerCase();
      if (!isEquality || (word !== 'true' && word !== 'false'))
        throw invalid(`${attribute} is compared by eq or ne with true or false.`);
      return word === 'true';
    }
    if (kind === 'time') {
      const time = typeof value === 'string' ? Date.parse(value) : Number.NaN;
      if (Number.isNaN(time) || ['co', 'sw', 'ew'].includes(op))
        throw invalid(`${attribute} is compared by eq, ne, gt, ge, lt or le with a time.`);
      return time;
    }
    if (kind === 'reference' && !isEquality) throw invalid(`${attribute} is compared by eq or ne.`);
    if (attribute === 'emails.value' && !['eq', 'ne', 'co', 'sw', 'ew'].includes(op))
      throw invalid(`${attribute} is compared by eq, ne, co, sw or ew.`);
    const text = String(value);
    if (text.includes('\0')) throw invalid('a text holds the character U+0000.');
    return text;
  }
}

/** Throws ScimError `invalidFilter` for a filter that cannot be read, or is too long or too deep. */
export function readFilter(filter: string, kind: 'User' | 'Group'): ScimCondition {
  if (filter.length > longest) throw invalid(`it must be at most ${longest} characters long.`);
  if (depthOf(filter) > deepest) throw invalid(`its brackets are nested deeper than ${deepest} levels.`);
  let parsed: Filter;
  try {
    parsed = parse(filter);
  } catch {
    throw invalid(
      'it cannot be read: write it as userName eq "ada@example.com" and active eq true, with texts in double quotes.',
    );
  }
  return new FilterReader(kind === 'User' ? scimUserAttributes : scimGroupAttributes).condition(parsed);
}

interface ListRequest {
  readonly filter?: string | null;
  readonly sort_by?: string | null;
  readonly sort_order?: string | null;
}

/** The parameters of a list request. */
export function readQuery(request: ListRequest, kind: 'User' | 'Group'): ScimQuery {
  const attributes = kind === 'User' ? scimUserAttributes : scimGroupAttributes;
  const named = request.sort_by?.replace(coreSchema, '').toLowerCase() || null;
  const sortBy = named === null ? null : (otherNames[named] ?? named);
  if (sortBy !== null && (!Object.hasOwn(attributes, sortBy) || attributes[sortBy] === 'reference'))
    throw new ScimError('invalidValue', `sortBy must be one of ${Object.keys(attributes).join(', ')}.`);
  const filter = request.filter?.trim() ?? '';
  return {
    condition: filter === '' ? null : readFilter(filter, kind),
    sortBy,
    descending: request.sort_order === 'descending',
  };
}
