import { type TraceFeedback, weightOf } from '../../../common/ledger/logs/feedback.js';
import type { RowBatch } from '../ledger.js';

/** A row whose guardrails gave feedback, as a database has it. */
export interface GuardedRow {
  readonly id: string;
  readonly at: number;
  readonly org: string;
  readonly workspace: string;
  readonly key: string | null;
  readonly trace: string;
  /** The field `guardrails.feedback`: `id value * weight; …`. */
  readonly given: string;
}

const mark = Buffer.from('"feedback":');

/** May rows of a batch have feedback by guardrails? Looks at the bytes: nearly always there is none. */
export const mayHaveFeedback = (settled: RowBatch | null): boolean =>
  settled !== null &&
  ((settled.packed?.rest.includes(mark) ?? false) ||
    settled.rows.some(({ stages }) => stages?.['guardrails'] !== undefined));

const one = /^(\S+) (-?\d{1,2}(?:\.\d+)?) \* (-?[\d.]+(?:e-?\d+)?)$/;

/** The feedback that a row's guardrails gave; it counts at the first request of the row's trace. */
export function guardrailFeedback({
  given,
  id,
  at,
  org,
  workspace,
  trace,
  key,
}: GuardedRow): TraceFeedback[] {
  return given.split('; ').flatMap((text) => {
    const [, guardrail, value, weight] = one.exec(text) ?? [];
    if (guardrail === undefined) return [];
    return {
      id: `${id}:${guardrail}`,
      org,
      workspace,
      trace,
      key,
      guardrail,
      value: Math.max(-10, Math.min(10, Math.round(Number(value)))),
      weight: weightOf(Number(weight)),
      metadata: {},
      createdAt: at,
      updatedAt: Date.now(),
      rowId: null,
      rowAt: null,
    };
  });
}
