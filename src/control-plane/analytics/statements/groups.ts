import {
  type FlatFigures,
  type GroupFigure,
  type GroupsAnswer,
  type GroupsQuestion,
  groupColumns,
  type ValuesAnswer,
  type ValuesQuestion,
} from '../question.js';
import { type SumName, sums } from './columns.js';
import { conditionsOf } from './conditions.js';
import { type AnalyticsDatabase, number, Placeholders, type SelectedFigures } from './dialect.js';
import { binOf, cumulated, percentileOf } from './durations.js';

const quotient = (part: SumName, of: string, factor = 1): string =>
  `${number(sums[part])} * ${factor} / nullif(${of}, 0)`;
const perRequest = (part: SumName): string => quotient(part, 'count(*)');
const percentages = (part: string, of: string): string =>
  `coalesce(100 * ${number(part)} / nullif(${of}, 0), 0)`;

/** Each figure of a group as an expression, for those that are no percentile. */
const expressions: Readonly<Partial<Record<GroupFigure, string>>> = {
  requests: number('count(*)'),
  cost: `${number(sums.cost)} / 10000000000`,
  total_tokens: number(sums.tokens),
  avg_tokens: perRequest('tokens'),
  avg_input_tokens: perRequest('input'),
  avg_output_tokens: perRequest('output'),
  avg_latency: `${number(sums.duration)} / count(*) / 1000`,
  success_rate: percentages(`(count(*) - ${sums.errors})`, 'count(*)'),
  error_count: number(sums.errors),
  cache_hit_rate: percentages(`(${sums.simple_hits} + ${sums.semantic_hits})`, sums.cacheable),
  first_seen: number(sums.first_seen),
  last_seen: number(sums.last_seen),
  avg_weighted_feedback: quotient('feedback_value', sums.feedback_weight),
  requests_with_feedback: number(sums.with_feedback),
};
const shares = { p95_latency: 0.95, p99_latency: 0.99 } as const;
type Percentile = keyof typeof shares;
const isPercentile = (figure: GroupFigure): figure is Percentile => figure in shares;

interface Grouped {
  readonly key: string;
  readonly condition: string;
}

function groupedBy(
  { by }: GroupsQuestion | { readonly by: { readonly metadata: string } },
  values: Placeholders,
  database: AnalyticsDatabase,
): Grouped {
  if ('column' in by) return { key: groupColumns[by.column], condition: 'true' };
  if ('user' in by) return { key: 'user_name', condition: 'user_name IS NOT NULL' };
  const key = database.metadataValue(values.add(database.metadataName(by.metadata)));
  return { key, condition: `${key} IS NOT NULL` };
}

/** The requests of a question, with the key of their group. */
function keyed(question: GroupsQuestion, values: Placeholders, database: AnalyticsDatabase): string {
  const conditions = conditionsOf(question, values, database);
  const source = database.source();
  const { key, condition } = groupedBy(question, values, database);
  return `(SELECT *, ${key} AS "key" FROM ${source} AS requests WHERE ${conditions} AND ${condition}) AS requests`;
}

export async function askGroups(
  question: GroupsQuestion,
  database: AnalyticsDatabase,
): Promise<GroupsAnswer> {
  const wanted = new Set<GroupFigure>(['requests', ...question.figures]);
  if (question.orderBy !== 'key') wanted.add(question.orderBy);
  const plain = [...wanted].filter((figure) => !isPercentile(figure));
  const percentiles = [...wanted].filter(isPercentile);
  const values = new Placeholders();
  const from = keyed(question, values, database);
  const figures = `SELECT "key", ${plain.map((figure) => `${expressions[figure]} AS ${figure}`).join(', ')}
    FROM ${from} GROUP BY "key"`;
  const statement = percentiles.length === 0 ? figures : withPercentiles(figures, from, plain, percentiles);
  const direction = question.isDescending ? 'DESC' : 'ASC';
  const order = question.orderBy === 'key' ? '' : `${question.orderBy} ${direction} NULLS LAST, `;
  const byKey = question.orderBy === 'key' ? direction : 'ASC';
  const rows = await database.rows(
    `SELECT * FROM (${statement}) AS figures ORDER BY ${order}"key" ${byKey} NULLS LAST
      LIMIT ${question.limit} OFFSET ${question.offset}`,
    values.list,
  );
  return {
    total: question.hasTotal ? await countGroups(question, database) : null,
    rows: rows.map((row) => ({ key: keyOf(row), figures: figuresOf(row, question.figures) })),
  };
}

const keyOf = ({ key }: SelectedFigures): string | null =>
  key === null || key === undefined ? null : String(key);

const figuresOf = (row: SelectedFigures, figures: readonly GroupFigure[]): FlatFigures =>
  Object.fromEntries(['requests' as const, ...figures].map((figure) => [figure, row[figure] ?? null]));

function withPercentiles(
  figures: string,
  from: string,
  plain: readonly GroupFigure[],
  percentiles: readonly Percentile[],
): string {
  const histogram = `(SELECT "key", bin, ${number('count(*)')} AS n, ${number('sum(total_us)')} AS us
    FROM (SELECT *, ${binOf('total_us')} AS bin FROM ${from}) AS binned GROUP BY "key", bin) AS bins`;
  const found = percentiles.map((name) => `${percentileOf(shares[name])} / 1000 AS ${name}`).join(', ');
  const columns = [
    ...plain.map((name) => `plain.${name}`),
    ...percentiles.map((name) => `durations.${name}`),
  ];
  return `SELECT plain."key", ${columns.join(', ')} FROM (${figures}) AS plain
    LEFT JOIN (SELECT "key", ${found} FROM ${cumulated(histogram, ['"key"'])} GROUP BY "key") AS durations
    ON durations."key" IS NOT DISTINCT FROM plain."key"`;
}

async function countGroups(question: GroupsQuestion, database: AnalyticsDatabase): Promise<number> {
  const values = new Placeholders();
  const from = keyed(question, values, database);
  const [row] = await database.rows(
    `SELECT ${number('count(*)')} AS total FROM (SELECT DISTINCT "key" FROM ${from}) AS groups`,
    values.list,
  );
  return Number(row?.['total'] ?? 0);
}

export async function askValues(
  { name, limit, ...question }: ValuesQuestion,
  database: AnalyticsDatabase,
): Promise<ValuesAnswer> {
  const { rows, total } = await askGroups(
    {
      sight: question.sight,
      filters: question.filters,
      kind: 'groups',
      by: { metadata: name },
      figures: [],
      orderBy: 'requests',
      isDescending: true,
      offset: 0,
      limit,
      hasTotal: true,
    },
    database,
  );
  return { total: total ?? 0, values: rows.map(({ key }) => key ?? '') };
}
