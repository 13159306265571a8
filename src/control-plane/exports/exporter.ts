import { AsyncResource } from 'node:async_hooks';
import { scheduler } from 'node:timers/promises';
import type { LogQuery } from '../../common/ledger/logs/log-query.js';
import type { Bodies, LedgerPage, LedgerReader, LedgerRow } from '../../common/ledger/record.js';
import type { Logger } from '../../common/plugin-host/plugin.js';
import type { LogExport, LogExportStore } from '../store/store.js';
import type { ExportDestination, ExportWriter } from './destination.js';

/** How an export is read from the ledger and written. */
export interface ExportForm extends Pick<LogQuery, 'sight' | 'filters'> {
  /** Rows to pass over, and to write at most. */
  readonly skip: number;
  readonly most: number;
  readonly wantsBodies: boolean;
  /** Names of the ledger's fields that lines are made of; null: all. */
  readonly fields: readonly string[] | null;
  readonly contentType: string;
  /** Before all rows. */
  readonly heading: string;
  line(row: LedgerRow, bodies: Bodies | null): string;
}

export interface LogExporterOptions {
  readonly exports: LogExportStore;
  readonly ledger: Pick<LedgerReader, 'follow' | 'bodies'>;
  readonly destination: ExportDestination;
  readonly nodeId: string;
  /** Milliseconds after its end for which the file of an export is kept; null: forever. */
  readonly keepMs: number | null;
  /** Do all nodes write to one place? Then each may remove what another one wrote. */
  readonly isShared: boolean;
  /** Throws for one that can't be written any more. */
  formOf(started: LogExport): ExportForm;
  readonly log: Logger;
}

const pageRows = 500;
/**
 * Rows that are looked at for one page: a search must end in time, and there must be signs of life. Where few match it is more with each
 * page, since a database may walk over all of them first.
 */
const scanRows = { least: 2 * pageRows, most: 100_000 };
/** Bodies that are read at once, and characters of lines that are written at once. */
const bodiesAtOnce = 8;
const pieceCharacters = 64 * 1024;
/** Without a sign of life another node writes it. */
const holdMs = 30_000;
const signMs = 2000;
/** One that ended so many processes is not begun again. */
const mostRuns = 100;
/** How often a requested export is looked up: it exists when its unit of work has ended. */
const looksMs = [30, 200, 1000, 5000];

/** How long files of failed and stopped exports, which no one reads, are kept. */
const keepUnfinishedMs = 3_600_000;
/** Files that are removed before the store is read again. */
const removedAtOnce = 100;

/** Its export was stopped, or belongs to another node by now. */
class NotOurs extends Error {}

export const exportFileName = ({ organisationId, id, format }: LogExport): string =>
  `${organisationId}/${id}.${format}`;

/** Writes the exports that were started, one after the other. An interrupted one is started again, here or on another node. */
export class LogExporter {
  readonly #options: LogExporterOptions;
  readonly #stopping = new AbortController();
  #looking: Promise<void> | null = null;
  #woken = 0;
  /** Work of its own: in the scope of a call that wakes it, it would belong to that call's transaction. */
  readonly #scope = new AsyncResource('LogExporter');

  constructor(options: LogExporterOptions) {
    this.#options = options;
  }

  get destination(): ExportDestination {
    return this.#options.destination;
  }

  /** An export is about to be started. */
  wake(): void {
    this.#scope.runInAsyncScope(() => this.#lookOften(++this.#woken)).catch(() => {});
  }

