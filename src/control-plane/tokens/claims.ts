import { mayHold } from '../../common/access/scopes.js';
import type { BudgetLimit, BudgetMeasure } from '../../common/core/budget-rules.js';
import {
  type RateLimit,
  type RateMeasure,
  type RateUnit,
  rateWindows,
} from '../../common/core/rate-rules.js';
import type { Period } from '../../common/text/calendar.js';
import type { AuthSettings } from '../store/store.js';
import type { TokenClaims } from './parsed-token.js';

/** A claim that cannot be used. Only thrown for tokens with a valid signature, whose sender may read the message. */
export class BadClaim extends Error {
  override readonly name = 'BadClaim';
}

/** How far in the future `nbf` and `iat` may be, since the issuer's clock may be ahead. Seconds. */
const leewayS = 30;
/** The end of the year 9999. A later `exp` is refused as a mistake of the issuer. Unix seconds. */
const latestTime = 253_402_300_799;
const longestText = 255;
const longestMetadata = 128;

/** What a token may do, by its claims alone. */
export interface TokenRights {
  /** Value of the first claim of `user_id_claims` that the token has; null: it has none of them. */
  readonly user: string | null;
  /** `sub`. */
  readonly subject: string | null;
  /** Id or slug; null: it names none. */
  readonly workspace: string | null;
  readonly scopes: readonly string[];
  /** Unix milliseconds. */
  readonly expiresAt: number;
  readonly configId: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly rateLimits: readonly RateLimit[];
  readonly budgets: readonly BudgetLimit[];
}

const isObject = (value: unknown): value is TokenClaims =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function textAt(claims: TokenClaims, name: string, most = longestText): string | null {
  const value = claims[name];
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string' || value === '' || value.length > most || !isPrintable(value))
    throw new BadClaim(`${name} must be a text of 1 to ${most} characters`);
  return value;
}

const control = /\p{Cc}|\p{Surrogate}/u;
const isPrintable = (text: string): boolean => !control.test(text);

/** The value of a claim that has two names. */
function eitherOf(claims: TokenClaims, first: string, second: string): string | null {
  const [one, other] = [textAt(claims, first), textAt(claims, second)];
  if (one !== null && other !== null && one !== other)
    throw new BadClaim(`${first} and ${second} name different things`);
  return one ?? other;
}

/** The organisation whose keys must have signed the token; null: it names none. Throws BadClaim. */
export const organisationOf = (claims: TokenClaims): string | null =>
  eitherOf(claims, 'gateway_oid', 'organisation_id');

function timeAt(claims: TokenClaims, name: string): number | null {
  const value = claims[name];
  if (value === undefined) return null;
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0 || value > latestTime)
    throw new BadClaim(`${name} must be a time in Unix seconds`);
  return value;
}

/** When the token expires, which may be in the past. Throws BadClaim. All times in Unix milliseconds. */
export function checkTimes(claims: TokenClaims, now: number): number {
  const latest = now / 1000 + leewayS;
  const exp = timeAt(claims, 'exp');
  if (exp === null) throw new BadClaim('exp is missing: a token must expire');
  if ((timeAt(claims, 'nbf') ?? 0) > latest) throw new BadClaim('it is not valid yet (nbf)');
  if ((timeAt(claims, 'iat') ?? 0) > latest) throw new BadClaim('it was issued in the future (iat)');
  return Math.floor(exp * 1000);
}

/** Throws BadClaim for a token of another issuer, or for another audience. */
export function checkParties({ iss, aud }: TokenClaims, { issuer, audience }: AuthSettings): void {
  if (issuer !== null && iss !== issuer) throw new BadClaim('its issuer (iss) is another one');
  if (audience === null) return;
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  if (!audiences.includes(audience)) throw new BadClaim('it is for another audience (aud)');
}

/** Scopes that a token may have: those for calls of models, and those that read the administration. */
const callScopes = new Set([
  ...['completions.write', 'completions.read', 'prompts.render', 'guardrails.invoke', 'mcp.invoke'],
  ...['agents.invoke', 'logs.write', 'logs.read', 'feedbacks.read', 'feedbacks.write'],
]);
const reading = /\.(?:read|list|view)$/;

/** The known scopes of a token; others, such as `openid`, are ignored. */
function scopesIn({ scope, scopes }: TokenClaims): string[] {
  const named = [scope, scopes].flatMap((claim): unknown[] => {
    if (claim === undefined || claim === null) return [];
    if (typeof claim === 'string') return claim.split(' ');
    if (Array.isArray(claim)) return claim;
    throw new BadClaim('scope and scopes must be a text or a list of texts');
  });
  const known = named.flatMap((one) => {
    const name = typeof one === 'string' ? one.replace(/^gateway\./, '') : '';
    const may = mayHold('workspace-service', name) && (callScopes.has(name) || reading.test(name));
    return may ? [name] : [];
  });
  return [...new Set(known)];
}

