import type { KeyRecord } from '../../../common/ipc/records.js';

/** A key of a place without a default, a limit or guardrails of its own. */
export function nobodysKey({
  organisationId,
  workspaceId,
}: Pick<KeyRecord, 'organisationId' | 'workspaceId'>): KeyRecord {
  return {
    organisationId,
    workspaceId,
    keyId: '',
    keyName: '',
    keyType: 'workspace-service',
    userId: null,
    scopes: [],
    expiresAt: null,
    blockInline: false,
    defaults: { configId: null, allowConfigOverride: true, metadata: {} },
  };
}
