import type { Plugin } from '../../../src/common/plugin-host/plugin.js';
import stage from './stage.js';

/** Lets each gateway key make so many calls a minute, on all workers and nodes together. */
export default {
  ...stage,
  setup({ calls }, host) {
    if (calls === 0) return {};
    const counter = host.state.counter('calls');
    let refused = 0;
    host.metrics.show(() => [{ name: 'quota_refused_total', labels: {}, value: refused }]);
    return {
      async request(x) {
        const used = await counter.add(x.principal.keyId);
        host.record(x, 'used', used);
        host.setReplyHeader(x, 'quota-left', String(Math.max(0, calls - used)));
        if (used <= calls) return;
        refused++;
        throw host.error(
          'quota_used_up',
          `This key may make ${calls} calls a minute: try again in a minute.`,
          {
            retryAfterMs: 60_000,
          },
        );
      },
    };
  },
} satisfies Plugin<{ readonly calls: number }, never>;
