import { setImmediate } from 'node:timers/promises';
import type { Awaitable } from '../../../src/common/core/directory.js';
import { Slot } from '../../../src/common/core/exchange.js';
import type { GuardrailRules } from '../../../src/common/core/guardrail.js';
import type { HeldText, TextPiece, TextResult } from '../../../src/common/plugin-host/texts/text-piece.js';
import { HookOutcome } from '../run/outcome.js';
import type { PieceRun } from './piece-check.js';
import { pieceCheckOf } from './piece-checks.js';
import { type PieceRule, PieceText } from './piece-text.js';

/** Characters that are judged in one turn of the event loop. */
const atOnce = 4096;

/** Guardrails that judge the answer of a stream while it comes. */
export const streamGuard = new Slot<StreamGuard | null>('stream-guard', () => null);

interface Rule extends PieceRule {
  readonly guardrail: GuardrailRules;
  readonly index: number;
  readonly run: PieceRun;
}

export class StreamGuard {
  readonly #rules: readonly Rule[];
  readonly #redacting: readonly Rule[];
  readonly #startedAt = Date.now();
  #ms = 0;

  constructor(
    /** Those with `stream: "incremental"`. */
    readonly guardrails: readonly GuardrailRules[],
    /** Milliseconds for which the end of a text is held back. */
    readonly heldMs: number,
    /** Called where one that denies does not pass a text; throws. */
    readonly deny: (guardrail: GuardrailRules) => void,
  ) {
    this.#rules = guardrails.flatMap((guardrail) =>
      guardrail.rules.flatMap((rule, index): Rule[] => {
        const check = pieceCheckOf(rule);
        if (check === null) return [];
        const fail = (): void => {
          if (guardrail.deny) this.deny(guardrail);
        };
        return [{ guardrail, index, run: check.begin(), redacts: check.redacts, fail }];
      }),
    );
    this.#redacting = this.#rules.filter(({ redacts }) => redacts);
  }

  /** Can no check judge pieces? */
  get isEmpty(): boolean {
    return this.#rules.length === 0;
  }

  /** The next piece of a text. Of several choices the first is judged; in the others values are replaced. */
  text(piece: TextPiece): Awaitable<TextResult> {
    if (piece.part !== 'content') return undefined;
    const rules = piece.index === 0 ? this.#rules : this.#redacting;
    if (rules.length === 0) return undefined;
    piece.memory['text'] ??= new PieceText(rules);
    const text = piece.memory['text'] as PieceText;
    return piece.text.length > atOnce
      ? this.#inTurns(text, piece)
      : this.#push(text, piece.text, piece.canHold);
  }

  #push(text: PieceText, piece: string, canHold: boolean): HeldText {
    const from = performance.now();
    const made = text.push(piece, canHold);
    this.#ms += performance.now() - from;
    return { ...made, ms: this.heldMs };
  }

  async #inTurns(text: PieceText, piece: TextPiece): Promise<HeldText> {
    let [out, held] = ['', ''];
    for (let at = 0; at < piece.text.length; at += atOnce) {
      const isLast = at + atOnce >= piece.text.length;
      const made = this.#push(text, held + piece.text.slice(at, at + atOnce), !isLast || piece.canHold);
      out += made.text;
      held = made.held;
      await setImmediate();
    }
    return { text: out, held, ms: this.heldMs };
  }

  /** The guardrail with the checks that judge the text at its end; the same if all of them do. */
  rest(guardrail: GuardrailRules): GuardrailRules {
    const own = this.#of(guardrail);
    if (own.size === 0) return guardrail;
    const rules = guardrail.rules.filter((_, index) => !own.has(index));
    // Compiled checks are kept by the version and their index.
    return { ...guardrail, rules, versionId: `${guardrail.versionId}:end` };
  }

  /** The outcome of a guardrail. `rest`: of its checks that judged the text at its end; null: they have not run. */
  outcome(guardrail: GuardrailRules, rest: HookOutcome | null): HookOutcome | null {
    const own = this.#of(guardrail);
    if (own.size === 0) return rest;
    const others = [...(rest?.checks ?? [])];
    const rules = guardrail.rules.map((_, index) => own.get(index) ?? others.shift() ?? null);
    const known = guardrail.rules.filter((_, index) => rules[index] !== null);
    const results = rules.flatMap((one) => {
      if (one === null) return [];
      if ('run' in one) return [{ result: one.run.result(), ran: true, ms: 0 }];
      const { verdict, transformed, data, error, execution_time: ms } = one;
      const change = transformed ? { transformed: [] } : {};
      const result = { verdict, data, ...change, ...(error === null ? {} : { error }) };
      return [{ result, ran: error?.name !== 'CheckNotRun', ms }];
    });
    const ms = Math.round(this.#ms) + (rest?.execution_time ?? 0);
    return new HookOutcome({ ...guardrail, rules: known }, 'after', results, this.#startedAt, ms);
  }

  #of(guardrail: GuardrailRules): Map<number, Rule> {
    const own = this.#rules.filter((rule) => rule.guardrail === guardrail);
    return new Map(own.map((rule) => [rule.index, rule]));
  }
}
