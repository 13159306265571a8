import type { ApiKey as ApiKeyMessage } from '../../../../../proto/messages.js';
import type { ApiKey } from '../../../store/store.js';
import { rotationPolicyMessage } from '../../credentials/rotation.js';
import { timeOf, timeOrNull } from '../../grpc/wire.js';
import type { Budgeted, BudgetState } from '../../usage/budget-states.js';
import { rateLimitMessages, usageLimitsMessage } from '../limits/limits.js';

/** The budget of a key. */
export const keyBudget = ({ id, usageLimits, createdAt }: ApiKey): Budgeted => ({
  of: 'api_key',
  id,
  limits: usageLimits,
  createdAt,
});

/** A key as it is shown. `budget`: the state of its budget; null: it has none. */
export function keyMessage(key: ApiKey, budget: BudgetState | null): ApiKeyMessage {
  const { defaults, usageLimits, rotationPolicy } = key;
  return {
    id: key.id,
    key: key.masked,
    name: key.name,
    description: key.description,
    type: key.type,
    organisation_id: key.organisationId,
    workspace_id: key.workspaceId,
    user_id: key.userId,
    status: key.isExpired ? 'expired' : budget?.isExhausted ? 'exhausted' : 'active',
    created_at: timeOf(key.createdAt),
    last_updated_at: timeOf(key.updatedAt),
    creation_mode: key.creationMode,
    rate_limits: rateLimitMessages(key.rateLimits),
    usage_limits: usageLimits && budget && usageLimitsMessage(usageLimits, budget),
    scopes: key.scopes,
    defaults: {
      metadata: defaults.metadata,
      config_id: defaults.configId,
      allow_config_override: defaults.allowConfigOverride,
    },
    allow_config_override: defaults.allowConfigOverride ? 1 : 0,
    alert_emails: key.alertEmails,
    expires_at: timeOrNull(key.expiresAt),
    expiry_enforced: key.isExpired ? 1 : 0,
    rotation_policy: rotationPolicy && rotationPolicyMessage(rotationPolicy),
    last_reset_at: timeOrNull(budget?.lastResetAt ?? null),
    next_usage_reset_at: timeOrNull(budget?.nextResetAt ?? null),
    last_rotated_at: timeOrNull(key.lastRotatedAt),
    key_transition_expires_at: timeOrNull(key.transitionExpiresAt),
    object: 'api-key',
    etag: key.etag,
  };
}
