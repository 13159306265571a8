/** Where the gateway itself has an identity: clouds, by its machine, pod or environment, and the cluster of its pod. */
export const clouds = ['aws', 'azure', 'google', 'kubernetes'] as const;
export type Cloud = (typeof clouds)[number];

/** A workspace; null: an organisation as a whole. */
export interface Tenant {
  readonly organisationId: string;
  readonly workspaceId: string | null;
}

/**
 * The tenants that may have calls made, and paid for, with the gateway's own identity. A grant is a cloud, which allows
 * every tenant, or a cloud and the id of one workspace or organisation: `aws:<id>`.
 */
export class OwnIdentities {
  readonly #grants: ReadonlySet<string>;

  constructor(grants: readonly string[]) {
    this.#grants = new Set(grants);
  }

  allow(cloud: Cloud, { organisationId, workspaceId }: Tenant): boolean {
    return (
      this.#grants.has(cloud) ||
      this.#grants.has(`${cloud}:${organisationId}`) ||
      (workspaceId !== null && this.#grants.has(`${cloud}:${workspaceId}`))
    );
  }
}

/** A credential's request for the gateway's own identity. */
export interface OwnIdentityUse {
  readonly cloud: Cloud;
  /** The field that asks. */
  readonly field: string;
}

/** Do these fields of a stored credential sign in as the gateway itself? */
export function ownIdentityIn(fields: Readonly<Record<string, unknown>>): OwnIdentityUse | null {
  const mode = fields['azure_auth_mode'];
  if (mode === 'managed' || mode === 'workload') return { cloud: 'azure', field: 'azure_auth_mode' };
  if (fields['vertex_auth_type'] === 'workloadIdentity')
    return { cloud: 'google', field: 'vertex_auth_type' };
  if (fields['aws_role_arn'] !== undefined && fields['aws_access_key_id'] === undefined)
    return { cloud: 'aws', field: 'aws_role_arn' };
  return null;
}

/** The reason of a refusal and the remedy, to follow the name of the field. */
export function ownIdentityRefusal(cloud: Cloud): string {
  return `signs in as the gateway itself, which its operator has not allowed here: have ${cloud} added to the setting own_identity (HEADGATE_OWN_IDENTITY), or store a credential of your own.`;
}
