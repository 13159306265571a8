import { defineStage } from '../../src/common/plugin-host/plugin.js';

/** Milliseconds of waiting of one request, all retries together. */
export const maxWaitMs = 60_000;

export default defineStage({
  name: 'router',
  needs: ['upstream', 'costs', 'node', 'channel'],
  options: {
    type: 'object',
    additionalProperties: false,
    properties: { backoffMs: { type: 'number', minimum: 0, maximum: maxWaitMs } },
  },
  metrics: {
    gateway_admission_limit: 'Requests that upstreams with `concurrency` may have at a time.',
    gateway_admission_in_flight: 'Requests under way at upstreams with `concurrency`.',
    gateway_admission_queued: 'Requests that wait for an upstream with `concurrency`.',
    gateway_admission_refused_total: 'Requests refused with `upstream_busy`.',
    gateway_mirror_requests_total: 'Copies of requests sent to mirrors.',
    gateway_mirror_dropped_total: 'Copies not sent, since too many waited.',
    gateway_retries_refused_total: 'Retries not made, since the budget of the workspace was used up.',
  },
});
