import type {
  FlatFigures,
  GroupFigure,
  GroupsAnswer,
  GroupsQuestion,
  TimeRange,
  ValuesAnswer,
  ValuesQuestion,
} from '../question.js';
import { cellSumsOf, sumsOfCells } from '../rollups/cells.js';
import {
  type BinnedDurations,
  binOf,
  cumulated,
  durationsOf,
  percentileOf,
  requestBinWidth,
} from './bins.js';
import type { SumName } from './columns.js';
import { type CountedBy, CountedRequests } from './counted.js';
import { type AnalyticsDatabase, number, Placeholders, type SelectedFigures } from './dialect.js';

type SumExpressions = Readonly<Record<SumName, string>>;
const quotient = (part: string, of: string): string => `${number(part)} / nullif(${of}, 0)`;
const percentages = (part: string, of: string): string =>
  `coalesce(100 * ${number(part)} / nullif(${of}, 0), 0)`;

interface SumFigure {
  /** The sums that its expression names. */
  readonly sums: readonly SumName[];
  of(sums: SumExpressions): string;
}

const plainly = (name: SumName): SumFigure => ({ sums: [name], of: (all) => number(all[name]) });
const ratioOf = (part: SumName, of: SumName): SumFigure => ({
  sums: [part, of],
  of: (all) => quotient(all[part], all[of]),
});

/** How each figure of a group is made of sums, for those that are no percentile. */
const sumFigures: Readonly<Record<Exclude<GroupFigure, Percentile>, SumFigure>> = {
  requests: plainly('requests'),
  cost: { sums: ['cost'], of: ({ cost }) => `${number(cost)} / 10000000000` },
  total_tokens: plainly('tokens'),
  avg_tokens: ratioOf('tokens', 'requests'),
  avg_input_tokens: ratioOf('input', 'requests'),
  avg_output_tokens: ratioOf('output', 'requests'),
  avg_latency: {
    sums: ['duration', 'requests'],
    of: ({ duration, requests }) => `${quotient(duration, requests)} / 1000`,
  },
  success_rate: {
    sums: ['requests', 'errors'],
    of: ({ requests, errors }) => percentages(`(${requests} - ${errors})`, requests),
  },
  error_count: plainly('errors'),
  cache_hit_rate: {
    sums: ['simple_hits', 'semantic_hits', 'cacheable'],
    of: (all) => percentages(`(${all.simple_hits} + ${all.semantic_hits})`, all.cacheable),
  },
  first_seen: plainly('first_seen'),
  last_seen: plainly('last_seen'),
  avg_weighted_feedback: ratioOf('feedback_value', 'feedback_weight'),
  requests_with_feedback: plainly('with_feedback'),
};
const shares = { p95_latency: 0.95, p99_latency: 0.99 } as const;
type Percentile = keyof typeof shares;
type PlainFigure = Exclude<GroupFigure, Percentile>;
const isPercentile = (figure: GroupFigure): figure is Percentile => figure in shares;

/** The time that a question is about; null: it has no end or no beginning. */
export function rangeOf({ filters: { at } }: Pick<GroupsQuestion, 'filters'>): TimeRange | null {
  return at.min === undefined || at.max === undefined ? null : { min: at.min, max: at.max };
}

async function countedFor(
  question: GroupsQuestion,
  database: AnalyticsDatabase,
  hasPercentiles: boolean,
): Promise<CountedRequests> {
  const by = countedBy(question.by);
  const range = rangeOf(question);
  if (typeof by !== 'object') return CountedRequests.of(question, database, range, by, 'groups');
  return hasPercentiles
    ? new CountedRequests(question, database, null, null)
    : CountedRequests.ofValues(question, database, by.metadata, range);
}

/** The ledger has a column of the metadata that names the user. */
function countedBy(by: GroupsQuestion['by']): CountedBy {
  if ('user' in by || ('metadata' in by && by.metadata === '_user')) return 'user';
  return 'metadata' in by ? by : by.column;
}

export async function askGroups(
  question: GroupsQuestion,
  database: AnalyticsDatabase,
): Promise<GroupsAnswer> {
  const wanted = new Set<GroupFigure>(['requests', ...question.figures]);
  if (question.orderBy !== 'key') wanted.add(question.orderBy);
  const plain = [...wanted].filter((figure): figure is PlainFigure => !isPercentile(figure));
  const percentiles = [...wanted].filter(isPercentile);
  const by = countedBy(question.by);
  const counted = await countedFor(question, database, percentiles.length > 0);
  const values = new Placeholders();
  const sums = plain.flatMap((figure) => sumFigures[figure].sums);
  const { before, statement } =
    percentiles.length > 0 && counted.rolled === null
      ? { before: '', statement: inOnePass(counted.oneByOne(by, values), sums, plain, percentiles) }
      : statementOf(counted, by, values, sums, plain, percentiles);
  const direction = question.isDescending ? 'DESC' : 'ASC';
  const order = question.orderBy === 'key' ? '' : `${question.orderBy} ${direction} NULLS LAST, `;
  const byKey = question.orderBy === 'key' ? direction : 'ASC';
  // Counted with the page: to count them apart would add everything up again.
  const total = question.hasTotal ? `, ${number('count(*) OVER ()')} AS total` : '';
  const rows = await database.rows(
    `${before} SELECT *${total} FROM (${statement}) AS figures ORDER BY ${order}"key" ${byKey} NULLS LAST
      LIMIT ${question.limit} OFFSET ${question.offset}`,
    values.list,
  );
  return {
    total: question.hasTotal ? await totalOf(rows, question, counted) : null,
    rows: rows.map((row) => ({ key: keyOf(row), figures: figuresOf(row, question.figures) })),
  };
}

