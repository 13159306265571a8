import { GatewayError } from '../../common/core/errors.js';

/** Listed findings: enough to correct a config at once, but few enough to keep the answer short. */
const maxLines = 20;

/** All errors of a config. */
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

  /** Number of findings, listed or not. */
  get count(): number {
    return this.#count;
  }

  get none(): boolean {
    return this.#lines.length === 0;
  }

  /** No more findings will be listed, so expensive checks can be skipped. */
  get full(): boolean {
    return this.#lines.length >= maxLines;
  }

  error(): GatewayError {
    const first = (this.#lines[0] ?? '').replace(/^path: (.*?), message: /, '$1: ');
    const others = this.#lines.length - 1;
    const rest = others === 0 ? '' : ` (${others}${this.#more ? ' or more' : ''} further in errors)`;
    const end = rest === '' && first.endsWith('?') ? '' : '.';
    return new GatewayError('AB01', `Invalid config: ${first}${rest}${end}`, { errors: [...this.#lines] });
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
