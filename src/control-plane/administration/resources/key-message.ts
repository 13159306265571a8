import type { ApiKey as ApiKeyMessage } from '../../../../proto/messages.js';
import type { ApiKey } from '../../store/store.js';
import { rotationPolicyMessage } from '../credentials/rotation.js';
import { timeOf, timeOrNull } from '../grpc/wire.js';
import { rateLimitMessages, usageLimitsMessage } from './limits.js';

/** A key as it is shown. */
export function keyMessage(key: ApiKey): ApiKeyMessage {
  const { defaults, usage, usageLimits, rotationPolicy } = key;
  return {
    id: key.id,
    key: key.masked,
    name: key.name,
    description: key.description,
    type: key.type,
    organisation_id: key.organisationId,
    workspace_id: key.workspaceId,
    user_id: key.userId,
    status: key.status,
    created_at: timeOf(key.createdAt),
    last_updated_at: timeOf(key.updatedAt),
    creation_mode: key.creationMode,
    rate_limits: rateLimitMessages(key.rateLimits),
    usage_limits: usageLimits && usageLimitsMessage(usageLimits, usage),
    scopes: key.scopes,
    defaults: {
      metadata: defaults.metadata,
      config_id: defaults.configId,
      allow_config_override: defaults.allowConfigOverride,
    },
    allow_config_override: defaults.allowConfigOverride ? 1 : 0,
    alert_emails: key.alertEmails,
    expires_at: timeOrNull(key.expiresAt),
    expiry_enforced: key.status === 'expired' ? 1 : 0,
    rotation_policy: rotationPolicy && rotationPolicyMessage(rotationPolicy),
    last_reset_at: timeOrNull(usage.lastResetAt),
    next_usage_reset_at: timeOrNull(usageLimits?.nextUsageResetAt ?? null),
    last_rotated_at: timeOrNull(key.lastRotatedAt),
    key_transition_expires_at: timeOrNull(key.transitionExpiresAt),
    object: 'api-key',
    etag: key.etag,
  };
}
