import { closeSync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';

/** An id in a line. */
const lineBytes = 37;
/** More can't have been under way in one process. */
const mostLines = 1000;
const id = /^[0-9a-f-]{36}$/;

/**
 * Ids of mails that the server has accepted and the store has not recorded: a file, written in the moment of the
 * server's answer, so that a process that is killed right after it does not send them again.
 */
export class SentNotes {
  readonly #file: number;
  readonly #open: Set<string>;
  /** Of the process before this one. */
  readonly before: readonly string[];
  #isClosed = false;

  constructor(path: string) {
    this.#file = openSync(path, 'a+', 0o600);
    const bytes = Buffer.alloc(Math.min(fstatSync(this.#file).size, mostLines * lineBytes));
    readSync(this.#file, bytes, 0, bytes.length, 0);
    this.before = bytes
      .toString('latin1')
      .split('\n')
      .filter((line) => id.test(line));
    this.#open = new Set(this.before);
    this.#clear();
  }

  add(mail: string): void {
    this.#open.add(mail);
    writeSync(this.#file, `${mail}\n`);
  }

  remove(mail: string): void {
    this.#open.delete(mail);
    this.#clear();
  }

  /** Empties the file, unless a note in it is still needed. */
  #clear(): void {
    if (this.#open.size === 0 && !this.#isClosed) ftruncateSync(this.#file, 0);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    closeSync(this.#file);
  }
}
