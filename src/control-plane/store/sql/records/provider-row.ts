import type { CredentialColumns } from './credentials.js';

export interface ProviderRow extends CredentialColumns {
  readonly id: string;
  readonly revision: number;
  readonly organisation_id: string;
  readonly workspace_id: string;
  readonly slug: string;
  readonly name: string;
  readonly note: string | null;
  readonly provider: string;
  readonly integration_id: string | null;
  readonly base_url: string | null;
  readonly base_url_at_run_time: boolean | number;
  readonly host_trusted: boolean | number;
  readonly usage_limits: string | null;
  readonly rate_limits: string;
  readonly expires_at: number | string | null;
  readonly tags: string | null;
  readonly created_at: number | string;
  readonly updated_at: number | string;
}
