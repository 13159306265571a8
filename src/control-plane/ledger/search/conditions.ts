import type { FilterBounds, LogFilters } from '../../../common/ledger/log-filters.js';
import type { LogSight } from '../../../common/ledger/logs/log-sight.js';

/** What differs between the databases in a search of rows. */
export interface SearchLanguage {
  /** Is this the metadata of that name? */
  hasMetadata(name: string, value: string, add: Add): string;
  /** The span id of a row. */
  readonly span: string;
  /** Is the row of one of these traces? */
  hasTrace(traces: readonly string[], add: Add): string;
  /** As the database keeps a text. */
  kept(text: string): string;
}

/** Adds a parameter, and returns its place in the statement. */
export type Add = (value: unknown) => string;

/** Parameters of a statement, numbered as they are added. */
export class SearchParameters {
  readonly values: unknown[] = [];

  constructor(readonly mark: '?' | '$') {}

  readonly add: Add = (value) => {
    this.values.push(value);
    return `${this.mark}${this.values.length}`;
  };
}

/** Conditions on `exchanges` that leave what is in sight and what the filters leave. Tenant first. */
export function searchConditions(
  sight: LogSight,
  filters: LogFilters,
  language: SearchLanguage,
  add: Add,
): string[] {
  const isOneOf = (expression: string, values: readonly unknown[]): string =>
    `${expression} IN (${values.map(add).join(', ')})`;
  const texts = (values: readonly string[]): string[] => values.map((value) => language.kept(value));
  const where: string[] = [];
  const { workspaces, except, keys } = sight;
  if (workspaces !== null) where.push(isOneOf('workspace', workspaces));
  if (except.length > 0) where.push(`(workspace IS NULL OR NOT ${isOneOf('workspace', except)})`);
  if (keys !== null) where.push(keys.length === 0 ? '1 = 0' : isOneOf('"key"', keys));
  const within = (expression: string, { min, max }: FilterBounds): void => {
    if (min !== undefined) where.push(`${expression} >= ${add(min)}`);
    if (max !== undefined) where.push(`${expression} <= ${add(max)}`);
  };
  within('at', filters.at);
  within('(input_tokens + output_tokens)', filters.totalTokens);
  within('input_tokens', filters.inputTokens);
  within('output_tokens', filters.outputTokens);
  within('cost', filters.cost);
  const among = (expression: string, values: readonly string[]): void => {
    if (values.length > 0) where.push(isOneOf(expression, texts(values)));
  };
  if (filters.statuses.length > 0) where.push(isOneOf('status', filters.statuses));
  among(model, filters.models);
  among('provider_slug', filters.providerSlugs);
  among('config', filters.configs);
  among('prompt', filters.prompts);
  among('"key"', filters.keys);
  among('cache', filters.cacheStatuses);
  if (filters.spans.length > 0) where.push(isOneOf(language.span, texts(filters.spans)));
  if (filters.providerModels.length > 0) {
    const pairs = filters.providerModels.map(
      ({ provider, model: name }) =>
        `(provider = ${add(language.kept(provider))} AND ${model} = ${add(language.kept(name))})`,
    );
    where.push(`(${pairs.join(' OR ')})`);
  }
  if (filters.traces.length > 0) where.push(language.hasTrace(texts(filters.traces), add));
  for (const [name, value] of Object.entries(filters.metadata))
    where.push(language.hasMetadata(name, value, add));
  const { min, max } = filters.weightedFeedback;
  if (min !== undefined || max !== undefined) where.push(weightedFeedback(sight.org, { min, max }, add));
  return where;
}

const model = 'coalesce(model, model_asked)';

/** Weights are kept as whole numbers, so that the average of equal values is that value. */
function weightedFeedback(
  org: string,
  { min, max }: { min: number | undefined; max: number | undefined },
  add: Add,
): string {
  const average = 'sum(value * weight) * 1.0 / sum(weight)';
  const having = ['sum(weight) > 0'];
  if (min !== undefined) having.push(`${average} >= ${add(min)}`);
  if (max !== undefined) having.push(`${average} <= ${add(max)}`);
  return `id IN (SELECT row_id FROM feedbacks WHERE org = ${add(org)} AND row_id IS NOT NULL
    GROUP BY row_id HAVING ${having.join(' AND ')})`;
}
