import type { HeldClient } from './held.js';
import type { LeanDialect, Query } from './lean.js';

/** Results kept for a transaction; a further one drops all. */
const mostKept = 256;
/** Bytes of a result that is kept, and of all of them together. */
const largest = 256 * 1024;
const mostBytes = 16 * 1024 * 1024;

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
  /** 0 until the answer is there. */
  bytes: number;
}

/**
 * Runs repeated SELECTs of a transaction once: work on thousands of records reads the few records that they all name many
 * times. A write to a table drops the results of that table; a lock, a deletion (which may cascade to other tables) or a rollback
 * drops all of them.
 */
class RecalledReads {
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;

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
    if (this.#kept.size >= mostKept) this.#clear();
    const kept: Kept = { tables: tablesIn(sql), answer, bytes: 0 };
    this.#kept.set(key, kept);
    return answer.then((found) => {
      this.#weigh(key, kept, bytesOf(found));
      return copied(found);
    });
  }

  #weigh(key: string, kept: Kept, bytes: number): void {
    if (this.#kept.get(key) !== kept) return;
    kept.bytes = bytes;
    this.#bytes += bytes;
    if (bytes > largest) this.#drop(key, kept);
    else if (this.#bytes > mostBytes) this.#clear();
  }

  #drop(key: string, { bytes }: Kept): void {
    this.#kept.delete(key);
    this.#bytes -= bytes;
  }

  #clear(): void {
    this.#kept.clear();
    this.#bytes = 0;
  }

  #changed(sql: string, answer: Promise<unknown>): Promise<unknown> {
    if (isHarmless.test(sql)) return answer;
    const changed = new Set(tablesIn(sql));
    if (!isPlainChange.test(sql) || changed.size === 0) this.#clear();
    for (const [key, kept] of this.#kept)
      if (kept.tables.some((table) => changed.has(table))) this.#drop(key, kept);
    return answer;
  }
}

const bytesOfRow = 64;
const bytesOfValue = 16;

/** By estimate: of what makes results large, which is texts. */
function bytesOf(answer: unknown): number {
  let bytes = 0;
  for (const row of Array.isArray(answer) ? answer : [answer]) {
    bytes += bytesOfRow;
    if (typeof row === 'string') bytes += row.length;
    else if (typeof row === 'object' && row !== null)
      for (const value of Object.values(row))
        bytes += bytesOfValue + (typeof value === 'string' || Buffer.isBuffer(value) ? value.length : 0);
  }
  return bytes;
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
