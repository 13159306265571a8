import type { ProviderRateLimit, UsageLimits as UsageLimitsMessage } from '../../../../proto/messages.js';
import { type BudgetUsage, unused, usageUnder } from '../../store/records/usage.js';
import type { Provider, ProviderChange } from '../../store/store.js';
import { AdminError } from '../admin-error.js';
import { changeOf } from '../audit/mask.js';
import { msOf, timeOrNull } from '../grpc/wire.js';
import { rateLimitMessages, rateLimitsOf, usageLimitsMessage, usageLimitsOf } from '../resources/limits.js';

/** What providers and virtual keys have alike, wherever their credential comes from. */
type Terms = Pick<ProviderChange, 'note' | 'usageLimits' | 'usage' | 'rateLimits' | 'expiresAt' | 'tags'>;

interface NewTermsRequest {
  readonly note?: string | null;
  readonly usage_limits?: UsageLimitsMessage | null;
  readonly rate_limits: readonly ProviderRateLimit[];
  readonly expires_at?: string | null;
  readonly tags?: object | null;
}

interface TermsRequest extends NewTermsRequest {
  readonly reset_usage?: boolean | null;
  readonly update_mask?: readonly string[] | null;
}

function expiryOf(text: string | null | undefined, now: number): number | null {
  const at = msOf(text);
  if (at !== null && at <= now) throw AdminError.field('expires_at', 'must be in the future.');
  return at;
}

const mostTags = 64;

/** Flat, so that they can be searched. */
function tagsOf(tags: object | null | undefined): Readonly<Record<string, string>> | null {
  const entries = Object.entries(tags ?? {});
  if (entries.length > mostTags) throw AdminError.field('tags', `must have at most ${mostTags} items.`);
  for (const [name, value] of entries)
    if (typeof value !== 'string') throw AdminError.field(`tags.${name.slice(0, 80)}`, 'must be text.');
  return entries.length === 0 ? null : Object.fromEntries(entries);
}

export const newTerms = (request: NewTermsRequest, now: number): Terms => ({
  note: request.note?.trim() || null,
  usageLimits: request.usage_limits ? usageLimitsOf(request.usage_limits, 'usage_limits', now) : null,
  rateLimits: rateLimitsOf(request.rate_limits, 'rate_limits'),
  expiresAt: expiryOf(request.expires_at, now),
  tags: tagsOf(request.tags),
});

export const usageReset = (now: number): BudgetUsage => ({ ...unused, lastResetAt: now });

export function changedTerms(request: TermsRequest, before: Provider, now: number): Terms {
  const reset = request.reset_usage === true ? usageReset(now) : undefined;
  const note = changeOf(request, 'note');
  const limits = changeOf(request, 'usage_limits');
  const rates = changeOf(request, 'rate_limits');
  const expiry = changeOf(request, 'expires_at');
  const tags = changeOf(request, 'tags');
  const terms: Terms = {
    note: note && (note.trim() || null),
    usage: reset,
    rateLimits: rates === undefined ? undefined : rateLimitsOf(rates ?? [], 'rate_limits'),
    expiresAt: expiry === undefined ? undefined : expiryOf(expiry, now),
    tags: tags === undefined ? undefined : tagsOf(tags),
  };
  if (limits === undefined) return terms;
  const usage = reset ?? before.usage;
  const used = usage.currentUsage > 0;
  const usageLimits = limits && usageLimitsOf(limits, 'usage_limits', now, before.usageLimits, used);
  return { ...terms, usageLimits, usage: usageUnder(usage, before.usageLimits, usageLimits) };
}

/** The fields of a message that contain them. */
export const termsMessage = (provider: Provider, now: number) => ({
  note: provider.note,
  status: statusOf(provider, now),
  usage_limits: provider.usageLimits && usageLimitsMessage(provider.usageLimits, provider.usage),
  rate_limits: rateLimitMessages(provider.rateLimits) as readonly ProviderRateLimit[],
  expires_at: timeOrNull(provider.expiresAt),
  last_reset_at: timeOrNull(provider.usage.lastResetAt),
  tags: provider.tags,
});

function statusOf(
  { expiresAt, usageLimits, usage }: Provider,
  now: number,
): 'active' | 'exhausted' | 'expired' {
  if (expiresAt !== null && expiresAt <= now) return 'expired';
  return usageLimits !== null && usage.isExhausted ? 'exhausted' : 'active';
}
