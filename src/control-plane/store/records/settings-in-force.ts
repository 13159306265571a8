import { flagsInForce } from '../../../common/access/security-settings.js';
import type { Organisation, SettingsInForce } from './organisations.js';
import type { Workspace, WorkspaceSettings } from './workspaces.js';

/** A period of the workspace's own wins, `none` too. */
function rotationOf(
  own: WorkspaceSettings['user_api_key_rotation_period'],
  usual: number | undefined,
): SettingsInForce['userApiKeyRotationPeriod'] {
  const period = own ?? usual ?? null;
  return period === 'none' ? null : period;
}

type SetBy<T extends Organisation | Workspace> = Pick<T, 'settings' | 'securitySettings'>;

/** What holds in a workspace; `own` null: in the organisation, for workspaces that set nothing. */
export function settingsInForce(usual: SetBy<Organisation>, own: SetBy<Workspace> | null): SettingsInForce {
  const { settings } = usual;
  const over = own?.settings ?? {};
  return {
    security: flagsInForce(usual.securitySettings, own?.securitySettings ?? {}),
    blockInlineConfigs: settings.block_inline_configs ?? false,
    metadataSchema: settings.metadata_schema ?? null,
    userApiKeyTtl: over.user_api_key_ttl ?? settings.user_api_key_ttl ?? 0,
    userApiKeyMaxTtl: over.user_api_key_max_ttl ?? settings.user_api_key_max_ttl ?? 0,
    userApiKeyCount: over.user_api_key_count ?? settings.user_api_key_count ?? -1,
    userApiKeyRotationPeriod: rotationOf(
      over.user_api_key_rotation_period,
      settings.user_api_key_rotation_period,
    ),
    userApiKeyAutoCreate:
      over.user_api_key_auto_create ?? settings.default_workspace_user_api_key_auto_create ?? false,
  };
}
