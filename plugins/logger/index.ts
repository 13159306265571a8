import type { ErrorCode } from '../../src/common/core/errors.js';
import { definePlugin, type NeedsOf } from '../../src/common/plugin-host/plugin.js';
import { Reminders } from './reminders.js';
import stage from './stage.js';

/** Refusals for lack of capacity: under overload there are too many to log; metrics count them. */
const refusals: ReadonlySet<ErrorCode> = new Set(['upstream_busy', 'overloaded']);

/** Settles every exchange in the ledger, and logs the gateway's own errors in the process log. */
export default definePlugin<Record<string, never>, NeedsOf<typeof stage>>({
  ...stage,
  setup(_options, host) {
    const reminders = new Reminders();
    return {
      log(x, outcome) {
        host.settle(x, outcome);
        const error = outcome.error;
        if (error === null || error.blame !== 'gateway' || refusals.has(error.code)) return;
        const fields = { request_id: x.id, code: error.code };
        if (error.code === 'secret_unavailable') {
          // Not a fault of the gateway, and the message names the secret reference: a stack trace would not help.
          if (reminders.isDue(error.message, performance.now())) host.log.warn(fields, error.message);
          return;
        }
        host.log.error({ ...fields, err: error.cause ?? error }, error.message);
      },
    };
  },
});
