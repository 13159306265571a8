import type { DetectedValue } from './kind.js';
import { plainText, VisibleText } from './readings.js';

/** Values whose placeholders one call may keep; a further value of a kind shares the last number. */
const maxValues = 10_000;

/** Puts placeholders in place of values: the same value has the same number, in all texts of one call. */
export class Redactor {
  readonly #numbers = new Map<string, number>();
  readonly #last = new Map<string, number>();

  /** `{{EMAIL_ADDRESS_1}}` for the first address, in each of its places. */
  placeholder(kind: string, value: string): string {
    // One person writes a number with spaces, another with hyphens.
    const { text } = new VisibleText(plainText(value).text);
    const key = `${kind} ${text.replaceAll(/[\s.\-/()]/g, '').toLowerCase()}`;
    let number = this.#numbers.get(key);
    if (number === undefined) {
      number = this.#numbers.size < maxValues ? (this.#last.get(kind) ?? 0) + 1 : (this.#last.get(kind) ?? 1);
      this.#last.set(kind, number);
      if (this.#numbers.size < maxValues) this.#numbers.set(key, number);
    }
    return `{{${kind}_${number}}}`;
  }

  /** The text with a placeholder for each finding. `findings`: in the order of the text, none within another. */
  replace(text: string, findings: readonly DetectedValue[]): string {
    const parts: string[] = [];
    let from = 0;
    for (const { kind, start, end } of findings) {
      parts.push(text.slice(from, start), this.placeholder(kind.id, text.slice(start, end)));
      from = end;
    }
    parts.push(text.slice(from));
    return parts.join('');
  }
}
