import { GatewayError } from '../../common/core/errors.js';

/** Enough to put a config right in one go, few enough that a hostile one cannot make the answer long. */
const maxLines = 20;

/** What is wrong with a config, all of it at once. */
export class Findings {
  readonly #lines: string[] = [];
  #more = false;
  #count = 0;

  add(path: string, message: string): void {
    this.#count++;
    const line = `path: ${path}, message: ${message}`;
    if (this.#lines.length >= maxLines) this.#more = true;
    else if (!this.#lines.includes(line)) this.#lines.push(line);
  }

  /** How often something was found, listed or not. */
  get count(): number {
    return this.#count;
  }

  get none(): boolean {
    return this.#lines.length === 0;
  }

  /** Nothing more will be listed: what is costly to find out need not be. */
  get full(): boolean {
    return this.#lines.length >= maxLines;
  }

  error(): GatewayError {
    const first = (this.#lines[0] ?? '').replace(/^path: (.*?), message: /, '$1: ');
    const others = this.#lines.length - 1;
    const rest = others === 0 ? '' : ` (${others}${this.#more ? ' or more' : ''} further in errors)`;
    return new GatewayError('AB01', `Invalid config: ${first}${rest}.`, { errors: [...this.#lines] });
  }
}

/** `config.targets` and `retry` → `config.targets.retry`; a key that is no plain word is quoted and cut. */
export function childPath(path: string, key: string): string {
  return /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/.test(key) ? `${path}.${key}` : `${path}[${quoted(key)}]`;
}

/** Text of the caller's for use in a message: escaped, and never longer than a line. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text);
}
