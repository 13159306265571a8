import { allLogs, type LogFilters } from '../src/common/ledger/log-filters.js';
import { dayMs } from '../src/control-plane/analytics/buckets.js';
import {
  type AnalyticsQuestion,
  type GroupName,
  groupColumns,
  groupFigures,
  plainGraphs,
} from '../src/control-plane/analytics/question.js';
import { percentile } from './percentile.js';

/** Questions about the requests that the benches of analytics make, and the time that their answers take. */

export const end = Math.floor(Date.parse('2026-11-20T12:00:00Z') / dayMs) * dayMs + dayMs / 2;
export const sight = { org: 'org', workspaces: ['w-0'], except: [], keys: null };
const rounds = Number(process.env['ROUNDS'] ?? 3);

const far = Date.parse('3000-01-01T00:00:00Z');

const about = (filters: Partial<LogFilters>, ms: number, max: number) => {
  const range = { min: end - ms, max };
  return { range, sight, filters: { ...allLogs, ...filters, at: range } };
};

/** Those that requests for groups by a column may name. */
const columnsOfGroups = groupFigures.filter((name) => !name.includes('feedback'));

export function questions(
  filters: Partial<LogFilters>,
  ms: number,
  until = end,
): [string, AnalyticsQuestion][] {
  const all: [string, AnalyticsQuestion][] = [];
  const of = about(filters, ms, until);
  const graph = { kind: 'graph', ...of, groupBy: null } as const;
  for (const name of plainGraphs) all.push([`graph ${name}`, { ...graph, graph: name }]);
  for (const name of ['latency', 'ttft', 'errors/stacks', 'requests/rescued', 'feedbacks/scores'] as const)
    all.push([`graph ${name}`, { ...graph, graph: name }]);
  for (const name of ['requests', 'cost', 'latency'] as const)
    all.push([`graph ${name} by model`, { ...graph, graph: name, groupBy: 'model' }]);
  all.push(['cache', { kind: 'cache', ...of }]);
  const page = { orderBy: 'requests', isDescending: true, offset: 0, limit: 50, hasTotal: true } as const;
  for (const column of Object.keys(groupColumns) as GroupName[])
    all.push([
      `groups ${column}`,
      { kind: 'groups', by: { column }, figures: columnsOfGroups, ...page, ...of },
    ]);
  all.push(['groups users', { kind: 'groups', by: { user: true }, figures: ['cost'], ...page, ...of }]);
  all.push([
    'groups metadata',
    { kind: 'groups', by: { metadata: 'team' }, figures: ['cost'], ...page, ...of },
  ]);
  all.push(['values', { kind: 'values', name: 'team', limit: 10_000, ...of }]);
  return all;
}

/** Puts each question to analytics a few times, and prints percentiles of `spent`, milliseconds of a clock. */
export async function measure(
  name: string,
  list: readonly [string, AnalyticsQuestion][],
  ask: (question: AnalyticsQuestion) => Promise<unknown>,
  spent: () => number,
): Promise<void> {
  const times: number[] = [];
  let slowest = ['', 0] as [string, number];
  let refused = 0;
  for (const [what, question] of list) {
    const own: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const before = spent();
      try {
        await ask(question);
      } catch {
        refused++;
      }
      own.push(spent() - before);
    }
    times.push(...own);
    const most = Math.max(...own);
    if (most > slowest[1]) slowest = [what, most];
    if (process.env['EACH']) console.log(`    ${what}: ${own.map(Math.round).join(' ')}`);
  }
  console.log(
    `${name}: p50 ${percentile(times, 0.5).toFixed(0)} ms, p95 ${percentile(times, 0.95).toFixed(0)} ms, slowest ${slowest[1].toFixed(0)} ms (${slowest[0]})${refused === 0 ? '' : `, ${refused} without an answer`}`,
  );
}

/** What is measured of ten million rows: each list of questions, and how far it goes back. */
export const allQuestions = (days: number): readonly [string, [string, AnalyticsQuestion][]][] => {
  const whole = days * dayMs;
  return [
    ['the whole time', questions({}, whole)],
    ['a week', questions({}, 7 * dayMs)],
    ['six hours', questions({}, dayMs / 4)],
    ['the whole time, one model', questions({ models: ['model-1'] }, whole)],
    ['the whole time, by metadata', questions({ metadata: { team: 't3' } }, whole)],
    ['the whole time, by cost', questions({ cost: { min: 1e9, max: 2e10 } }, whole)],
    ['1970 to 3000', questions({}, end, far)],
  ];
};

/** Asks without a pause, until this process is killed. */
export async function askOn(
  days: number,
  ask: (question: AnalyticsQuestion) => Promise<unknown>,
): Promise<never> {
  process.send?.('asking');
  for (;;) for (const [, question] of questions({}, days * dayMs)) await ask(question).catch(() => {});
}
