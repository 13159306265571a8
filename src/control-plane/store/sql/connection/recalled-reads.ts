import type { HeldClient } from './held.js';
import type { LeanDialect, Query } from './lean.js';

/** Results kept for a transaction; a further one drops all. */
const mostKept = 256;

const tableNames = /\b(?:from|join|into|update)\s+["`]?(\w+)/gi;
const isLock = /\bfor update\b|\block\b|_lock\b/i;
const readMethods = new Set(['select', 'first', 'pluck']);
const isPlainChange = /^\s*(?:insert|update)\b/i;
/** Statements that change no row. */
const isHarmless = /^\s*(?:savepoint|release)\b/i;

const isRead = (sql: string): boolean => /^\s*select\b/i.test(sql) && !isLock.test(sql);
const tablesIn = (sql: string): string[] => [...sql.matchAll(tableNames)].map(([, table]) => table!);

interface Kept {
  readonly tables: readonly string[];
  readonly answer: Promise<unknown>;
}

/**
 * Runs repeated SELECTs of a transaction once: work on thousands of records reads the few records that they all name many
 * times. A write to a table drops the results of that table; a lock, a deletion (which may cascade to other tables) or a rollback
 * drops all of them.
 */
class RecalledReads {
  readonly #kept = new Map<string, Kept>();

  constructor(readonly ask: LeanDialect['run']) {}

  run(query: Query, runner: Parameters<LeanDialect['run']>[1]): Promise<unknown> {
    const { sql, bindings = [], method = '', output } = query;
    if (!isRead(sql)) return this.#changed(sql, this.ask(query, runner));
    const isSimple = bindings.every((value) => typeof value !== 'object' || value === null);
    if (!readMethods.has(method) || output !== undefined || !isSimple) return this.ask(query, runner);
    const key = `${method} ${sql} ${JSON.stringify(bindings)}`;
    const known = this.#kept.get(key);
    if (known !== undefined) return known.answer.then(copied);
    const answer = this.ask(query, runner);
    if (this.#kept.size >= mostKept) this.#kept.clear();
    this.#kept.set(key, { tables: tablesIn(sql), answer });
    return answer.then(copied);
  }

  #changed(sql: string, answer: Promise<unknown>): Promise<unknown> {
    if (isHarmless.test(sql)) return answer;
    const changed = new Set(tablesIn(sql));
    if (!isPlainChange.test(sql) || changed.size === 0) this.#kept.clear();
    for (const [key, { tables }] of this.#kept)
      if (tables.some((table) => changed.has(table))) this.#kept.delete(key);
    return answer;
  }
}

/** A list belongs to the caller; its rows are shared and must not be changed. */
const copied = (answer: unknown): unknown => (Array.isArray(answer) ? [...answer] : answer);

/** From now on, repeated statements of the transaction are answered from memory. */
export function recallReads(client: HeldClient): void {
  const reads = new RecalledReads(client.run.bind(client));
  Object.assign(client, {
    run: (query: Query, runner: Parameters<LeanDialect['run']>[1] = null) => reads.run(query, runner),
  });
}
