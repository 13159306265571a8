import { setImmediate as nextTurn } from 'node:timers/promises';
import { type JsonValue, parseJson } from '../../common/json/json.js';
import { endOfString, endOfValue, skipSpace } from '../../common/json/json-text.js';

/** UTF-16 units that are parsed at once, in about half a millisecond. */
const sliceLength = 64 * 1024;
/** Milliseconds after which the event loop gets a turn. */
const turnMs = 4;

/**
 * JSON.parse of a long text, a slice at a time, with the event loop in between. The text must be valid and not
 * nested deeper than the caps allow.
 */
export function parseInSlices(text: string, bigNumbers: boolean): Promise<JsonValue> {
  return new SlicedText(text, bigNumbers).read();
}

class SlicedText {
  /** The present position. */
  #at: number;
  #since = performance.now();

  constructor(
    readonly text: string,
    readonly bigNumbers: boolean,
  ) {
    this.#at = skipSpace(text, 0);
  }

  /** Parses the value that begins at the current position and moves past it. */
  async read(): Promise<JsonValue> {
    const start = this.#at;
    const end = endOfValue(this.text, start, start + sliceLength);
    if (end < 0) return this.text.charCodeAt(start) === 0x5b ? this.#readArray() : this.#readObject();
    this.#at = end;
    return this.#parse(this.text.slice(start, end));
  }

  async #parse(slice: string): Promise<JsonValue> {
    if (performance.now() - this.#since > turnMs) {
      await nextTurn();
      this.#since = performance.now();
    }
    return parseJson(slice, this.bigNumbers);
  }

  async #readArray(): Promise<JsonValue[]> {
    const { text } = this;
    const out: JsonValue[] = [];
    // Small neighbours are parsed together: from `first` to `last`.
    let first = -1;
    let last = -1;
    const flush = async (): Promise<void> => {
      if (first < 0) return;
      const items = (await this.#parse(`[${text.slice(first, last)}]`)) as JsonValue[];
      for (const item of items) out.push(item);
      first = -1;
    };
    this.#at = skipSpace(text, this.#at + 1);
    while (text.charCodeAt(this.#at) !== 0x5d) {
      const end = endOfValue(text, this.#at, this.#at + sliceLength);
      if (end < 0) {
        await flush();
        out.push(await this.read());
      } else {
        if (first < 0) first = this.#at;
        last = end;
        this.#at = end;
        if (last - first > sliceLength) await flush();
      }
      this.#skipComma();
    }
    await flush();
    this.#at++;
    return out;
  }

  async #readObject(): Promise<JsonValue> {
    const { text } = this;
    const out: { [key: string]: JsonValue } = {};
    this.#at = skipSpace(text, this.#at + 1);
    while (text.charCodeAt(this.#at) === 0x22) {
      const keyEnd = endOfString(text, this.#at);
      const key = JSON.parse(text.slice(this.#at, keyEnd)) as string;
      this.#at = skipSpace(text, skipSpace(text, keyEnd) + 1);
      const value = await this.read();
      if (key === '__proto__') {
        Object.defineProperty(out, key, { value, enumerable: true, configurable: true, writable: true });
      } else {
        out[key] = value;
      }
      this.#skipComma();
    }
    this.#at++;
    return out;
  }

  #skipComma(): void {
    const next = skipSpace(this.text, this.#at);
    this.#at = this.text.charCodeAt(next) === 0x2c ? skipSpace(this.text, next + 1) : next;
  }
}
