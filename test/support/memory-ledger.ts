import type { ChargedBudget } from '../../src/common/ledger/budgets.js';
import type { LogFollowing, LogQuery } from '../../src/common/ledger/logs/log-query.js';
import { unpack } from '../../src/common/ledger/packed-rows.js';
import type { ExchangeBodies, LedgerFilter, LedgerRow, UsageFilter } from '../../src/common/ledger/record.js';
import { findBodies } from '../../src/control-plane/ingestion/body-reader.js';
import type { Ledger, LedgerBatch, OpenIntent } from '../../src/control-plane/ledger/ledger.js';
import { usageOfRows } from './ledger-usage.js';
import { isInSight, matches, pageOfRows } from './rows-in-sight.js';

interface Numbered {
  readonly seq: number;
  readonly row: LedgerRow;
}

/** A ledger that takes rows, as a database other than SQLite does: the contract's second implementation. */
export class MemoryLedger implements Ledger {
  readonly keepBodies = null;
  readonly #rows = new Map<string, Numbered>();
  readonly #positions = new Map<string, number>();
  readonly #open = new Map<string, OpenIntent>();
  #seq = 0;

  constructor(readonly journalDir: string) {}

  async apply({
    settled,
    unknown,
    positions,
    opened,
    closed,
  }: LedgerBatch): Promise<readonly ChargedBudget[]> {
    const packed = settled?.packed ? unpack(settled.packed) : [];
    for (const row of [...packed, ...(settled?.rows ?? [])]) {
      if (this.#rows.get(row.id)?.row.state !== 'settled') this.#add(row);
    }
    for (const row of unknown) if (!this.#rows.has(row.id)) this.#add(row);
    for (const one of opened) if (!this.#rows.has(one.intent.id)) this.#open.set(one.intent.id, one);
    for (const id of closed) this.#open.delete(id);
    for (const [source, position] of positions) {
      if (position === null) this.#positions.delete(source);
      else this.#positions.set(source, position);
    }
    return [];
  }

  #add(row: LedgerRow): void {
    this.#rows.set(row.id, { seq: ++this.#seq, row });
  }

  async usage(filter: UsageFilter) {
    return usageOfRows(
      [...this.#rows.values()].map(({ row }) => row),
      filter,
    );
  }

  async positions() {
    return new Map(this.#positions);
  }

  async openIntents() {
    return [...this.#open.values()];
  }

  async changes(after: string, limit: number) {
    const rows = this.#inOrder(({ seq }) => seq > Number(after)).slice(0, limit);
    return {
      rows: rows.map(({ row }) => row),
      cursor: String(rows.at(-1)?.seq ?? after),
      cursorAfter: (count: number) => String(rows[count - 1]!.seq),
    };
  }

  #inOrder(matches: (one: Numbered) => boolean): Numbered[] {
    return [...this.#rows.values()].filter(matches).sort((a, b) => a.seq - b.seq);
  }

  async recent({ org, workspace, trace, keys, after, limit }: LedgerFilter) {
    const seen = this.#inOrder(
      ({ seq, row }) =>
        row.org === org &&
        (workspace === undefined || row.workspace === workspace) &&
        (trace === undefined || row.trace === trace) &&
        (keys === undefined || keys.includes(row.key ?? '')) &&
        (after === undefined || seq > Number(after)),
    );
    if (after === undefined) seen.sort((a, b) => b.row.at - a.row.at || b.seq - a.seq);
    const page = seen.slice(0, limit);
    const isCut = after !== undefined && page.length === limit;
    return {
      rows: page.map(({ row }) => row),
      cursor: String(isCut ? (page.at(-1)?.seq ?? after) : this.#seq),
    };
  }

  async page(query: LogQuery) {
    return {
      ...pageOfRows(
        this.#inOrder(() => true).map(({ row }) => row),
        query,
      ),
      cursor: String(this.#seq),
    };
  }

  async follow({ sight, filters, after, limit }: LogFollowing) {
    const seen = this.#inOrder(
      ({ seq, row }) => seq > Number(after) && isInSight(row, sight) && matches(row, filters),
    ).slice(0, limit);
    return {
      rows: seen.map(({ row }) => row),
      cursor: String(seen.length === limit ? (seen.at(-1)?.seq ?? after) : this.#seq),
    };
  }

  async get(org: string, id: string) {
    const row = this.#rows.get(id)?.row;
    return row?.org === org ? row : null;
  }

  async bodies(org: string, id: string) {
    return (await this.allBodies(org, id)).client;
  }

  async allBodies(org: string, id: string): Promise<ExchangeBodies> {
    const row = await this.get(org, id);
    if (row === null) return { client: null, provider: null };
    return findBodies(this.journalDir, org, id, row.at, row.at + row.totalMs);
  }

  async checkpoint() {
    return true;
  }

  async close() {}
}
