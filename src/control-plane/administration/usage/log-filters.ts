import type { CacheStatus } from '../../../common/core/cache.js';
import type { FilterBounds, LogFilters, ProviderModel } from '../../../common/ledger/log-filters.js';
import { AdminError } from '../admin-error.js';
import { readTime } from '../shape/json.js';

/**
 * The filters of requests that lists, graphs, groups, saved filters and exports have in common, by the names of JSON: texts
 * and numbers as a query has them, lists as texts with commas.
 */

/** The names; workspaces are resolved where it is decided which requests a caller sees. */
export const logFilterNames = [
  'workspace_id',
  'workspace_slug',
  'time_of_generation_min',
  'time_of_generation_max',
  'total_units_min',
  'total_units_max',
  'prompt_token_min',
  'prompt_token_max',
  'completion_token_min',
  'completion_token_max',
  'cost_min',
  'cost_max',
  'weighted_feedback_min',
  'weighted_feedback_max',
  'status_code',
  'ai_model',
  'ai_org_model',
  'virtual_keys',
  'configs',
  'prompt_slug',
  'api_key_ids',
  'trace_id',
  'span_id',
  'cache_status',
  'metadata',
] as const;

type Name = (typeof logFilterNames)[number];
/** Absent, null and an empty text mean the same. */
export type GivenFilters = { readonly [N in Name]?: unknown };

const cacheStatuses: readonly CacheStatus[] = [
  'DISABLED',
  'HIT',
  'MISS',
  'REFRESH',
  'SEMANTIC HIT',
  'SEMANTIC MISS',
];
/** Values that a list of one filter has at most, and pairs of metadata. */
const mostValues = 1000;
const longestValue = 1024;
const picosPerCent = 10_000_000_000;

/** Throws AB01, with the path, for values that are none. `path`: of the object that has them, as `filters`; empty: the request. */
export function readLogFilters(given: GivenFilters, path = ''): LogFilters {
  const read = new FilterReader(given, path === '' ? '' : `${path}.`);
  return {
    at: read.bounds('time_of_generation_min', 'time_of_generation_max', read.time),
    totalTokens: read.bounds('total_units_min', 'total_units_max', read.whole),
    inputTokens: read.bounds('prompt_token_min', 'prompt_token_max', read.whole),
    outputTokens: read.bounds('completion_token_min', 'completion_token_max', read.whole),
    cost: read.bounds('cost_min', 'cost_max', read.cents),
    weightedFeedback: read.bounds('weighted_feedback_min', 'weighted_feedback_max', read.feedback),
    statuses: read.listOf('status_code', statusOf, 'must be HTTP statuses with commas between them.'),
    models: read.list('ai_model'),
    providerModels: read.listOf(
      'ai_org_model',
      providerModel,
      'must be provider__model, with commas between them.',
    ),
    providerSlugs: read.list('virtual_keys'),
    configs: read.list('configs'),
    prompts: read.list('prompt_slug'),
    keys: read.list('api_key_ids'),
    traces: read.list('trace_id'),
    spans: read.list('span_id'),
    cacheStatuses: read.listOf(
      'cache_status',
      cacheStatus,
      `must be one or several of ${cacheStatuses.join(', ')}, with commas between them.`,
    ),
    metadata: read.metadata(),
  };
}

/** The same of an object that has filters alone, as JSON gave it: any other name is refused. */
export function readOnlyLogFilters(given: Readonly<Record<string, unknown>>, path = 'filters'): LogFilters {
  const unknown = Object.keys(given).find((name) => !(logFilterNames as readonly string[]).includes(name));
  if (unknown !== undefined)
    throw AdminError.field(`${path}.${JSON.stringify(unknown.slice(0, 80))}`, 'is no filter.');
  return readLogFilters(given, path);
}

/** The workspace that the filters name, by id or slug; null: none. Throws AB01 where two are named. */
export function filteredWorkspace(given: GivenFilters, path = ''): string | null {
  const read = new FilterReader(given, path === '' ? '' : `${path}.`);
  const [id, slug] = [read.text('workspace_id'), read.text('workspace_slug')];
  if (id !== null && slug !== null && id !== slug)
    throw AdminError.field(read.pathOf('workspace_slug'), 'names another workspace than workspace_id.');
  return id ?? slug;
}

class FilterReader {
  constructor(
    readonly given: GivenFilters,
    readonly before: string,
  ) {}

