import type { Exchange } from '../../../src/common/core/exchange.js';
import type { Metric } from '../../../src/common/plugin-host/metrics.js';
import type { Host } from '../../../src/common/plugin-host/plugin.js';
import type { HookOutcome } from './outcome.js';

/** Of a text in the ledger. */
const maxLength = 256;

/** Writes what guardrails have found into the row of the ledger, and counts it. */
export class VerdictRecorder {
  /** Of outcomes, by verdict. */
  readonly #counts = { before: { true: 0, false: 0 }, after: { true: 0, false: 0 } };

  constructor(readonly host: Host) {}

  /** All outcomes of an exchange so far. */
  record(x: Exchange, outcomes: readonly HookOutcome[]): void {
    if (outcomes.length === 0) return;
    let isPlain = true;
    let ms = 0;
    for (const outcome of outcomes) {
      this.#count(outcome);
      const { verdict, transformed, reaction, hasErrors, execution_time: taken } = outcome;
      isPlain &&= verdict && !transformed && reaction === null && !hasErrors;
      ms = Math.max(ms, taken);
    }
    this.host.record(x, 'ms', ms);
    this.#text(
      x,
      'runs',
      outcomes.map((one) => runOf(x, one)),
    );
    if (isPlain) {
      this.host.record(x, 'verdict', true);
      return;
    }
    const failed = outcomes.filter(({ verdict }) => !verdict);
    this.host.record(x, 'verdict', failed.length === 0);
    this.#text(
      x,
      'failed',
      failed.map(({ id, checks }) => `${id} (${named(checks, (one) => !one.verdict)})`),
    );
    this.#text(
      x,
      'errors',
      outcomes.flatMap(({ checks, hasErrors }) =>
        (hasErrors ? checks : []).flatMap(({ id, error }) =>
          error === null ? [] : [`${id}: ${error.name}`],
        ),
      ),
    );
    this.#text(
      x,
      'transformed',
      outcomes.filter(({ transformed }) => transformed).map(({ id }) => id),
    );
    const feedback = outcomes.flatMap(({ id, reaction }) =>
      reaction === null ? [] : [`${id} ${reaction.value} * ${reaction.weight}`],
    );
    this.#text(x, 'feedback', feedback);
  }

  /** The client's request was refused. */
  denied(x: Exchange, { id }: HookOutcome): void {
    this.#text(x, 'denied_by', [id]);
  }

  /** Whole items, as many as fit. */
  #text(x: Exchange, field: string, items: readonly string[]): void {
    let text = '';
    for (const item of items) {
      const longer = text === '' ? item : `${text}; ${item}`;
      if (longer.length > maxLength) break;
      text = longer;
    }
    if (items.length > 0) this.host.record(x, field, text === '' ? items[0]!.slice(0, maxLength) : text);
  }

  #count(outcome: HookOutcome): void {
    if (outcome.isCounted) return;
    outcome.isCounted = true;
    this.#counts[outcome.phase][outcome.verdict ? 'true' : 'false']++;
  }

  metrics(): Metric[] {
    const name = 'gateway_guardrail_verdicts_total';
    return Object.entries(this.#counts).flatMap(([phase, byVerdict]) =>
      Object.entries(byVerdict)
        .filter(([, value]) => value > 0)
        .map(([verdict, value]) => ({ name, labels: { phase, verdict }, value })),
    );
  }
}

/** The row's spans are made from it. */
function runOf(x: Exchange, outcome: HookOutcome): string {
  const began = Math.max(0, outcome.startedAt - x.startedAt);
  return `${outcome.id} ${outcome.phase} ${outcome.verdict ? '+' : '-'} ${began} ${outcome.execution_time}`;
}

const named = (
  checks: HookOutcome['checks'],
  wanted: (check: HookOutcome['checks'][number]) => boolean,
): string =>
  checks
    .filter(wanted)
    .map(({ id }) => id)
    .join(', ');
