import { close, closeSync, mkdirSync, openSync, unlinkSync, write, writeSync } from 'node:fs';
import { join } from 'node:path';
import { asciiJson } from './line-writer.js';
import type { BodiesToKeep } from './record.js';
import { fileName } from './writer.js';

export interface BodyWriterOptions {
  readonly dir: string;
  readonly worker: string;
  readonly maxBodyFileBytes?: number;
  readonly onProblem: (error: Error) => void;
}

const defaultFileBytes = 16 * 1024 * 1024;
/** At most this late on file. */
const flushMs = 250;
/** Written sooner once this much waits, so that no single write holds the loop up. */
const flushBytes = 256 * 1024;
/** More than this waiting means that the disk does not keep up: further bodies are dropped. */
const maxWaitingBytes = 16 * 1024 * 1024;
const newline = Buffer.from('\n');

/**
 * Bodies go to files of their own and stay there: they are far more bytes than the rows, hardly ever read, and
 * the first to be thrown away. Each is a header line with the lengths of the two bodies, then their bytes as
 * they are: nothing is escaped, nothing copied into a database.
 */
export class BodyWriter {
  readonly #options: BodyWriterOptions;
  readonly #maxFileBytes: number;
  #fd = -1;
  #n = 0;
  #fileBytes = 0;
  #waiting: BodiesToKeep[] = [];
  #waitingBytes = 0;
  /** Bytes handed to the disk and not yet there. */
  #leaving: Buffer | null = null;
  #timer: NodeJS.Timeout | null = null;
  #isReported = false;
  #closed = false;
  /** Bodies given up because the disk did not keep up or could not be written. */
  dropped = 0;

  constructor(options: BodyWriterOptions) {
    this.#options = options;
    this.#maxFileBytes = options.maxBodyFileBytes ?? defaultFileBytes;
  }

  add(bodies: BodiesToKeep): void {
    const bytes = (bodies.request?.length ?? 0) + (bodies.response?.length ?? 0);
    if (this.#waitingBytes + (this.#leaving?.length ?? 0) + bytes > maxWaitingBytes) {
      this.dropped++;
      return;
    }
    this.#waiting.push(bodies);
    this.#waitingBytes += bytes;
    this.#timer ??= setTimeout(() => this.#flush(), flushMs).unref();
    if (this.#waitingBytes >= flushBytes) this.#flush();
  }

  #take(): Buffer {
    const parts: Buffer[] = [];
    for (const { id, at, org, workspace, request, response, cut } of this.#waiting) {
      const asked = bytesOf(request);
      const answered = bytesOf(response);
      parts.push(
        Buffer.from(
          `B${asciiJson([id, at, org, workspace, cut ? 1 : 0, asked?.length ?? -1, answered?.length ?? -1])}\n`,
          'latin1',
        ),
      );
      if (asked !== null) parts.push(asked);
      if (answered !== null) parts.push(answered);
      parts.push(newline);
    }
    this.#waiting = [];
    this.#waitingBytes = 0;
    return Buffer.concat(parts);
  }

  #flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#leaving !== null || this.#waiting.length === 0) return;
    const count = this.#waiting.length;
    const bytes = this.#take();
    try {
      if (this.#fd < 0 || this.#fileBytes >= this.#maxFileBytes) this.#openNext();
    } catch (error) {
      this.#lost(count, error);
      return;
    }
    this.#leaving = bytes;
    this.#send(this.#fd, 0, count);
  }

  /** Off the event loop's thread: bodies may be many bytes. */
  #send(fd: number, from: number, count: number): void {
    const bytes = this.#leaving;
    if (bytes === null) return;
    write(fd, bytes, from, bytes.length - from, null, (error, written) => {
      if (this.#closed) {
        close(fd, () => {});
        return;
      }
      if (error !== null) {
        this.#leaving = null;
        this.#abandon();
        this.#lost(count, error);
      } else if (from + written < bytes.length) {
        this.#send(fd, from + written, count);
        return;
      } else {
        this.#leaving = null;
        this.#fileBytes += bytes.length;
        this.#isReported = false;
      }
      if (this.#waitingBytes >= flushBytes) this.#flush();
      else if (this.#waiting.length > 0) this.#timer ??= setTimeout(() => this.#flush(), flushMs).unref();
    });
  }

  #openNext(): void {
    mkdirSync(this.#options.dir, { recursive: true, mode: 0o700 });
    this.#abandon();
    this.#n = Math.max(this.#n + 1, Date.now());
    this.#fd = openSync(
      join(this.#options.dir, fileName(this.#options.worker, process.pid, this.#n, 'bodies')),
      'ax',
      0o600,
    );
    this.#fileBytes = 0;
  }

  /** A file that could not be written to its end is not continued: its reader stops at the break. */
  #abandon(): void {
    const fd = this.#fd;
    if (fd < 0) return;
    this.#fd = -1;
    if (this.#fileBytes > 0) {
      close(fd, () => {});
      return;
    }
    closeSync(fd);
    try {
      unlinkSync(join(this.#options.dir, fileName(this.#options.worker, process.pid, this.#n, 'bodies')));
    } catch {
      // Pruned already.
    }
  }

  #lost(count: number, error: unknown): void {
    this.dropped += count;
    if (this.#isReported) return;
    this.#isReported = true;
    this.#options.onProblem(
      new Error(
        `Bodies for the log cannot be written to ${this.#options.dir} and are dropped: ${(error as Error).message}. Free the disk, or set HEADGATE_LOG_BODIES=false.`,
        { cause: error },
      ),
    );
  }

  /** Writes what waits, synchronously: the process is about to end. */
  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#closed = true;
    const count = this.#waiting.length;
    // A write under way may not get to its end any more. Its bytes go along: found twice is as good as once.
    const parts = this.#leaving === null ? [this.#take()] : [this.#leaving, this.#take()];
    const bytes = Buffer.concat(parts);
    if (this.#leaving === null) this.#abandon();
    this.#fd = -1;
    this.#leaving = null;
    if (bytes.length === 0) return;
    try {
      this.#openNext();
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#fd, bytes, at);
      closeSync(this.#fd);
    } catch (error) {
      this.#lost(count, error);
    }
    this.#fd = -1;
  }
}

const bytesOf = (body: Buffer | string | null): Buffer | null =>
  typeof body === 'string' ? Buffer.from(body) : body;
