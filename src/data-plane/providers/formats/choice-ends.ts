import { KeptParts } from '../streams/kept-parts.js';
import { asArray, asObject } from './json-shape.js';

/** Which choices of an OpenAI stream have a finish reason: a stream of which all have is whole, marker or not. */
export class ChoiceEnds {
  readonly #kept = new KeptParts();
  readonly #seen = new Set<unknown>();
  readonly #ended = new Set<unknown>();

  /** `choices` of a chunk. */
  add(choices: unknown): void {
    for (const value of asArray(choices) ?? []) {
      const choice = asObject(value);
      if (choice === null) continue;
      const index = choice['index'] ?? 0;
      const reason = choice['finish_reason'];
      if (!this.#seen.has(index)) {
        this.#kept.part();
        this.#seen.add(index);
      }
      if (typeof reason === 'string' && reason !== '') this.#ended.add(index);
    }
  }

  get all(): boolean {
    return this.#ended.size > 0 && this.#ended.size === this.#seen.size;
  }
}
