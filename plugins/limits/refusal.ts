import { budgetParts } from '../../src/common/core/budget-name.js';
import {
  type BudgetHolder,
  type BudgetPeriod,
  type BudgetRule,
  nanosPerDollar,
} from '../../src/common/core/budget-rules.js';
import type { ErrorCode } from '../../src/common/core/errors.js';
import { GatewayError } from '../../src/common/core/errors.js';
import type { Exchange } from '../../src/common/core/exchange.js';
import { type RateHolder, type RateRule, rateWindows } from '../../src/common/core/rate-rules.js';
import type { LimitRefusal } from './channel.js';

const codes: Readonly<Record<RateHolder, ErrorCode>> = {
  api_key: '05',
  workspace: '05',
  virtual_key: 'virtual_key_rate_limited',
  integration: 'integration_rate_limited',
  rate_limits_policy: 'rate_limits_policy_exceeded',
};

const shown: Readonly<Record<RateHolder | BudgetHolder, string>> = {
  api_key: 'API key',
  workspace: 'workspace',
  virtual_key: 'provider',
  integration: 'integration',
  rate_limits_policy: 'rate-limit policy',
  usage_limits_policy: 'usage-limits policy',
};

const periods = { rps: 'second', rpm: 'minute', rph: 'hour', rpd: 'day', rpw: 'week' } as const;

/** The name, in messages, of the record on which a limit is set. */
const holderOf = ({ principal }: Exchange, of: RateHolder | BudgetHolder): string =>
  of === 'api_key' && principal.isToken === true ? 'user' : shown[of];

/** Waits of this length and more are not worth a client's automatic retry. Milliseconds. */
const longWaitMs = 120_000;
/** Requests that run end at no known time: try again after this. Milliseconds. */
const concurrencyWaitMs = 1000;

/** The answer to a request that a limit has no room for. */
export function refusalOf(x: Exchange, rule: RateRule, { remaining, waitMs }: LimitRefusal): GatewayError {
  const wait = rule.measure === 'concurrency' ? concurrencyWaitMs : waitMs;
  const { of, name, measure, unit, value } = rule;
  return new GatewayError(codes[of], messageOf(rule, holderOf(x, of), remaining, wait), {
    ...(of === 'workspace' && { type: 'workspace_rate_limit_error' }),
    ...(wait !== null && { retryAfterMs: wait }),
    headers: headersOf(x, rule, remaining, wait),
    limit: {
      on: of,
      name,
      type: measure,
      unit,
      value,
      remaining,
      retry_after_ms: wait === null ? null : Math.ceil(wait),
    },
  });
}

const exhaustTypes: Readonly<Record<BudgetHolder, string>> = {
  api_key: 'api_key_exhaust_error',
  workspace: 'workspace_exhaust_error',
  virtual_key: 'virtual_key_exhaust_error',
  integration: 'integration_exhaust_error',
  usage_limits_policy: 'usage_limits_policy_exhaust_error',
};

/** The answer to a request for which too little is left of a budget. `amount`: what it may use. */
export function budgetRefusalOf(
  x: Exchange,
  rule: BudgetRule,
  { startsAt, endsAt }: BudgetPeriod,
  amount: number,
  { remaining, used = rule.limit - remaining }: LimitRefusal,
): GatewayError {
  const { of, name, measure, limit } = rule;
  const left = Math.max(0, remaining);
  const waitMs = endsAt === null ? null : Math.max(1, endsAt - Date.now());
  const part = partOf(rule);
  const whose = `The ${holderOf(x, of)} ${JSON.stringify(name)} may use ${shownAmount(rule, limit)}${part === null ? '' : ` for ${part}`}`;
  const again = endsAt === null ? '' : ` Usage starts again at ${new Date(endsAt).toISOString()}.`;
  const message =
    left < 1
      ? `${whose}, and that is used up: raise the budget or reset its usage.${again}`
      : `${whose}; ${shownAmount(rule, left)} ${left === 1 ? 'is' : 'are'} left, and this request may use ${shownAmount(rule, amount)}: lower max_tokens, shorten the request, or raise the budget.${again}`;
  return new GatewayError(of === 'usage_limits_policy' ? '06' : '04', message, {
    type: exhaustTypes[of],
    ...(waitMs !== null && { retryAfterMs: waitMs }),
    headers: ['x-should-retry', 'false'],
    limit: {
      on: of,
      name,
      type: measure,
      value: inUnit(rule, limit),
      used: inUnit(rule, used),
      remaining: inUnit(rule, left),
      ...(part !== null && { value_key: part }),
      starts_at: new Date(startsAt).toISOString(),
      resets_at: endsAt === null ? null : new Date(endsAt).toISOString(),
      retry_after_ms: waitMs,
    },
  });
}

