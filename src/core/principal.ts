export type KeyType = 'organisation-service' | 'workspace-service' | 'workspace-user';

/** Who calls: what a gateway key stands for. One object per key, shared by all its calls; never written to. */
export interface Principal {
  readonly organisationId: string;
  /** null for an organisation's own (admin) key. */
  readonly workspaceId: string | null;
  readonly keyId: string;
  readonly keyName: string;
  readonly keyType: KeyType;
  readonly userId: string | null;
  readonly scopes: readonly string[];
  /** Unix milliseconds, or null for a key that does not expire. */
  readonly expiresAt: number | null;
  /** May its calls use saved configs and providers alone, and none that they bring themselves? */
  readonly blockInline: boolean;
  readonly defaults: {
    readonly configId: string | null;
    readonly allowConfigOverride: boolean;
    readonly metadata: Readonly<Record<string, string>>;
  };
}
