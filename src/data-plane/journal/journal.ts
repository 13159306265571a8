import {
  close,
  closeSync,
  fdatasync,
  fdatasyncSync,
  mkdirSync,
  openSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { headerLine, writeIntent, writeSettlement } from '../../common/ledger/journal-line.js';
import { LineWriter, NoRoom } from '../../common/ledger/line-writer.js';
import type { BodiesToKeep, Intent, IntentWaiter, Journal, Settlement } from '../../common/ledger/record.js';
import { fileName, ownIdentity } from '../../common/ledger/writer.js';
import { BodyWriter } from './body-writer.js';

export interface JournalOptions {
  readonly dir: string;
  /** The data worker's number; with the process id it names the files. */
  readonly worker: string;
  /** Id of the node, for the rows of its requests. */
  readonly node?: string;
  /** Bytes after which the next file is started, so that ingested ones can be deleted. */
  readonly maxFileBytes?: number;
  readonly maxBodyFileBytes?: number;
  /** Called once when something stops working, not for every record. */
  readonly onProblem: (error: Error) => void;
}

const defaultFileBytes = 16 * 1024 * 1024;
const maxFileAgeMs = 10 * 60_000;
/** Milliseconds of records that a power failure may lose. */
const syncMs = 100;
/** Milliseconds between tries of a journal that cannot be written. */
const retryMs = 250;
/** Bytes that wait in memory meanwhile; more are dropped and counted. */
const maxWaitingBytes = 8 * 1024 * 1024;
/** Bytes that are written before the end of a turn. */
const writeAtBytes = 48 * 1024;

/**
 * Opens a data worker's journal. If the directory cannot be written, the journal is not `healthy`; this does not throw.
 */
export function openJournal(options: JournalOptions): FileJournal {
  return new FileJournal(options);
}

class FileJournal implements Journal {
  readonly #options: JournalOptions;
  readonly #maxFileBytes: number;
  readonly #header: string;
  readonly #bodies: BodyWriter;
  readonly #flushTurn = (): void => {
    this.#turnScheduled = false;
    if (this.#healthy) this.#write();
    const waiters = this.#waiters;
    this.#waiters = [];
    for (let i = 0; i < waiters.length; i++) waiters[i]!.intended();
  };
  #waiters: IntentWaiter[] = [];
  #fd = -1;
  #n = 0;
  #fileBytes = 0;
  #openedAt = 0;
  /** Records waiting for the file: empty between turns, unless the file cannot be written. */
  readonly #waiting = new LineWriter(64 * 1024, maxWaitingBytes);
  #turnScheduled = false;
  #syncTimer: NodeJS.Timeout | null = null;
  #retryTimer: NodeJS.Timeout | null = null;
  #healthy = true;
  #dropped = 0;
  #closed = false;

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#maxFileBytes = options.maxFileBytes ?? defaultFileBytes;
    this.#header = headerLine(ownIdentity(), options.node ?? null);
    this.#bodies = new BodyWriter(options);
    try {
      this.#openNext();
    } catch (error) {
      this.#failed(error);
    }
  }

  get healthy(): boolean {
    return this.#healthy;
  }

  get dropped(): number {
    return this.#dropped;
  }

  get droppedBodies(): number {
    return this.#bodies.dropped;
  }

  intend(intent: Intent, waiter?: IntentWaiter): void {
    this.#add(writeIntent, intent);
    if (waiter === undefined) {
      if (this.#healthy) this.#write();
      return;
    }
    this.#waiters.push(waiter);
    if (!this.#turnScheduled) setImmediate(this.#flushTurn);
    this.#turnScheduled = true;
  }

  settle(settlement: Settlement): void {
    this.#add(writeSettlement, settlement);
    if (!this.#healthy || this.#turnScheduled) return;
    setImmediate(this.#flushTurn);
    this.#turnScheduled = true;
  }

  keepBodies(bodies: BodiesToKeep): void {
    if (!this.#closed) this.#bodies.add(bodies);
  }

  #add<Record>(write: (to: LineWriter, record: Record) => void, record: Record): void {
    if (this.#closed) {
      this.#dropped++;
      return;
    }
    const before = this.#waiting.used;
    try {
      write(this.#waiting, record);
    } catch (error) {
      this.#waiting.used = before;
      if (!(error instanceof NoRoom)) throw error;
      this.#dropped++;
      return;
    }
    if (this.#healthy && this.#waiting.used > writeAtBytes) this.#write();
  }

  #write(): void {
    const waiting = this.#waiting;
    if (waiting.used === 0) return;
    let written = 0;
    try {
      if (this.#fd < 0) this.#openNext();
      while (written < waiting.used) {
        written += writeSync(this.#fd, waiting.bytes, written, waiting.used - written);
      }
    } catch (error) {
      // Continues exactly where the disk stopped, so that the file has whole lines.
      waiting.bytes.copyWithin(0, written, waiting.used);
      waiting.used -= written;
      this.#fileBytes += written;
      this.#failed(error);
      return;
    }
    waiting.used = 0;
    this.#fileBytes += written;
    this.#syncTimer ??= setTimeout(() => this.#sync(), syncMs).unref();
    if (this.#fileBytes >= this.#maxFileBytes) this.#rotate();
  }

  #openNext(): void {
    mkdirSync(this.#options.dir, { recursive: true, mode: 0o700 });
    for (;;) {
      this.#n = Math.max(this.#n + 1, Date.now());
      const path = join(this.#options.dir, fileName(this.#options.worker, process.pid, this.#n, 'log'));
      let fd: number;
      try {
        fd = openSync(path, 'ax', 0o600);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue;
        throw error;
      }
      try {
        writeSync(fd, this.#header);
      } catch (error) {
        closeSync(fd);
        // Otherwise a full disk would collect one with every retry.
        unlinkSync(path);
        throw error;
      }
      this.#fd = fd;
      this.#fileBytes = this.#header.length;
      this.#openedAt = performance.now();
      return;
    }
  }

  #rotate(): void {
    const old = this.#fd;
    try {
      this.#openNext();
    } catch (error) {
      this.#failed(error);
      return;
    }
    fdatasync(old, (error) => {
      close(old, () => {});
      if (error !== null) this.#failed(error);
    });
  }

  #sync(): void {
    const fd = this.#fd;
    if (fd < 0 || this.#closed) {
      this.#syncTimer = null;
      return;
    }
    const bytes = this.#fileBytes;
    fdatasync(fd, (error) => {
      this.#syncTimer = null;
      // EBADF: rotated or closed meanwhile, and synced on that way.
      if (error !== null && error.code !== 'EBADF') {
        this.#abandon(fd);
        this.#failed(error);
        return;
      }
      if (this.#closed || fd !== this.#fd) return;
      if (this.#fileBytes > bytes) this.#syncTimer = setTimeout(() => this.#sync(), syncMs).unref();
      else if (performance.now() - this.#openedAt > maxFileAgeMs) this.#rotate();
    });
  }

  /** After a failed sync the file's content is unknown, and a second sync would not report it: continue in another file. */
  #abandon(fd: number): void {
    if (fd !== this.#fd) return;
    this.#fd = -1;
    close(fd, () => {});
  }

  #failed(error: unknown): void {
    if (this.#healthy) {
      this.#healthy = false;
      this.#options.onProblem(
        new Error(
          `The journal in ${this.#options.dir} cannot be written: ${(error as Error).message}. Records wait in memory; free the disk.`,
          { cause: error },
        ),
      );
    }
    if (!this.#closed) this.#retryTimer ??= setTimeout(() => this.#retry(), retryMs).unref();
  }

  #retry(): void {
    this.#retryTimer = null;
    if (this.#closed) return;
    try {
      if (this.#fd < 0) this.#openNext();
    } catch (error) {
      this.#failed(error);
      return;
    }
    this.#write();
    // A failure of that write starts the timer again.
    if (this.#retryTimer === null) this.#healthy = true;
  }

  close(): void {
    if (this.#closed) return;
    this.#write();
    this.#closed = true;
    if (this.#syncTimer !== null) clearTimeout(this.#syncTimer);
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer);
    this.#bodies.close();
    if (this.#fd < 0) return;
    try {
      fdatasyncSync(this.#fd);
    } catch (error) {
      this.#failed(error);
    }
    closeSync(this.#fd);
    this.#fd = -1;
  }
}

export type { FileJournal };
