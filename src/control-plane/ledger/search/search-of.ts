import { allLogs } from '../../../common/ledger/log-filters.js';
import { type LogFollowing, type LogQuery, newestFirst } from '../../../common/ledger/logs/log-query.js';
import type { LedgerFilter } from '../../../common/ledger/record.js';

/** A simple filter as a search. */
export function searchOf({
  org,
  workspace,
  keys,
  trace,
  after,
  limit,
}: LedgerFilter): LogQuery | LogFollowing {
  const searched = {
    sight: { org, workspaces: workspace === undefined ? null : [workspace], except: [], keys: keys ?? null },
    filters: trace === undefined ? allLogs : { ...allLogs, traces: [trace] },
    limit,
  };
  if (after !== undefined) return { ...searched, after };
  return { ...searched, order: newestFirst, offset: 0, isCounted: false };
}
