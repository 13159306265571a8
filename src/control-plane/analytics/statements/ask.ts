import {
  type AnalyticsQuestion,
  type AnswerTo,
  type CacheQuestion,
  type DurationGraph,
  type FlatFigures,
  type GraphAnswer,
  type GraphQuestion,
  type PlainGraph,
  plainGraphs,
} from '../question.js';
import { CountedRequests, sumColumns } from './counted.js';
import { askCounts } from './counts.js';
import { type AnalyticsDatabase, Placeholders } from './dialect.js';
import { askDurations } from './durations.js';
import { askPlainGraph, sumsOf } from './graphs.js';
import { askGroups, askValues, rangeOf } from './groups.js';
import { cacheSummary, cacheSums } from './plain-graphs.js';
import { askSlots } from './slots.js';
import { askUsage } from './usage.js';

const isPlain = (graph: string): graph is PlainGraph => (plainGraphs as readonly string[]).includes(graph);
const isDuration = (graph: string): graph is DurationGraph => graph === 'latency' || graph === 'ttft';

/** Puts a question to a database. */
export async function askDatabase<Q extends AnalyticsQuestion>(
  question: Q,
  database: AnalyticsDatabase,
): Promise<AnswerTo<Q>> {
  return (await answerOf(question, database)) as AnswerTo<Q>;
}

function answerOf(
  question: AnalyticsQuestion,
  database: AnalyticsDatabase,
): Promise<AnswerTo<AnalyticsQuestion>> {
  switch (question.kind) {
    case 'graph':
      return askAnyGraph(question, database);
    case 'cache':
      return askCache(question, database);
    case 'groups':
      return askGroups(question, database);
    case 'values':
      return askValues(question, database);
    case 'usage':
      return askUsage(question, database);
    case 'slots':
      return askSlots(question, database);
  }
}

function askAnyGraph(question: GraphQuestion, database: AnalyticsDatabase): Promise<GraphAnswer> {
  const { graph } = question;
  if (isPlain(graph)) return askPlainGraph(question, graph, database);
  return isDuration(graph) ? askDurations(question, graph, database) : askCounts(question, graph, database);
}

async function askCache(question: CacheQuestion, database: AnalyticsDatabase): Promise<FlatFigures> {
  const counted = await CountedRequests.of(question, database, rangeOf(question), 'none', 'groups');
  const values = new Placeholders();
  const [row] = await database.rows(
    `SELECT ${sumColumns(cacheSums)} FROM ${counted.from('none', values, cacheSums)}`,
    values.list,
  );
  return cacheSummary(sumsOf(row ?? null));
}
