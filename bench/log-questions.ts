import { allLogs, type LogFilters } from '../src/common/ledger/log-filters.js';
import type { LogOrder, LogQuery } from '../src/common/ledger/logs/log-query.js';
import type { LedgerReader } from '../src/common/ledger/record.js';
import { end, sight } from './analytics-questions.js';
import { percentile } from './percentile.js';

/** Pages of logs, and the time that they take. Their total is counted as over REST. */

const dayMs = 86_400_000;
const newest: LogOrder = { by: 'created_at', isAscending: false };
const rounds = Number(process.env['ROUNDS'] ?? 3);

const pages = (days: number): readonly (readonly [string, Partial<LogQuery>, Partial<LogFilters>])[] => [
  ['the newest', {}, {}],
  ['the hundredth page', { offset: 4950 }, {}],
  ['of a day', {}, { at: { min: end - dayMs, max: end } }],
  [
    'the most expensive of a day',
    { order: { ...newest, by: 'cost' } },
    { at: { min: end - dayMs, max: end } },
  ],
  ['errors', {}, { statuses: [429] }],
  ['one model', {}, { models: ['model-1'] }],
  ['by metadata', {}, { metadata: { team: 't3' } }],
  ['by cost', {}, { cost: { min: 1e9, max: 2e9 } }],
  ['a trace', {}, { traces: ['trace-77777'] }],
  ['none, in the whole time', {}, { models: ['none'], at: { min: end - days * dayMs, max: end } }],
];

/** Asks for each page a few times, with its total and without. */
export async function measurePages(ledger: Pick<LedgerReader, 'page'>, days: number): Promise<void> {
  for (const isCounted of [false, true]) {
    const times: number[] = [];
    let refused = 0;
    for (const [what, query, filters] of pages(days)) {
      const own: number[] = [];
      for (let round = 0; round < rounds; round++) {
        const before = performance.now();
        const page = { order: newest, offset: 0, limit: 50, ...query };
        await ledger
          .page({ ...page, sight, filters: { ...allLogs, ...filters }, isCounted })
          .catch(() => void refused++);
        own.push(performance.now() - before);
      }
      times.push(...own);
      if (process.env['EACH']) console.log(`    ${what}: ${own.map(Math.round).join(' ')}`);
    }
    console.log(
      `pages of logs, ${isCounted ? 'with' : 'without'} their total: p50 ${percentile(times, 0.5).toFixed(0)} ms, p95 ${percentile(times, 0.95).toFixed(0)} ms, slowest ${Math.max(...times).toFixed(0)} ms${refused === 0 ? '' : `, ${refused} without an answer`}`,
    );
  }
}