  /** A later wake takes the place of the looks that are left. */
  async #lookOften(woken: number): Promise<void> {
    for (const ms of looksMs) {
      await scheduler.wait(ms, { signal: this.#stopping.signal });
      if (woken !== this.#woken) return;
      await this.look();
    }
  }

  /** Writes what waits. Never rejects. */
  look(): Promise<void> {
    this.#looking ??= this.#writeAll()
      .catch((error: unknown) => {
        if (!this.#stopping.signal.aborted)
          this.#options.log.warn({ err: error }, 'exports of logs could not be looked for');
      })
      .finally(() => {
        this.#looking = null;
      });
    return this.#looking;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#looking;
  }

  /** Removes files whose time is over, and what is left of exports that did not end well. Never rejects. */
  async expire(now = Date.now()): Promise<void> {
    const { exports, destination, nodeId, isShared, keepMs, log } = this.#options;
    try {
      for (;;) {
        const ended = await exports.expired({
          before: keepMs === null ? null : now - keepMs,
          unfinishedBefore: now - keepUnfinishedMs,
          nodeId: isShared ? null : nodeId,
          limit: removedAtOnce,
        });
        for (const one of ended) {
          if (this.#stopping.signal.aborted) return;
          await destination.remove(exportFileName(one));
          await exports.fileRemoved(one);
        }
        if (ended.length < removedAtOnce) return;
      }
    } catch (error) {
      if (!this.#stopping.signal.aborted)
        log.warn({ err: error }, 'files of exports whose time is over could not be removed');
    }
  }

  async #writeAll(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const started = await this.#options.exports.claim(this.#options.nodeId, holdMs);
      if (started === null) return;
      await this.#write(started);
    }
  }

  async #write(started: LogExport): Promise<void> {
    const { exports, destination, formOf, log } = this.#options;
    const run: ExportRun = { started, records: 0, signedAt: performance.now() };
    let writer: ExportWriter | null = null;
    try {
      if (started.runs > mostRuns) throw new Error('It was cut off too often.');
      const form = formOf(started);
      writer = await destination.open(exportFileName(started), started.runs, form.contentType);
      await this.#writeRows(run, form, writer);
      await this.#sign(run);
      await writer.finish();
      writer = null;
      await exports.finish(started, run.records, null);
      log.info({ export: started.id, records: run.records }, 'An export of logs was written.');
    } catch (error) {
      await writer?.abandon().catch((problem: unknown) => {
        log.warn({ err: problem, export: started.id }, 'part of an export was left behind');
      });
      if (error instanceof NotOurs) return;
      if (this.#stopping.signal.aborted) return exports.release(started);
      log.error({ err: error, export: started.id }, 'an export of logs failed');
      await exports.finish(started, run.records, reasonOf(error));
    }
  }

  async #writeRows(run: ExportRun, form: ExportForm, writer: ExportWriter): Promise<void> {
    const { sight, filters, most, fields } = form;
    let { skip } = form;
    let scan = scanRows.least;
    const pageAfter = (after: string): Promise<LedgerPage> => {
      const page = this.#options.ledger.follow({
        sight,
        filters,
        after,
        limit: pageRows,
        scan,
        isOnce: true,
        ...(fields !== null && { columns: fields }),
      });
      // It may fail while the page before it is written.
      page.catch(() => {});
      return page;
    };
    let next = pageAfter('0');
    let text = form.heading;
    while (run.records < most) {
      const { rows, cursor, isCut } = await next;
      const isFull = rows.length === pageRows;
      scan = isFull ? Math.max(scan / 2, scanRows.least) : Math.min(scan * 2, scanRows.most);
      const isLast = !isFull && isCut !== true;
      // Read while this one is written.
      if (!isLast) next = pageAfter(cursor);
      const wanted = rows.slice(skip, skip + most - run.records);
      skip -= Math.min(skip, rows.length);
      for (let i = 0; i < wanted.length; i += bodiesAtOnce) {
        const some = wanted.slice(i, i + bodiesAtOnce);
        const bodies = form.wantsBodies ? await this.#bodiesOf(some) : [];
        for (const [n, row] of some.entries()) {
          text += form.line(row, bodies[n] ?? null);
          run.records++;
        }
        if (text.length < pieceCharacters) continue;
        await writer.write(text);
        text = '';
      }
      if (performance.now() - run.signedAt > signMs) await this.#sign(run);
      this.#stopping.signal.throwIfAborted();
      if (isLast) break;
    }
    if (text !== '') await writer.write(text);
  }

  #bodiesOf(rows: readonly LedgerRow[]): Promise<(Bodies | null)[]> {
    return Promise.all(rows.map((row) => this.#options.ledger.bodies(row.org, row.id)));
  }

  async #sign(run: ExportRun): Promise<void> {
    run.signedAt = performance.now();
    if (!(await this.#options.exports.progress(run.started, run.records, holdMs))) throw new NotOurs();
  }
}

interface ExportRun {
  readonly started: LogExport;
  records: number;
  /** Of the last sign of life, by performance.now(). */
  signedAt: number;
}

/** What callers may read: no address, path or credential of the destination. */
function reasonOf(error: unknown): string {
  const { code, name, message } = error as NodeJS.ErrnoException;
  if (name === 'AdminError' || name === 'GatewayError') return message.slice(0, 255);
  return `The file could not be written (${String(code ?? name).slice(0, 60)}).`;
}
