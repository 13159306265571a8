import { type BudgetRule, budgetRuleOf } from '../../../../common/core/budget-rules.js';
import { type RateLimit, type RateRule, rateRulesOf } from '../../../../common/core/rate-rules.js';
import type { MappedField, ModelRules, ProviderRecord } from '../../../../common/ipc/records.js';
import { lentBudgetId, type SetBudget } from '../../records/budget-periods.js';
import type { UsableProvider } from '../../records/providers.js';
import type { Sql } from '../connection/driver.js';
import type { SealedCredentials } from './credentials.js';
import {
  type FoundProvider,
  findProvider,
  type Lender,
  type LenderRow,
  type LentAccess,
  type LentModel,
} from './found-provider.js';
import {
  type AccessRow,
  accessBy,
  type IntegrationRow,
  type ModelRow,
  usageLimitsOf,
} from './integration-row.js';
import { type MappedSecrets, unfetched } from './mapped-secrets.js';
import { pricesOf } from './price-record.js';
import type { ProviderRow } from './provider-row.js';

/** What data workers get of a provider: one record, whichever face it was created by. */
export class ProviderLookup {
  /** By slug, of the providers that were made for it. */
  readonly runtimeBaseUrls = new Map<string, string>();

  constructor(
    readonly sealed: SealedCredentials,
    readonly integrationSealed: SealedCredentials,
    readonly mappedSecrets: MappedSecrets,
  ) {}

  baseUrl(row: ProviderRow): string | null {
    return row.base_url_at_run_time ? (this.runtimeBaseUrls.get(row.slug) ?? null) : row.base_url;
  }

  async find(sql: Sql, workspaceId: string, slug: string): Promise<ProviderRecord | null> {
    const found = await findProvider(sql, workspaceId, slug);
    if (found === undefined) return null;
    return found.row.integration_id === null ? this.#own(sql, found) : this.#lent(sql, found);
  }

  /** Of these rows of one workspace the ones that calls could use at `now` (Unix milliseconds). Opens no credential. */
  async usable(sql: Sql, rows: readonly ProviderRow[], now: number): Promise<UsableProvider[]> {
    const lenders = await lendersOf(sql, rows);
    const usable: UsableProvider[] = [];
    for (const row of rows) {
      if (row.expires_at !== null && Number(row.expires_at) <= now) continue;
      const { slug, integration_id: id } = row;
      if (id === null) {
        const hasAddress = !row.base_url_at_run_time || this.baseUrl(row) !== null;
        if (hasAddress)
          usable.push({ slug, provider: row.provider, models: null, budgets: setBudgets(row, null, null) });
        continue;
      }
      const lender = lenders.get(id);
      if (lender === undefined) continue;
      const { enabled, own } = accessBy(lender.row, row.workspace_id, lender.access);
      if (!enabled) continue;
      usable.push({
        slug,
        provider: lender.row.provider,
        models: rulesOf(lender.row, lender.models),
        budgets: setBudgets(row, lender.row, own),
      });
    }
    return usable;
  }

  #mapped(sql: Sql, row: ProviderRow, mappings: string): Promise<MappedField[]> {
    const { organisation_id: organisationId, workspace_id: workspaceId } = row;
    return this.mappedSecrets.fields(sql, { organisationId, workspaceId }, mappings);
  }

  async #own(sql: Sql, { row, prices }: FoundProvider): Promise<ProviderRecord | null> {
    const baseUrl = this.baseUrl(row);
    // Without its address it would be taken for the real provider of that name.
    if (row.base_url_at_run_time && baseUrl === null) return null;
    const { key, secrets } = await this.sealed.open(sql, row);
    const configurations = JSON.parse(row.configurations);
    const mapped = await this.#mapped(sql, row, row.secret_mappings);
    // Spread objects come last: V8 takes a microsecond for each member that follows one.
    return {
      provider: row.provider,
      integration: null,
      credential: key,
      baseUrl: baseUrl ?? addressIn(configurations),
      hostTrusted: Boolean(row.host_trusted),
      headers: headersIn(secrets),
      fields: fieldsIn(configurations),
      secrets: secretsIn(secrets),
      models: null,
      ...termsOf(row),
      ...mappedIn(mapped),
      ...limitsOf(row, null, []),
      ...given('prices', pricesOf(prices, null, [])),
      ...budgetsOf(row, null, null),
    };
  }

  async #lent(sql: Sql, found: FoundProvider): Promise<ProviderRecord | null> {
    if (found.lender === null) return null;
    const { row: lender, access, models } = found.lender;
    const { row, prices } = found;
    const { enabled, own } = accessBy(lender, row.workspace_id, access);
    if (!enabled) return null;
    const { key, secrets } = await this.integrationSealed.open(sql, lender);
    const configurations = JSON.parse(lender.configurations);
    const mapped = await this.#mapped(sql, row, lender.secret_mappings);
    return {
      provider: lender.provider,
      integration: lender.slug,
      credential: key,
      baseUrl: addressIn(configurations),
      hostTrusted: Boolean(lender.host_trusted),
      headers: headersIn(secrets),
      fields: fieldsIn(configurations),
      secrets: secretsIn(secrets),
      models: rulesOf(lender, models),
      ...termsOf(row),
      ...mappedIn(mapped),
      ...limitsOf(row, lender, JSON.parse(own === null ? lender.global_rate_limits : own.rate_limits)),
      ...budgetsOf(row, lender, own),
      ...given('prices', pricesOf(prices, lender, models)),
    };
  }
}

