import type { ModelRules, ProviderRecord } from '../../core/messages.js';
import type { SealedCredentials } from './credentials.js';
import type { Sql } from './driver.js';
import { type AccessRow, accessTo, type IntegrationRow, type ModelRow, usageOf } from './integration-row.js';
import type { ProviderRow } from './provider-row.js';

/** What data workers are told of a provider: whichever face it was made by, one record. */
export class ProviderLookup {
  /** By slug, of the providers that were made for it. */
  readonly runtimeBaseUrls = new Map<string, string>();

  constructor(
    readonly sealed: SealedCredentials,
    readonly integrationSealed: SealedCredentials,
  ) {}

  baseUrl(row: ProviderRow): string | null {
    return row.base_url_at_run_time ? (this.runtimeBaseUrls.get(row.slug) ?? null) : row.base_url;
  }

  async find(sql: Sql, workspaceId: string, slug: string): Promise<ProviderRecord | null> {
    const row: ProviderRow | undefined = await sql('providers')
      .where({ workspace_id: workspaceId, slug })
      .first();
    if (row === undefined) return null;
    return row.integration_id === null ? this.#own(sql, row) : this.#lent(sql, row);
  }

  async #own(sql: Sql, row: ProviderRow): Promise<ProviderRecord | null> {
    const baseUrl = this.baseUrl(row);
    // Without its address it would be taken for the real provider of that name.
    if (row.base_url_at_run_time && baseUrl === null) return null;
    const { key, secrets } = await this.sealed.open(sql, row);
    const configurations = JSON.parse(row.configurations);
    return {
      ...termsOf(row),
      provider: row.provider,
      credential: key,
      baseUrl: baseUrl ?? addressIn(configurations),
      hostTrusted: Boolean(row.host_trusted),
      headers: headersIn(secrets),
      fields: fieldsIn(configurations),
      secrets: secretsIn(secrets),
      exhausted: exhaustedOf(row, null),
      models: null,
    };
  }

  async #lent(sql: Sql, row: ProviderRow): Promise<ProviderRecord | null> {
    const lender: IntegrationRow | undefined = await sql('integrations')
      .where({ organisation_id: row.organisation_id, id: row.integration_id })
      .first();
    if (lender === undefined) return null;
    const { enabled, own } = await accessTo(sql, lender, row.workspace_id);
    if (!enabled) return null;
    const { key, secrets } = await this.integrationSealed.open(sql, lender);
    const configurations = JSON.parse(lender.configurations);
    return {
      ...termsOf(row),
      provider: lender.provider,
      credential: key,
      baseUrl: addressIn(configurations),
      hostTrusted: Boolean(lender.host_trusted),
      headers: headersIn(secrets),
      fields: fieldsIn(configurations),
      secrets: secretsIn(secrets),
      exhausted: exhaustedOf(row, own),
      models: await modelsOf(sql, lender),
    };
  }
}

const termsOf = (row: ProviderRow): Pick<ProviderRecord, 'id' | 'slug' | 'workspaceId' | 'expiresAt'> => ({
  id: row.id,
  slug: row.slug,
  workspaceId: row.workspace_id,
  expiresAt: row.expires_at === null ? null : Number(row.expires_at),
});

function exhaustedOf(row: ProviderRow, access: AccessRow | null): ProviderRecord['exhausted'] {
  if (row.usage_limits !== null && usageOf(row.usage).isExhausted) return 'virtual_key';
  if (access !== null && access.usage_limits !== null && usageOf(access.usage).isExhausted)
    return 'integration';
  return null;
}

function addressIn(configurations: Readonly<Record<string, unknown>>): string | null {
  const { custom_host: custom, huggingface_base_url: huggingface } = configurations;
  const address = custom ?? huggingface;
  return typeof address === 'string' ? address : null;
}

function headersIn({ custom_headers: given }: Readonly<Record<string, unknown>>): string[] {
  return Object.entries((given ?? {}) as Record<string, string>).flatMap(([name, value]) => [
    name.toLowerCase(),
    value,
  ]);
}

/** Texts as they are, and lists as JSON. */
function fieldsIn(configurations: Readonly<Record<string, unknown>>): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const [name, value] of Object.entries(configurations)) {
    if (name.startsWith('masked_')) continue;
    if (typeof value === 'string') fields[name] = value;
    else if (Array.isArray(value)) fields[name] = JSON.stringify(value);
  }
  return fields;
}

/** All secrets but the headers. A service account is an object, and travels as its JSON text. */
function secretsIn({
  custom_headers: _,
  ...rest
}: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(rest).map(([field, value]) => [
      field,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  );
}

async function modelsOf(sql: Sql, lender: IntegrationRow): Promise<ModelRules | null> {
  const rows: ModelRow[] = await sql('integration_models').where({
    organisation_id: lender.organisation_id,
    integration_id: lender.id,
  });
  const others = Boolean(lender.allow_all_models);
  const named = rows.map(({ slug, enabled, custom_host }) => ({
    model: slug,
    enabled: Boolean(enabled),
    baseUrl: custom_host,
  }));
  const plain = others && named.every(({ enabled, baseUrl }) => enabled && baseUrl === null);
  return plain ? null : { others, named };
}
