import type { FilterBounds } from '../../../common/ledger/log-filters.js';
import type { AnalyticsQuestion } from '../question.js';
import type { AnalyticsDatabase, Placeholders } from './dialect.js';

/** Beyond these a number is none that a column of the ledger has. */
const most = 9_223_372_036_854_775_000;
const literal = (value: number): string =>
  Number.isInteger(value)
    ? String(BigInt(Math.min(most, Math.max(-most, value))))
    : `CAST(${value} AS DOUBLE PRECISION)`;

function within(column: string, { min, max }: FilterBounds): string[] {
  return [
    ...(min === undefined ? [] : [`${column} >= ${literal(min)}`]),
    ...(max === undefined ? [] : [`${column} <= ${literal(max)}`]),
  ];
}

/** Which requests, or cells of them, are in sight. */
export function sightOf(
  { org, workspaces, except, keys }: AnalyticsQuestion['sight'],
  values: Placeholders,
): string {
  const all = [`org = ${values.add(org)}`];
  if (workspaces !== null) all.push(values.in('workspace', workspaces));
  if (except.length > 0) all.push(`(workspace IS NULL OR NOT ${values.in('workspace', except)})`);
  if (keys !== null) all.push(values.in('key_id', keys));
  return all.join(' AND ');
}

/** What has to hold of a request, in terms of `requestColumns`. */
export function conditionsOf(
  { sight, filters }: Pick<AnalyticsQuestion, 'sight' | 'filters'>,
  values: Placeholders,
  database: Pick<AnalyticsDatabase, 'metadataHas'>,
): string {
  const all = [sightOf(sight, values)];
  const listed = (column: string, texts: readonly string[]): void => {
    if (texts.length > 0) all.push(values.in(column, texts));
  };
  all.push(
    ...within('"at"', filters.at),
    ...within('(input + output)', filters.totalTokens),
    ...within('input', filters.inputTokens),
    ...within('output', filters.outputTokens),
    ...within('cost', filters.cost),
    ...within('feedback_average', filters.weightedFeedback),
  );
  if (filters.statuses.length > 0) all.push(`status IN (${filters.statuses.map(literal).join(', ')})`);
  listed('model', filters.models);
  if (filters.providerModels.length > 0) {
    const pairs = filters.providerModels.map(
      ({ provider, model }) => `(provider = ${values.add(provider)} AND model = ${values.add(model)})`,
    );
    all.push(`(${pairs.join(' OR ')})`);
  }
  listed('provider_slug', filters.providerSlugs);
  listed('config', filters.configs);
  listed('prompt', filters.prompts);
  listed('key_id', filters.keys);
  listed('trace', filters.traces);
  listed('span', filters.spans);
  listed('cache', filters.cacheStatuses);
  for (const [name, value] of Object.entries(filters.metadata))
    all.push(database.metadataHas(name, value, values));
  return all.join(' AND ');
}
