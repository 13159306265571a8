/** Something that waits in a line. The fields belong to the line; the waiter does not change them. */
export interface Waiter {
  ahead: Waiter | null;
  behind: Waiter | null;
  waits: boolean;
}

/**
 * Waiters in order of arrival.
 *
 * Not a Map, since a table that a Map has outgrown refers to its successor: once one is in the old generation, each
 * keeps the next one alive through every minor collection, with all its former entries, until a major one.
 */
export class WaitingLine<T extends Waiter> {
  size = 0;
  /** The one that has waited longest. Set by the line alone. */
  first: T | null = null;
  #last: T | null = null;

  push(waiter: T): void {
    waiter.waits = true;
    waiter.ahead = this.#last;
    if (this.#last === null) this.first = waiter;
    else this.#last.behind = waiter;
    this.#last = waiter;
    this.size += 1;
  }

  /** Does nothing if it does not wait. */
  remove(waiter: T): void {
    if (!waiter.waits) return;
    const { ahead, behind } = waiter;
    if (ahead === null) this.first = behind as T | null;
    else ahead.behind = behind;
    if (behind === null) this.#last = ahead as T | null;
    else behind.ahead = ahead;
    waiter.waits = false;
    waiter.ahead = null;
    waiter.behind = null;
    this.size -= 1;
  }

  /** Only the waiter that it has just returned may leave during the iteration. */
  *[Symbol.iterator](): Iterator<T> {
    let waiter = this.first;
    while (waiter !== null) {
      const behind = waiter.behind as T | null;
      yield waiter;
      waiter = behind;
    }
  }
}
