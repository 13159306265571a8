import type { Check, CheckParameters, CheckPhase, CheckResult, TextCheck, TextContext } from '../check.js';
import { EditedText } from './edited-text.js';
import { failure, LapTimer, runTextCheck } from './text-check.js';

/** A check of a chain. `check` undefined: there is none of its name. */
export interface ChainLink {
  readonly check: Check | undefined;
  readonly parameters: CheckParameters;
}

/** A result, and how long it took. Milliseconds. */
export interface TimedCheck {
  readonly result: CheckResult;
  readonly ms: number;
}

/**
 * Runs checks of texts one after another: each gets the texts as those before it have changed them, and the originals of the
 * replaced parts. `transformed` of the last check that changed the texts has all texts; that of the others is empty. `begins` is
 * called with the index of each check.
 */
export function runTextChain(
  phase: CheckPhase,
  texts: readonly string[],
  links: readonly ChainLink[],
  begins?: (index: number) => void,
): TimedCheck[] {
  const chain = new TextChain(phase, texts);
  // One alone has nothing to overlap with.
  const areSeveral = links.filter(({ check }) => findsValues(check)).length > 1;
  const timer = new LapTimer();
  let last = -1;
  const made = links.map(({ check, parameters }, i): TimedCheck => {
    begins?.(i);
    const result =
      areSeveral && findsValues(check) ? chain.values(check, parameters) : chain.run(check, parameters);
    if (result.transformed !== undefined) last = i;
    return { result, ms: timer.lap() };
  });
  if (last === -1) return made;
  return made.map(({ result, ms }, i) => {
    if (result.transformed === undefined) return { result, ms };
    return { result: { ...result, transformed: i === last ? chain.texts : [] }, ms };
  });
}

const findsValues = (check: Check | undefined): check is TextCheck & Required<Pick<TextCheck, 'begin'>> =>
  check?.runs === 'text' && check.begin !== undefined;

class TextChain {
  #edited: readonly EditedText[] | null = null;
  #context: TextContext;

  constructor(
    readonly phase: CheckPhase,
    texts: readonly string[],
  ) {
    this.#context = this.#contextOf(texts);
  }

  get texts(): readonly string[] {
    return this.#context.texts;
  }

  #contextOf(texts: readonly string[]): TextContext {
    const text = texts.length === 1 ? texts[0]! : texts.join('\n');
    return { phase: this.phase, texts, text, counts: null };
  }

  /** A check that finds values. */
  values(check: Required<Pick<TextCheck, 'begin'>>, parameters: CheckParameters): CheckResult {
    try {
      const run = check.begin(parameters);
      const before = this.#edited ?? this.texts.map((text) => new EditedText(text));
      const edited = before.map((one) => one.with(run));
      this.#edited = edited;
      if (edited.every(({ text }, i) => text === this.texts[i])) return run.result();
      this.#context = this.#contextOf(edited.map(({ text }) => text));
      return { ...run.result(), transformed: [] };
    } catch (thrown) {
      return failure(thrown);
    }
  }

  run(check: Check | undefined, parameters: CheckParameters): CheckResult {
    const result = runTextCheck(check, this.#context, parameters);
    const { transformed } = result;
    if (transformed === undefined) return result;
    this.#context = this.#contextOf(this.texts.map((text, i) => transformed[i] ?? text));
    // Such a check does not report which parts it has replaced.
    this.#edited = null;
    return result;
  }
}
