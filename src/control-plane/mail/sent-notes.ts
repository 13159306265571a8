import { closeSync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';

/** An id and a line end. */
const lineBytes = 37;
/** A file with more lines was not written by this program. */
const mostLines = 1000;
const id = /^[0-9a-f-]{36}$/;

/**
 * A file with the ids of mails that the mail server has accepted, but that are not marked as sent in the store yet. An id is
 * written as soon as the server's answer arrives: if the process is killed right after it, the next one does not send the
 * mail again.
 */
export class SentNotes {
  readonly #file: number;
  readonly #open: Set<string>;
  /** Ids that the process before this one has left. */
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

  has(mail: string): boolean {
    return this.#open.has(mail);
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
