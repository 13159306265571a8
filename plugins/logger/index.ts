import type { ErrorCode } from '../../src/core/errors.js';
import { definePlugin } from '../../src/core/plugin.js';

/** Refused for want of room: there are thousands of them when there is the least time to write them down; metrics count them. */
const refusals: ReadonlySet<ErrorCode> = new Set(['upstream_busy', 'overloaded']);

/** Settles every exchange in the ledger, whatever became of it, and says in the process log what the gateway itself did wrong. */
export default definePlugin<Record<string, never>>({
  name: 'logger',
  options: { type: 'object', additionalProperties: false },
  setup(_options, host) {
    return {
      log(x, outcome) {
        host.settle(x, outcome);
        const error = outcome.error;
        if (error !== null && error.blame === 'gateway' && !refusals.has(error.code)) {
          host.log.error({ request_id: x.id, code: error.code, err: error.cause ?? error }, error.message);
        }
      },
    };
  },
});