const keyOf = ({ key }: SelectedFigures): string | null =>
  key === null || key === undefined ? null : String(key);

const figuresOf = (row: SelectedFigures, figures: readonly GroupFigure[]): FlatFigures =>
  Object.fromEntries(['requests' as const, ...figures].map((figure) => [figure, row[figure] ?? null]));

const columnsOf = (plain: readonly PlainFigure[]): string[] =>
  plain.map((figure) => `${sumFigures[figure].of(sumsOfCells)} AS ${figure}`);

function statementOf(
  counted: CountedRequests,
  by: CountedBy,
  values: Placeholders,
  sums: readonly SumName[],
  plain: readonly PlainFigure[],
  percentiles: readonly Percentile[],
): { readonly before: string; readonly statement: string } {
  const { counted: of, before } =
    percentiles.length === 0 ? { counted, before: '' } : counted.sharingRest(by, values, sums);
  const columns = columnsOf(plain).join(', ');
  const figures = `SELECT "key", ${columns} FROM ${of.from(by, values, sums)} GROUP BY "key"`;
  const statement =
    percentiles.length === 0
      ? figures
      : withPercentiles(figures, of.durations(by, 'total', values), plain, percentiles);
  return { before, statement };
}

/** Requests that have no cells are read once: each bin of durations has the sums of its requests. `from`: requests with their `key`. */
function inOnePass(
  from: string,
  sums: readonly SumName[],
  plain: readonly PlainFigure[],
  percentiles: readonly Percentile[],
): string {
  const us = durationsOf.total;
  const bins = `(SELECT "key", bin, ${number(`count(${us})`)} AS n, ${number(`sum(${us})`)} AS us${cellSumsOf(sums)}
    FROM (SELECT *, ${binOf(us, requestBinWidth)} AS bin FROM ${from}) AS binned GROUP BY "key", bin) AS bins`;
  const found = percentiles.map((name) => `${percentileOf(shares[name], null)} / 1000 AS ${name}`);
  return `SELECT "key", ${[...columnsOf(plain), ...found].join(', ')}
    FROM ${cumulated(bins, ['"key"'])} GROUP BY "key"`;
}

function withPercentiles(
  figures: string,
  { from, width }: BinnedDurations,
  plain: readonly GroupFigure[],
  percentiles: readonly Percentile[],
): string {
  const histogram = `(SELECT "key", bin, sum(${number('n')}) AS n, ${number('sum(us)')} AS us
    FROM ${from} GROUP BY "key", bin) AS bins`;
  const found = percentiles
    .map((name) => `${percentileOf(shares[name], width)} / 1000 AS ${name}`)
    .join(', ');
  // Not joined: PostgreSQL takes groups for few, and would compare each with each.
  const none = (names: readonly string[]): string =>
    names.map((name) => `CAST(NULL AS DOUBLE PRECISION) AS ${name}`).join(', ');
  const figure = [...plain, ...percentiles].map((name) => `max(${name}) AS ${name}`).join(', ');
  return `SELECT "key", ${figure} FROM (
      SELECT "key", ${plain.join(', ')}, ${none(percentiles)} FROM (${figures}) AS plain
      UNION ALL SELECT "key", ${none(plain)}, ${found} FROM ${cumulated(histogram, ['"key"'])} GROUP BY "key") AS parts
    GROUP BY "key"`;
}

/** How many groups there are. `rows`: of the page; one beyond the last group has none. */
async function totalOf(
  [row]: readonly SelectedFigures[],
  { offset, by }: GroupsQuestion,
  counted: CountedRequests,
): Promise<number> {
  if (row !== undefined || offset === 0) return Number(row?.['total'] ?? 0);
  const values = new Placeholders();
  const [found] = await counted.database.rows(
    `SELECT ${number('count(*)')} AS total
      FROM (SELECT DISTINCT "key" FROM ${counted.from(countedBy(by), values, [])}) AS groups`,
    values.list,
  );
  return Number(found?.['total'] ?? 0);
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
