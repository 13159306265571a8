import type { Awaitable } from '../../../src/common/core/directory.js';
import type { TextCheck } from '../check.js';
import type { Planned, RuleResult } from './plan.js';

type Step = readonly Planned<TextCheck>[];

/**
 * Texts in which checks have replaced values. If a service is called between two groups of checks and changes nothing, the first group
 * runs again with the second one, so that the second one can also look for values in the original.
 */
export class ReplacedTexts {
  #originals: readonly string[] = [];
  #texts: readonly string[] = [];
  /** The checks that turned `#originals` into `#texts`. */
  #checks: Step = [];

  /** Results of the checks over the texts. `run` has a result for each check that it is given; it never rejects. */
  async with(
    step: Step,
    texts: readonly string[],
    run: (texts: readonly string[], all: Step) => Awaitable<RuleResult[]>,
  ): Promise<RuleResult[]> {
    const before = this.#areKnown(texts) ? this.#checks : [];
    let originals = before.length > 0 ? this.#originals : texts;
    let found = await run(originals, [...before, ...step]);
    const again = found.splice(0, before.length);
    if (again.some(({ result }) => result.error !== undefined)) {
      originals = texts;
      found = await run(texts, step);
    }
    this.#originals = originals;
    this.#texts =
      found.findLast(({ result }) => (result.transformed?.length ?? 0) > 0)?.result.transformed ?? texts;
    const all = originals === texts ? step : [...before, ...step];
    const worked = [...(originals === texts ? [] : again), ...found];
    this.#checks = all.filter((_, i) => worked[i]!.result.transformed !== undefined);
    return found;
  }

  #areKnown(texts: readonly string[]): boolean {
    return texts.length === this.#texts.length && texts.every((text, i) => text === this.#texts[i]);
  }
}
