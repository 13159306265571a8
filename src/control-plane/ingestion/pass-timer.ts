import type { RowBatch } from '../ledger/ledger.js';
import { FolderChange } from './folder-change.js';

const usualMs = 250;
/** Where many rows come, which larger batches make cheaper, or none. A request is in the ledger at most 2 s after its end. */
const longMs = 1000;
/** Rows a second. */
const busyRate = 200;
/** After so many passes that read nothing, the folder is watched. */
const quietPasses = 8;

export interface PassTimerOptions {
  /** The folder of the journals. */
  readonly dir: string;
  /** Milliseconds between two passes; 250 unless given. */
  readonly intervalMs?: number | undefined;
  /** Between two passes where many rows come or none; 1000 unless `intervalMs` is given. */
  readonly longIntervalMs?: number;
  readonly run: () => void;
}

/** Decides when the next pass over the journals begins. */
export class PassTimer {
  readonly #usualMs: number;
  readonly #longMs: number;
  readonly #run: () => void;
  readonly #change: FolderChange;
  #timer: NodeJS.Timeout | null = null;
  #scheduledAt = performance.now();
  /** Since then. */
  #rows = 0;
  #hasRead = false;
  #quiet = 0;

  constructor({ dir, intervalMs, longIntervalMs, run }: PassTimerOptions) {
    this.#usualMs = intervalMs ?? usualMs;
    this.#longMs = longIntervalMs ?? intervalMs ?? longMs;
    this.#run = run;
    this.#change = new FolderChange(dir);
  }

  /** What a pass has read. */
  read({ packed, rows }: RowBatch): void {
    this.#hasRead = true;
    this.#rows += (packed?.count ?? 0) + rows.length;
  }

  /** The pass has left something to the next one. */
  unfinished(): void {
    this.#hasRead = true;
  }

  /** After a pass. */
  schedule(): void {
    const now = performance.now();
    const isBusy = this.#rows * 1000 >= busyRate * (now - this.#scheduledAt);
    this.#quiet = this.#hasRead ? 0 : this.#quiet + 1;
    this.#scheduledAt = now;
    this.#rows = 0;
    this.#hasRead = false;
    if (this.#quiet === quietPasses) this.#change.await(() => this.#sooner());
    // After one more pass: something may have come before the folder was watched.
    const isQuiet = this.#quiet > quietPasses && this.#change.isAwaited;
    this.#sleep(isBusy || isQuiet ? this.#longMs : this.#usualMs);
  }

  #sleep(ms: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#run();
    }, ms).unref();
  }

  /** The first row after a pause is read as soon as any other. */
  #sooner(): void {
    this.#quiet = 0;
    if (this.#timer !== null) this.#sleep(this.#usualMs);
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#change.stop();
  }
}
