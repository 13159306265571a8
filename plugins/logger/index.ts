import type { ErrorCode } from '../../src/common/core/errors.js';
import { definePlugin, type NeedsOf } from '../../src/common/plugin-host/plugin.js';
import stage from './stage.js';

/** Refused for want of room: there are thousands of them when there is the least time to write them down; metrics count them. */
const refusals: ReadonlySet<ErrorCode> = new Set(['upstream_busy', 'overloaded']);

/** Settles every exchange in the ledger, whatever became of it, and logs the gateway's own errors in the process log. */
export default definePlugin<Record<string, never>, NeedsOf<typeof stage>>({
  ...stage,
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
