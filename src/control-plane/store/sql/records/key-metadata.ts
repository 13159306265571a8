import type { WorkspaceDefaults, WorkspaceSettings } from '../../records/workspaces.js';
import type { ApiKeyRow } from './api-key-row.js';

/** Longer values are no metadata. Characters. */
const longestValue = 128;

/** `debug_log` 0: no bodies. `settings`: JSON of the workspace's. */
export const keepsBodies = (settings: string | null): boolean => JSON.parse(settings ?? '{}').debug_log !== 0;

type MetadataRow = Pick<ApiKeyRow, 'default_metadata' | 'user_id'> & {
  readonly user_email: string | null;
  /** JSON; null: the key is of no workspace. */
  readonly workspace_defaults: string | null;
  readonly workspace_settings: string | null;
};

/** What the calls of a key carry. `user`: metadata `_user` of calls that name no user. */
interface KeyMetadata {
  readonly metadata: Record<string, string>;
  readonly user?: string;
}

/**
 * The workspace's metadata wins over that of the key, and both over a call's own. The user of the key is among them where
 * the workspace wants it, unless calls may override that.
 */
export function metadataOf(row: MetadataRow): KeyMetadata {
  const defaults: Partial<WorkspaceDefaults> = JSON.parse(row.workspace_defaults ?? '{}');
  const settings: WorkspaceSettings = JSON.parse(row.workspace_settings ?? '{}');
  const own: Record<string, string> = JSON.parse(row.default_metadata);
  const { user_id: id, user_email: email } = row;
  if (settings.user_key_metadata !== 1 || id === null) return { metadata: { ...own, ...defaults.metadata } };
  const user = email === null || email.length > longestValue ? id : email;
  if (settings.user_key_metadata_override === 1) return { metadata: { ...own, ...defaults.metadata }, user };
  return { metadata: { ...own, _user: user, ...defaults.metadata } };
}