/** The integrations of these providers of one workspace, by id: three queries, however many there are. */
async function lendersOf(sql: Sql, rows: readonly ProviderRow[]): Promise<ReadonlyMap<string, Lender>> {
  const ids = [...new Set(rows.flatMap(({ integration_id: id }) => (id === null ? [] : [id])))];
  if (ids.length === 0) return new Map();
  const lenders: IntegrationRow[] = await sql('integrations').whereIn('id', ids);
  const access: AccessRow[] = await sql('integration_workspaces')
    .where({ workspace_id: rows[0]!.workspace_id })
    .whereIn('integration_id', ids);
  const named: ModelRow[] = await sql('integration_models').whereIn('integration_id', ids);
  const accessOf = new Map(access.map((row) => [row.integration_id, row]));
  const modelsOf = new Map<string, ModelRow[]>();
  for (const model of named) {
    const models = modelsOf.get(model.integration_id);
    if (models === undefined) modelsOf.set(model.integration_id, [model]);
    else models.push(model);
  }
  return new Map(
    lenders.map((row) => [
      row.id,
      { row, access: accessOf.get(row.id) ?? null, models: modelsOf.get(row.id) ?? [] },
    ]),
  );
}

/** What is mapped has no value until it is fetched. */
const mappedIn = (mapped: MappedField[]): Pick<ProviderRecord, 'unresolved' | 'mapped'> =>
  mapped.length === 0 ? { unresolved: [] } : { unresolved: mapped.map(unfetched), mapped };

const termsOf = (row: ProviderRow): Pick<ProviderRecord, 'id' | 'slug' | 'workspaceId' | 'expiresAt'> => ({
  id: row.id,
  slug: row.slug,
  workspaceId: row.workspace_id,
  expiresAt: row.expires_at === null ? null : Number(row.expires_at),
});

/** Rate limits of the provider, and those of its integration in the provider's workspace, where there are any. */
function limitsOf(
  row: ProviderRow,
  lender: LenderRow | null,
  lent: readonly RateLimit[],
): { limits?: RateRule[] } {
  const { organisation_id: organisation } = row;
  const limits = rateRulesOf(organisation, 'virtual_key', row.id, row.slug, JSON.parse(row.rate_limits));
  if (lender !== null) {
    const id = `${lender.id}/${row.workspace_id}`;
    limits.push(...rateRulesOf(organisation, 'integration', id, lender.slug, lent));
  }
  return limits.length === 0 ? {} : { limits };
}

/** The budget of a provider, and the one of its integration in the provider's workspace. `access`: what that has set. */
function setBudgets(row: ProviderRow, lender: LenderRow | null, access: LentAccess | null): SetBudget[] {
  const budgets: SetBudget[] = [];
  const own = usageLimitsOf(row.usage_limits);
  if (own !== null)
    budgets.push({ of: 'virtual_key', id: row.id, limits: own, createdAt: Number(row.created_at) });
  if (lender === null) return budgets;
  const lent = usageLimitsOf(access === null ? lender.global_usage_limits : access.usage_limits);
  if (lent !== null)
    budgets.push({
      of: 'integration',
      id: lentBudgetId(lender.id, row.workspace_id),
      limits: lent,
      createdAt: Number(lender.created_at),
    });
  return budgets;
}

/** The same as data workers apply them, where there are any. */
function budgetsOf(
  row: ProviderRow,
  lender: LenderRow | null,
  access: LentAccess | null,
): { budgets?: BudgetRule[] } {
  const budgets = setBudgets(row, lender, access).map(({ of, id, limits, createdAt }) => {
    const name = of === 'integration' ? lender!.slug : row.slug;
    return budgetRuleOf(row.organisation_id, of, id, name, limits, limits.lastResetAt ?? createdAt);
  });
  return budgets.length === 0 ? {} : { budgets };
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

/** Texts as they are, lists and booleans as JSON. */
function fieldsIn(configurations: Readonly<Record<string, unknown>>): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const [name, value] of Object.entries(configurations)) {
    if (name.startsWith('masked_')) continue;
    if (typeof value === 'string') fields[name] = value;
    else if (Array.isArray(value) || typeof value === 'boolean') fields[name] = JSON.stringify(value);
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

function rulesOf(lender: LenderRow, rows: readonly LentModel[]): ModelRules | null {
  const others = Boolean(lender.allow_all_models);
  const named = rows.map(({ slug, enabled, custom_host }) => ({
    model: slug,
    enabled: Boolean(enabled),
    baseUrl: custom_host,
  }));
  const plain = others && named.every(({ enabled, baseUrl }) => enabled && baseUrl === null);
  return plain ? null : { others, named };
}

const given = <Name extends string, T>(name: Name, value: T | null): { [N in Name]?: T } =>
  (value === null ? {} : { [name]: value }) as { [N in Name]?: T };