/** The values of groups or of metadata that the budget is for; null: it is for all requests of what it is set on. */
function partOf({ budget, metadata }: BudgetRule): string | null {
  if (metadata === undefined) return budgetParts(budget)?.valueKey ?? null;
  const values = Object.entries(metadata).map(([key, value]) => `metadata.${key}:${value}`);
  return values.join('-');
}

/** Dollars, tokens or requests. */
const inUnit = ({ measure }: BudgetRule, amount: number): number =>
  measure === 'cost' ? amount / nanosPerDollar : amount;

const shownAmount = (rule: BudgetRule, amount: number): string =>
  rule.measure === 'cost' ? `$${Number(inUnit(rule, amount).toFixed(6))}` : counted(amount, rule.measure);

/** `measure` is a plural. */
const counted = (amount: number, measure: string): string =>
  `${amount} ${amount === 1 ? measure.slice(0, -1) : measure}`;

function messageOf(
  { name, measure, unit, value }: RateRule,
  holder: string,
  remaining: number,
  waitMs: number | null,
): string {
  const whose = `The ${holder} ${JSON.stringify(name)}`;
  if (measure === 'concurrency')
    return `${whose} may have ${counted(value, 'requests')} under way at a time, and it has: try again when one has ended.`;
  const limit = `${whose} may use ${counted(value, measure)} per ${periods[unit!]}`;
  if (value === 0 || (waitMs === null && measure === 'requests')) return `${limit}: raise the limit.`;
  if (waitMs === null)
    return `${limit}, and this request may use more: lower max_tokens, shorten the request, or raise the limit.`;
  const left =
    measure === 'tokens'
      ? `; ${remaining} ${remaining === 1 ? 'is' : 'are'} left, too few for this request`
      : '; none are left';
  return `${limit}${left}: try again in ${Math.ceil(waitMs / 1000)} s.`;
}

/** The headers that official clients read, and those of the IETF's draft; `retry-after` is the error's own. */
function headersOf(
  x: Exchange,
  { measure, unit, value }: RateRule,
  remaining: number,
  waitMs: number | null,
): string[] {
  const headers: string[] = [];
  if (unit !== null) {
    const seconds = waitMs === null ? null : Math.ceil(waitMs / 1000);
    headers.push(
      'ratelimit-policy',
      `"${measure}";q=${value};w=${rateWindows[unit] / 1000}`,
      'ratelimit',
      `"${measure}";r=${remaining}${seconds === null ? '' : `;t=${seconds}`}`,
    );
    if (x.endpoint.format === 'anthropic-messages' || x.endpoint.format === 'anthropic-count-tokens') {
      const prefix = `anthropic-ratelimit-${measure}-`;
      headers.push(`${prefix}limit`, String(value), `${prefix}remaining`, String(remaining));
      if (waitMs !== null) headers.push(`${prefix}reset`, new Date(Date.now() + waitMs).toISOString());
    } else {
      headers.push(`x-ratelimit-limit-${measure}`, String(value));
      headers.push(`x-ratelimit-remaining-${measure}`, String(remaining));
      if (waitMs !== null) headers.push(`x-ratelimit-reset-${measure}`, goDuration(waitMs));
    }
  }
  if (waitMs === null || waitMs >= longWaitMs) headers.push('x-should-retry', 'false');
  return headers;
}

/** As Go prints durations, which OpenAI's clients expect: `12ms`, `1.5s`, `6m0s`. */
export function goDuration(ms: number): string {
  if (ms < 1000) return `${Math.ceil(ms)}ms`;
  const seconds = Math.ceil(ms) / 1000;
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  const rest = `${Number((seconds % 60).toFixed(3))}s`;
  if (hours > 0) return `${hours}h${minutes}m${rest}`;
  return minutes > 0 ? `${minutes}m${rest}` : rest;
}
