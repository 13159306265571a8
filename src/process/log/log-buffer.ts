import type { LogOutput } from './log-output.js';

export interface LogBufferOptions {
  readonly output: LogOutput;
  /** Limit of waiting lines, in bytes. */
  readonly maxBytes: number;
  /** The line that reports that `dropped` lines are missing before it. Ends with a newline. */
  readonly gapLine: (dropped: number) => string;
}

/** Milliseconds until the next try after EAGAIN; doubled each time that the reader has not caught up. */
const fullRetryMs = 1;
const longestFullRetryMs = 64;
/** Milliseconds until the next try after any other error: a full disk, a closed pipe. */
const failedRetryMs = 500;
/** Milliseconds; the process exits without waiting for a write that takes longer. */
const stuckMs = 1000;
/** Memory of a line besides its text. */
const lineOverheadBytes = 64;

/**
 * Lines that wait for the log output, written in batches at the end of each turn of the event loop. They wait for an
 * output that is full or broken, in bounded memory. When there is no more room, lines are dropped until all that waited
 * is written, so that there is a single gap, with one line that reports its size.
 */
export class LogBuffer {
  /** Lines dropped since the process started. */
  dropped = 0;
  readonly #options: LogBufferOptions;
  #lines: string[] = [];
  /** Bytes of lines and batch, with their overhead. */
  #bytes = 0;
  /** Lines dropped since the last line that was kept. */
  #gap = 0;
  /** The lines that are being written, and their share of `#bytes`. */
  #batch: Buffer | null = null;
  #batchCost = 0;
  #flushPending = false;
  /** Monotonic milliseconds at which the write under way began; null: there is none. */
  #writingSince: number | null = null;
  #retryMs = fullRetryMs;

  constructor(options: LogBufferOptions) {
    this.#options = options;
  }

  write(line: string): void {
    const cost = costOf(line);
    if (this.#gap > 0 || this.#bytes + cost > this.#options.maxBytes) {
      this.#gap++;
      this.dropped++;
      return;
    }
    this.#lines.push(line);
    this.#bytes += cost;
    if (this.#flushPending) return;
    this.#flushPending = true;
    setImmediate(this.#flush);
  }

  readonly #flush = (): void => {
    while (this.#batch !== null || this.#takeBatch()) {
      try {
        const written = this.#options.output.write(this.#batch!);
        if (typeof written !== 'number') {
          this.#writingSince = performance.now();
          written.then(this.#written, this.#failed);
          return;
        }
        if (written === 0) return this.#failed(null);
        this.#advance(written);
      } catch (error) {
        return this.#failed(error);
      }
    }
    this.#flushPending = false;
  };

  readonly #written = (bytes: number): void => {
    if (bytes === 0) return this.#failed(null);
    this.#writingSince = null;
    this.#advance(bytes);
    this.#flush();
  };

  readonly #failed = (error: unknown): void => {
    this.#writingSince = null;
    const isFull = (error as NodeJS.ErrnoException | null)?.code === 'EAGAIN';
    setTimeout(this.#flush, isFull ? this.#retryMs : failedRetryMs).unref();
    this.#retryMs = Math.min(this.#retryMs * 2, longestFullRetryMs);
  };

  #takeBatch(): boolean {
    if (this.#lines.length === 0 && this.#gap > 0) {
      const line = this.#options.gapLine(this.#gap);
      this.#gap = 0;
      this.#lines.push(line);
      this.#bytes += costOf(line);
    }
    const lines = this.#lines;
    let [count, size, cost] = [0, 0, 0];
    for (; count < lines.length; count++) {
      const bytes = Buffer.byteLength(lines[count]!);
      if (count > 0 && size + bytes > this.#options.output.batchBytes) break;
      size += bytes;
      cost += bytes + lineOverheadBytes;
    }
    if (count === 0) return false;
    const taken = count === lines.length ? lines : lines.splice(0, count);
    if (taken === lines) this.#lines = [];
    this.#batch = Buffer.from(taken.length === 1 ? taken[0]! : taken.join(''));
    this.#batchCost = cost;
    return true;
  }

  #advance(written: number): void {
    this.#retryMs = fullRetryMs;
    if (written < this.#batch!.length) {
      this.#batch = this.#batch!.subarray(written);
      return;
    }
    this.#batch = null;
    this.#bytes -= this.#batchCost;
  }

  /** When the process exits: writes what the output accepts at once, without waiting. */
  end(): void {
    const { output } = this.#options;
    if (this.#writingSince !== null) {
      if (performance.now() - this.#writingSince > stuckMs) return;
      // The thread that is writing it finishes before the process does.
      this.#batch = null;
    }
    try {
      while (this.#batch !== null || this.#takeBatch()) {
        const written = output.writeSync(this.#batch!);
        if (written === 0) return;
        this.#advance(written);
      }
    } catch {
      // There is no other place to report it.
    }
  }
}

const costOf = (line: string): number => Buffer.byteLength(line) + lineOverheadBytes;
