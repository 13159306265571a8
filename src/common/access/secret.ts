import { inspect } from 'node:util';

const masked = '[secret]';

/** A value that can be used but not printed: every way to turn it into text gives `[secret]`. */
export class Secret {
  readonly #value: string;

  /** `file`: the path it was read from; null where it was given as text. */
  constructor(
    value: string,
    readonly file: string | null = null,
  ) {
    this.#value = value;
  }

  /** The value itself. Call it only where the bytes are sent to their owner: a header, a cipher. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return masked;
  }

  toJSON(): string {
    return masked;
  }

  [inspect.custom](): string {
    return masked;
  }
}
