import type { PartnerTexts } from '../../../common/guardrails/partner-credentials.js';
import type { PartnerRecord } from '../../../common/ipc/records.js';
import type { SecretMapping } from './credentials.js';
import type { Listed, Page } from './place.js';

/** An organisation's credentials of a partner, as they may be shown. */
export interface PartnerPlugin {
  readonly id: string;
  readonly organisationId: string;
  /** Id of the partner in `src/common/guardrails/partners.ts`; one in the organisation. */
  readonly partner: string;
  readonly name: string;
  readonly status: 'active' | 'archived';
  /** The integration that lends its credential; null: none does. */
  readonly integrationId: string | null;
  /** By the names of the partner's fields; secrets are masked. */
  readonly shown: PartnerTexts;
  /** Credentials that are taken from secret references: `credentials.<field>`. */
  readonly secretMappings: readonly SecretMapping[];
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly etag: string;
}

export interface NewPartnerPlugin {
  readonly partner: string;
  readonly name: string;
  readonly integrationId: string | null;
  readonly credentials: PartnerTexts;
  readonly shown: PartnerTexts;
  readonly secretMappings: readonly SecretMapping[];
}

/** Absent: stays as it is. */
export interface PartnerPluginChange {
  readonly name?: string;
  readonly status?: PartnerPlugin['status'];
  readonly credentials?: PartnerTexts;
  /** Together with `credentials`. */
  readonly shown?: PartnerTexts;
  readonly secretMappings?: readonly SecretMapping[];
  /** The state it is made for: another one makes it `stale`. */
  readonly etag?: string;
}

export interface PartnerPluginStore {
  /** By id or partner. */
  get(organisationId: string, idOrPartner: string): Promise<PartnerPlugin | null>;
  /** Its credentials with their secrets, without those that an integration lends. */
  open(organisationId: string, id: string): Promise<PartnerTexts | null>;
  /** What data workers call a partner with. `scope`: id of a workspace, or of the organisation. null: there is nothing. */
  find(scope: string, partner: string): Promise<PartnerRecord | null>;
  list(organisationId: string, page: Page): Promise<Listed<PartnerPlugin>>;
  create(organisationId: string, input: NewPartnerPlugin): Promise<PartnerPlugin | 'taken'>;
  update(
    organisationId: string,
    id: string,
    change: PartnerPluginChange,
  ): Promise<PartnerPlugin | 'missing' | 'stale'>;
  delete(organisationId: string, id: string, etag?: string): Promise<PartnerPlugin | 'missing' | 'stale'>;
}