function userIn(claims: TokenClaims, names: readonly string[]): string | null {
  for (const name of names) {
    if (!Object.hasOwn(claims, name)) continue;
    const value = claims[name];
    const user = typeof value === 'number' ? String(value) : textAt(claims, name);
    if (user !== null) return user;
  }
  return null;
}

function metadataIn(value: unknown): Record<string, string> {
  if (value === undefined || value === null) return {};
  if (!isObject(value)) throw new BadClaim('defaults.metadata must be an object');
  for (const [name, text] of Object.entries(value)) {
    if (typeof text !== 'string' || text.length > longestMetadata || !isPrintable(name + text))
      throw new BadClaim(
        `every value of defaults.metadata must be a text of at most ${longestMetadata} characters`,
      );
  }
  return value as Record<string, string>;
}

/** A claim that is a list, or a single item without the list. */
function listIn(claims: TokenClaims, name: string, most = 10): TokenClaims[] {
  const value = claims[name];
  if (value === undefined || value === null) return [];
  const items = Array.isArray(value) ? value : [value];
  if (items.length > most || !items.every(isObject))
    throw new BadClaim(`${name} must be an object, or a list of at most ${most}`);
  return items;
}

function amountAt(item: TokenClaims, name: string, path: string): number {
  const value = item[name];
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0)
    throw new BadClaim(`${path}.${name} must be a number from 0 on`);
  return value;
}

function oneOf<T extends string>(value: unknown, allowed: readonly T[], path: string): T {
  if (!allowed.includes(value as T)) throw new BadClaim(`${path} must be one of ${allowed.join(', ')}`);
  return value as T;
}

const measures: readonly RateMeasure[] = ['requests', 'tokens', 'concurrency'];
const units = Object.keys(rateWindows) as RateUnit[];

function rateLimitsIn(claims: TokenClaims): RateLimit[] {
  const limits = listIn(claims, 'rate_limits').map((item, i): RateLimit => {
    const path = `rate_limits[${i}]`;
    const type = oneOf(item['type'], measures, `${path}.type`);
    const unit = type === 'concurrency' ? null : oneOf(item['unit'], units, `${path}.unit`);
    return { type, unit, value: Math.floor(amountAt(item, 'value', path)) };
  });
  if (new Set(limits.map(({ type }) => type)).size < limits.length)
    throw new BadClaim('rate_limits must have one limit of each type');
  return limits;
}

const budgetMeasures: readonly BudgetMeasure[] = ['cost', 'tokens', 'requests'];
const periods: readonly Period[] = ['weekly', 'monthly'];
/** Largest budget in dollars whose nanodollars are still counted exactly. */
const mostDollars = 9_000_000;

function budgetsIn(claims: TokenClaims): BudgetLimit[] {
  const limits = listIn(claims, 'usage_limits').map((item, i): BudgetLimit => {
    const path = `usage_limits[${i}]`;
    const {
      type: given,
      periodic_reset: period,
      periodic_reset_days: days,
      alert_threshold: threshold,
    } = item;
    const type = oneOf(given ?? 'cost', budgetMeasures, `${path}.type`);
    const creditLimit = amountAt(item, 'credit_limit', path);
    const most = type === 'cost' ? mostDollars : Number.MAX_SAFE_INTEGER;
    if (creditLimit > most) throw new BadClaim(`${path}.credit_limit must be at most ${most}`);
    const periodicReset = period === undefined || period === null ? null : oneOf(period, periods, path);
    const hasDays = days !== undefined && days !== null;
    if (hasDays && periodicReset !== null)
      throw new BadClaim(`${path}.periodic_reset_days does not go together with periodic_reset`);
    if (hasDays && (!Number.isInteger(days) || (days as number) < 1 || (days as number) > 365))
      throw new BadClaim(`${path}.periodic_reset_days must be a number of days from 1 to 365`);
    return {
      type,
      creditLimit,
      alertThreshold:
        threshold === undefined || threshold === null ? null : amountAt(item, 'alert_threshold', path),
      periodicReset,
      periodicResetDays: hasDays ? (days as number) : null,
      nextUsageResetAt: null,
    };
  });
  if (new Set(limits.map(({ type }) => type)).size < limits.length)
    throw new BadClaim('usage_limits must have one budget of each type');
  return limits;
}

/** What the claims give. Throws BadClaim. `expiresAt`: Unix milliseconds. */
export function rightsIn(
  claims: TokenClaims,
  { userIdClaims }: AuthSettings,
  expiresAt: number,
): TokenRights {
  const defaults = claims['defaults'] ?? {};
  if (!isObject(defaults)) throw new BadClaim('defaults must be an object');
  return {
    user: userIn(claims, userIdClaims),
    subject: textAt(claims, 'sub'),
    workspace: eitherOf(claims, 'gateway_workspace', 'workspace_slug'),
    scopes: scopesIn(claims),
    expiresAt,
    configId: textAt(defaults, 'config_id'),
    metadata: metadataIn(defaults['metadata']),
    rateLimits: rateLimitsIn(claims),
    budgets: budgetsIn(claims),
  };
}
