import { defineStage } from '../../src/common/plugin-host/plugin.js';

declare module '../../src/common/core/errors.js' {
  interface StageErrors {
    guardrail_denied: true;
    guardrail_not_found: true;
  }
}

const mebibyte = 1024 * 1024;

export default defineStage({
  name: 'guardrails',
  needs: ['requests', 'bodies', 'upstream', 'channel', 'checks'],
  settings: {
    checkMs: {
      unit: 'milliseconds',
      minimum: 10,
      maximum: 60_000,
      default: 1000,
      doc: 'How long the checks of one text may take in a worker thread; one that takes longer is ended with its thread.',
    },
    threads: {
      unit: 'count',
      minimum: 1,
      maximum: 64,
      default: 1,
      doc: 'Threads that run checks at the same time, for each data worker; one more runs while a text takes longer than 20 ms. They are started on demand.',
    },
    threadHeapMegabytes: {
      unit: 'count',
      minimum: 16,
      maximum: 4096,
      default: 128,
      doc: 'Heap of such a thread, in megabytes; a check that needs more is ended with its thread.',
    },
    queue: {
      unit: 'count',
      minimum: 1,
      maximum: 10_000,
      default: 256,
      doc: 'Texts that are checked in threads or wait for that; the checks of a further one do not run.',
    },
    queueBytes: {
      unit: 'bytes',
      minimum: mebibyte,
      maximum: 4096 * mebibyte,
      default: 128 * mebibyte,
      doc: 'Total length of these texts.',
    },
    streamHoldMs: {
      unit: 'milliseconds',
      minimum: 10,
      maximum: 10_000,
      default: 1000,
      doc: 'How long the end of a streamed text is held back if a value that is searched for may begin there.',
    },
  },
  errors: {
    guardrail_denied: {
      status: 446,
      type: 'hooks_failed',
      blame: 'client',
      fallback: true,
      doc: 'a guardrail with `deny` did not pass the request or its answer (`hook_results` has the checks)',
    },
    guardrail_not_found: {
      status: 400,
      type: 'invalid_request_error',
      blame: 'client',
      doc: 'the config names a guardrail that is neither of the workspace nor of its organisation, or is archived',
    },
  },
  ledgerFields: {
    verdict: { type: 'boolean', doc: 'Did all guardrails pass? Absent: the request had none.' },
    failed: { type: 'string', doc: 'Guardrails that did not pass, each with the checks that failed.' },
    errors: { type: 'string', doc: 'Checks that could not decide, each with its error.' },
    denied_by: { type: 'string', doc: 'The guardrail by which the request was refused with 446.' },
    transformed: { type: 'string', doc: 'Guardrails that changed the request or the answer.' },
    feedback: {
      type: 'string',
      doc: 'Feedback that follows from the verdicts: guardrail, value and weight.',
    },
    runs: {
      type: 'string',
      doc: 'Guardrails that ran: id, `before` or `after` the call, `+` or `-` for the verdict, milliseconds from the start of the request to its start, and its duration in milliseconds, as in `pg-a before + 3 12`.',
    },
    ms: { type: 'number', doc: 'Milliseconds that the guardrails took, those of the answer included.' },
  },
  metrics: {
    gateway_guardrail_verdicts_total: 'Verdicts of guardrails, by phase and verdict.',
    gateway_guardrails_check_errors_total: 'Checks that could not decide, by reason.',
    gateway_guardrails_unredacted_lost_total: 'Unredacted bodies that could not be kept, by reason.',
    gateway_guardrails_queued: 'Texts that are checked in threads or wait for that.',
  },
});
