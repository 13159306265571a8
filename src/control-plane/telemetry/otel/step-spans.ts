import type { Attributes } from '@opentelemetry/api';
import type { LedgerRow } from '../../../common/ledger/record.js';

/** A step of the gateway while it serves a request. */
interface Step {
  readonly name: string;
  /** Milliseconds since the start of the request. */
  readonly atMs: number;
  readonly ms: number;
  readonly error: string | null;
  readonly attributes: Attributes;
}

/** The cache lookup and the guardrails of a request: only names and verdicts. */
export const stepsOf = (row: LedgerRow): Step[] => [...cacheStep(row), ...guardrailSteps(row)];

function cacheStep({ steps, cache }: LedgerRow): Step[] {
  if (steps === null || steps[2] === 0) return [];
  const [, startUs, us] = steps;
  const attributes = { 'gateway.cache_status': cache };
  return [{ name: 'cache lookup', atMs: startUs / 1000, ms: us / 1000, error: null, attributes }];
}

/** Parses the field of the stage `guardrails`: id, phase, verdict, start, duration. */
const guardrailRun = /^(\S+) (before|after) ([+-]) (\d+) (\d+)$/;

function guardrailSteps({ stages }: LedgerRow): Step[] {
  const runs = (stages?.['guardrails'] as { readonly runs?: unknown } | undefined)?.runs;
  if (typeof runs !== 'string') return [];
  return runs.split('; ').flatMap((text): Step[] => {
    const [, id, phase, verdict, atMs, ms] = guardrailRun.exec(text) ?? [];
    if (id === undefined) return [];
    const attributes = {
      ...{ 'gateway.guardrail.id': id, 'gateway.guardrail.phase': phase! },
      'gateway.guardrail.verdict': verdict === '+',
    };
    return [{ name: `guardrail ${id}`, atMs: Number(atMs), ms: Number(ms), error: null, attributes }];
  });
}
