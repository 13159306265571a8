import type { StageDeclaration } from '../../../src/common/plugin-host/plugin.js';

declare module '../../../src/common/core/errors.js' {
  interface StageErrors {
    quota_used_up: true;
  }
}

export default {
  name: 'quota',
  settings: {
    calls: {
      unit: 'count',
      minimum: 0,
      maximum: 1_000_000,
      default: 0,
      doc: 'Calls that a gateway key may make in a minute, on all nodes together; 0: any number.',
    },
  },
  errors: {
    quota_used_up: {
      status: 429,
      type: 'rate_limit_error',
      blame: 'client',
      doc: 'the gateway key has made all the calls that `quota_calls` allows in a minute',
    },
  },
  state: { calls: { kind: 'counter', seconds: 60, doc: 'Calls by gateway key.' } },
  ledgerFields: { used: { type: 'integer', doc: 'Calls of the key in this minute, this one included.' } },
  replyHeaders: { 'quota-left': 'Calls that the key has left in this minute.' },
  metrics: { quota_refused_total: 'Calls refused with `quota_used_up`.' },
} as const satisfies StageDeclaration;
