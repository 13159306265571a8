import type { ProviderRateLimit, UsageLimits as UsageLimitsMessage } from '../../../../proto/messages.js';
import type { Provider, ProviderChange } from '../../store/store.js';
import { AdminError } from '../admin-error.js';
import { changeOf } from '../audit/mask.js';
import { msOf, timeOrNull } from '../grpc/wire.js';
import {
  limitsAfter,
  rateLimitMessages,
  rateLimitsOf,
  usageLimitsMessage,
  usageLimitsOf,
} from '../resources/limits/limits.js';
import type { Budgeted, BudgetState, BudgetStates } from '../usage/budget-states.js';

/** What providers and virtual keys have alike, wherever their credential comes from. */
type Terms = Pick<ProviderChange, 'note' | 'usageLimits' | 'rateLimits' | 'expiresAt' | 'tags'>;

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

/** The budget of a provider. */
export const providerBudget = ({ id, usageLimits, createdAt }: Provider): Budgeted => ({
  of: 'virtual_key',
  id,
  limits: usageLimits,
  createdAt,
});

export async function changedTerms(
  states: BudgetStates,
  request: TermsRequest,
  before: Provider,
  now: number,
): Promise<Terms> {
  const note = changeOf(request, 'note');
  const limits = changeOf(request, 'usage_limits');
  const rates = changeOf(request, 'rate_limits');
  const expiry = changeOf(request, 'expires_at');
  const tags = changeOf(request, 'tags');
  const reset = request.reset_usage === true;
  const budget = providerBudget(before);
  return {
    note: note && (note.trim() || null),
    usageLimits: await limitsAfter(states, before.organisationId, budget, limits, reset, 'usage_limits', now),
    rateLimits: rates === undefined ? undefined : rateLimitsOf(rates ?? [], 'rate_limits'),
    expiresAt: expiry === undefined ? undefined : expiryOf(expiry, now),
    tags: tags === undefined ? undefined : tagsOf(tags),
  };
}

/** The states of the budgets of these providers of an organisation, in their order; null: there is none. */
export const providerStates = (
  states: BudgetStates,
  org: string,
  providers: readonly Provider[],
  now: number,
): Promise<(BudgetState | null)[]> => states.ofAll(org, providers.map(providerBudget), now);

/** The fields of a message that contain them. */
export const termsMessage = (provider: Provider, budget: BudgetState | null, now: number) => ({
  note: provider.note,
  status: statusOf(provider, budget, now),
  usage_limits: provider.usageLimits && budget && usageLimitsMessage(provider.usageLimits, budget),
  rate_limits: rateLimitMessages(provider.rateLimits) as readonly ProviderRateLimit[],
  expires_at: timeOrNull(provider.expiresAt),
  last_reset_at: timeOrNull(budget?.lastResetAt ?? null),
  tags: provider.tags,
});

function statusOf(
  { expiresAt }: Provider,
  budget: BudgetState | null,
  now: number,
): 'active' | 'exhausted' | 'expired' {
  if (expiresAt !== null && expiresAt <= now) return 'expired';
  return budget?.isExhausted ? 'exhausted' : 'active';
}
