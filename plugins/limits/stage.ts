import { defineStage } from '../../src/common/plugin-host/plugin.js';

declare module '../../src/common/core/errors.js' {
  interface StageErrors {
    '04': true;
    '05': true;
    '06': true;
    virtual_key_rate_limited: true;
    integration_rate_limited: true;
    rate_limits_policy_exceeded: true;
    limits_unavailable: true;
  }
}

export default defineStage({
  name: 'limits',
  needs: ['tokens', 'channel', 'costs'],
  control: true,
  settings: {
    withoutRedis: {
      type: 'local_share or closed',
      pattern: '^(local_share|closed)$',
      wanted: 'must be local_share or closed',
      default: 'local_share',
      doc: 'Limits of several nodes while Redis is unavailable: `local_share` lets each node count for itself up to its share of every limit; `closed` refuses requests that have a limit.',
    },
  },
  errors: {
    '04': {
      status: 412,
      type: 'api_key_exhaust_error',
      blame: 'client',
      fallback: true,
      doc: 'a budget of the gateway key, its workspace, the stored provider or its integration is used up, or too little of it is left (`error.type` names which)',
    },
    '05': {
      status: 429,
      type: 'api_key_rate_limit_error',
      blame: 'client',
      doc: 'a rate limit of the gateway key or of its workspace is used up (`error.type` names which)',
    },
    '06': {
      status: 412,
      type: 'usage_limits_policy_exhaust_error',
      blame: 'client',
      fallback: true,
      doc: 'a usage-limits policy of the workspace has too little left for the request',
    },
    virtual_key_rate_limited: {
      status: 429,
      type: 'virtual_key_rate_limit_error',
      blame: 'client',
      fallback: true,
      doc: 'a rate limit of the stored provider is used up',
    },
    integration_rate_limited: {
      status: 429,
      type: 'integration_rate_limit_error',
      blame: 'client',
      fallback: true,
      doc: 'a rate limit of the integration in this workspace is used up',
    },
    rate_limits_policy_exceeded: {
      status: 429,
      type: 'rate_limits_policy_exhaust_error',
      blame: 'client',
      fallback: true,
      doc: 'a rate-limit policy of the workspace has no room for the request',
    },
    limits_unavailable: {
      status: 503,
      type: 'server_error',
      blame: 'gateway',
      doc: 'the request has limits, Redis does not answer, and `limits_without_redis` is `closed`',
    },
  },
  ledgerFields: {
    refused_by: {
      type: 'string',
      doc: 'The limit that refused the request: what it is set on, and its name.',
    },
    shadow: { type: 'string', doc: 'Limits in shadow mode that would have refused the request.' },
  },
  metrics: {
    gateway_rate_limited_total:
      'Requests refused by a rate limit or a budget, by what that counts and what it is set on.',
    gateway_rate_limited_shadow_total: 'Requests that a rate limit in shadow mode would have refused.',
  },
});
