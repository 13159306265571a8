import type {
  Workspace as WorkspaceMessage,
  WorkspaceSettings as WorkspaceSettingsMessage,
  WorkspaceUsageLimitsState,
} from '../../../../../proto/messages.js';
import type { SettingsInForce, Workspace, WorkspaceUsageLimits } from '../../../store/store.js';
import { timeOf, timeOrNull } from '../../grpc/wire.js';
import type { Budgeted, BudgetState } from '../../usage/budget-states.js';
import { rateLimitMessages, setLimitsMessage, usageLimitsMessage } from '../limits/limits.js';

function settingsMessage({ settings }: Workspace, inForce: SettingsInForce): WorkspaceSettingsMessage {
  return {
    user_api_key_ttl: inForce.userApiKeyTtl,
    user_api_key_max_ttl: inForce.userApiKeyMaxTtl,
    user_api_key_count: inForce.userApiKeyCount,
    debug_log: settings.debug_log ?? 1,
    user_key_metadata: settings.user_key_metadata ?? 0,
    user_key_metadata_override: settings.user_key_metadata_override ?? 0,
    user_api_key_rotation_period: inForce.userApiKeyRotationPeriod,
    user_api_key_auto_create: inForce.userApiKeyAutoCreate,
    log_retention_days: settings.log_retention_days ?? 0,
    log_body_retention_days: settings.log_body_retention_days ?? 0,
  };
}

/** The budget of a workspace. */
export const workspaceBudget = ({ id, usageLimits, createdAt }: Workspace): Budgeted => ({
  of: 'workspace',
  id,
  limits: usageLimits[0] ?? null,
  createdAt,
});

function limitsMessage(
  { metadata, ...limits }: WorkspaceUsageLimits,
  budget: BudgetState,
  withUsage: boolean,
): WorkspaceUsageLimitsState {
  const { status, ...state } = usageLimitsMessage(limits, budget);
  const set = setLimitsMessage({ ...limits, nextUsageResetAt: budget.nextResetAt });
  return { ...(withUsage ? state : set), status, metadata };
}

/**
 * A workspace as its readers see it: the effective values, wherever they are set. `budget`: the state of its budget (null: it has
 * none). `usage`: include usage?
 */
export function workspaceMessage(
  workspace: Workspace,
  inForce: SettingsInForce,
  budget: BudgetState | null,
  usage = false,
): WorkspaceMessage {
  const { defaults } = workspace;
  return {
    id: workspace.id,
    slug: workspace.slug,
    name: workspace.name,
    description: workspace.description,
    created_at: timeOf(workspace.createdAt),
    last_updated_at: timeOf(workspace.updatedAt),
    defaults: {
      metadata: defaults.metadata,
      input_guardrails: [...defaults.inputGuardrails],
      output_guardrails: [...defaults.outputGuardrails],
      user_api_key_config: defaults.userApiKeyConfig,
      is_default: Number(workspace.isDefault),
      object: 'workspace',
    },
    usage_limits:
      budget === null ? [] : workspace.usageLimits.map((limits) => limitsMessage(limits, budget, usage)),
    rate_limits: rateLimitMessages(workspace.rateLimits),
    status: workspace.status,
    security_settings: inForce.security,
    settings: settingsMessage(workspace, inForce),
    last_reset_at: timeOrNull(budget?.lastResetAt ?? null),
    object: 'workspace',
    icon: workspace.icon,
    is_default: Number(workspace.isDefault),
    organisation_id: workspace.organisationId,
    created_by: workspace.createdBy,
    creation_source: workspace.isDefault ? 'default' : 'api',
    scim_source_id: workspace.scimSourceId,
    etag: workspace.etag,
  };
}