  pathOf(name: Name): string {
    return this.before + name;
  }

  #refuse(name: Name, problem: string): never {
    throw AdminError.field(this.pathOf(name), problem);
  }

  /** null: absent. */
  text(name: Name): string | null {
    const value = this.given[name] ?? '';
    if (typeof value !== 'string') return this.#refuse(name, 'must be text.');
    return value === '' ? null : value;
  }

  #number(name: Name, min: number, max: number): number | undefined {
    const value = this.given[name] ?? undefined;
    if (value === undefined) return undefined;
    if (typeof value !== 'number' || !Number.isFinite(value)) return this.#refuse(name, 'must be a number.');
    if (value < min) return this.#refuse(name, `must be at least ${min}.`);
    if (value > max) return this.#refuse(name, `must be at most ${max}.`);
    return value;
  }

  readonly whole = (name: Name): number | undefined => {
    const value = this.#number(name, 0, Number.MAX_SAFE_INTEGER);
    if (value !== undefined && !Number.isInteger(value)) return this.#refuse(name, 'must be a whole number.');
    return value;
  };

  readonly cents = (name: Name): number | undefined => {
    const cents = this.#number(name, 0, Number.MAX_VALUE);
    return cents === undefined
      ? undefined
      : Math.min(Math.round(cents * picosPerCent), Number.MAX_SAFE_INTEGER);
  };

  readonly feedback = (name: Name): number | undefined => this.#number(name, -10, 10);

  readonly time = (name: Name): number | undefined => {
    const text = this.text(name);
    // A plus that was not escaped in a query arrives as a space.
    return text === null
      ? undefined
      : Date.parse(readTime(text.replace(/ (\d{2}:\d{2})$/, '+$1'), this.pathOf(name)));
  };

  bounds(minName: Name, maxName: Name, value: (name: Name) => number | undefined): FilterBounds {
    const min = value(minName);
    const max = value(maxName);
    if (min !== undefined && max !== undefined && min > max)
      return this.#refuse(minName, `must not be beyond ${maxName}.`);
    return { ...(min !== undefined && { min }), ...(max !== undefined && { max }) };
  }

  /** The values of a text with commas, each once. */
  list(name: Name): readonly string[] {
    const items = (this.text(name) ?? '').split(',').map((item) => item.trim());
    const values = [...new Set(items.filter((item) => item !== ''))];
    if (values.length > mostValues) this.#refuse(name, `must have at most ${mostValues} values.`);
    if (values.some((value) => value.length > longestValue))
      this.#refuse(name, `must have no value longer than ${longestValue} characters.`);
    return values;
  }

  /** `parse`: null for a text that is no value; `wanted`: what is refused then. */
  listOf<T>(name: Name, parse: (item: string) => T | null, wanted: string): readonly T[] {
    return this.list(name).map((item) => parse(item) ?? this.#refuse(name, wanted));
  }

  /** An object, or the JSON text of one. */
  metadata(): Readonly<Record<string, string>> {
    const name = 'metadata';
    let value = this.given[name] ?? {};
    if (typeof value === 'string') {
      if (value === '') return {};
      try {
        value = JSON.parse(value);
      } catch {
        return this.#refuse(name, 'must be JSON.');
      }
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return this.#refuse(name, 'must be an object.');
    const entries = Object.entries(value);
    if (entries.length > mostValues) return this.#refuse(name, `must have at most ${mostValues} names.`);
    const wrong = entries.find(([, item]) => typeof item !== 'string');
    if (wrong !== undefined)
      throw AdminError.field(`${this.pathOf(name)}.${wrong[0].slice(0, 80)}`, 'must be text.');
    // PostgreSQL takes no such text, and no metadata that is kept has one.
    if (entries.some((entry) => entry.some((text) => text.includes('\0'))))
      this.#refuse(name, 'must not contain the character U+0000.');
    return Object.fromEntries(entries);
  }
}

const statusOf = (item: string): number | null => (/^\d{1,3}$/.test(item) ? Number(item) : null);

function providerModel(item: string): ProviderModel | null {
  const at = item.indexOf('__');
  if (at <= 0 || at + 2 === item.length) return null;
  return { provider: item.slice(0, at), model: item.slice(at + 2) };
}

const cacheStatus = (item: string): CacheStatus | null =>
  cacheStatuses.find((one) => one === item.toUpperCase()) ?? null;
