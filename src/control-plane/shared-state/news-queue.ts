/** Messages and characters that may wait: more than the other nodes send. */
const maxMessages = 5000;
const maxCharacters = 8 * 1024 * 1024;
/** Milliseconds of a turn of the event loop. */
const turnMs = 5;

/** Messages of other nodes, handled in their order over several turns of the event loop. */
export class NewsQueue {
  #waiting: (readonly [handle: (text: string) => void, text: string])[] = [];
  #characters = 0;
  #isDue = false;

  /** false: too many wait, and all of them are dropped. */
  add(handle: (text: string) => void, text: string): boolean {
    this.#waiting.push([handle, text]);
    this.#characters += text.length;
    if (this.#waiting.length > maxMessages || this.#characters > maxCharacters) {
      this.clear();
      return false;
    }
    this.#wake();
    return true;
  }

  clear(): void {
    this.#waiting = [];
    this.#characters = 0;
  }

  #wake(): void {
    if (this.#isDue || this.#waiting.length === 0) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      this.#work();
    });
  }

  #work(): void {
    const waiting = this.#waiting;
    const began = performance.now();
    let done = 0;
    try {
      while (done < waiting.length && performance.now() - began < turnMs) {
        const [handle, text] = waiting[done++]!;
        this.#characters -= text.length;
        handle(text);
      }
    } finally {
      // The queue was cleared while the message was handled.
      if (waiting === this.#waiting) this.#waiting = waiting.slice(done);
      this.#wake();
    }
  }
}
