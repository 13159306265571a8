import { noUsage } from '../../src/common/core/usage.js';
import type { LogFollowing, LogQuery } from '../../src/common/ledger/logs/log-query.js';
import type { LedgerFilter, LedgerReader, LedgerRow, UsageFilter } from '../../src/common/ledger/record.js';
import { usageOfRows } from './ledger-usage.js';
import { pageOfRows, rowsAfter } from './rows-in-sight.js';

/** A ledger of given rows, in the order in which they came in: what is tested here is who may see which. */
export class RowsLedger implements LedgerReader {
  readonly rows: LedgerRow[] = [];

  async recent({ org, workspace, trace, keys, after, limit }: LedgerFilter) {
    const seen = this.rows.filter(
      (row, i) =>
        row.org === org &&
        (workspace === undefined || row.workspace === workspace) &&
        (trace === undefined || row.trace === trace) &&
        (keys === undefined || keys.includes(row.key ?? '')) &&
        (after === undefined || i >= Number(after)),
    );
    const rows = after === undefined ? seen.reverse().slice(0, limit) : seen.slice(0, limit);
    return { rows, cursor: String(this.rows.length) };
  }

  async page(query: LogQuery) {
    return pageOfRows(this.rows, query);
  }

  async follow(following: LogFollowing) {
    return rowsAfter(this.rows, following);
  }

  async usage(filter: UsageFilter) {
    return usageOfRows(this.rows, filter);
  }

  async get(org: string, id: string) {
    return this.rows.find((row) => row.org === org && row.id === id) ?? null;
  }

  async allBodies(org: string, id: string) {
    return { client: await this.bodies(org, id), provider: null };
  }

  async bodies(org: string, id: string) {
    const row = await this.get(org, id);
    return (
      row && {
        id,
        at: row.at,
        org,
        workspace: row.workspace,
        request: '{"q":1}',
        response: '{"a":2}',
        cut: false,
      }
    );
  }
}

/** A settled request, with the least that a row has. */
export function logRow(org: string, workspace: string, id: string, trace: string): LedgerRow {
  return {
    state: 'settled',
    node: null,
    id,
    at: 1_800_000_000_123,
    org,
    workspace,
    key: 'k',
    user: null,
    config: null,
    configVersion: 'none',
    prompt: null,
    endpoint: 'chat',
    method: 'POST',
    path: '/v1/chat/completions',
    provider: 'openai',
    slug: null,
    integration: null,
    modelAsked: 'gpt',
    modelUsed: 'gpt-1\u001b[2J',
    status: 200,
    error: null,
    errorMessage: null,
    stream: true,
    totalMs: 12.5,
    upstreamMs: 10,
    firstByteMs: 3,
    attempts: [
      {
        target: 'config',
        slug: null,
        integration: null,
        provider: 'openai',
        model: 'gpt',
        startedAt: 1,
        status: 200,
        error: null,
        durationMs: 9,
        usage: null,
        cost: null,
      },
    ],
    retries: 0,
    target: 'config',
    usage: { ...noUsage(), input: 7, output: 5 },
    cost: 1_500_000_000,
    cache: 'DISABLED',
    metadata: { team: 'a' },
    trace,
    span: null,
    parentSpan: null,
    spanName: null,
    traceContext: null,
    dropped: [],
    costSaved: null,
    msSaved: null,
    route: null,
    stages: null,
    charges: null,
    steps: null,
  };
}
