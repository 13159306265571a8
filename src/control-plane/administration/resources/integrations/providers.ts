import type { CreateProviderRequest, Provider as ProviderMessage } from '../../../../../proto/messages.js';
import type { Forget } from '../../../../common/ipc/messages.js';
import type { Place, Provider } from '../../../store/store.js';
import type { Caller } from '../../access/caller.js';
import { addressIn } from '../../access/host-trust.js';
import { checkOwnIdentity } from '../../access/own-identity.js';
import { AdminError } from '../../admin-error.js';
import { changeOf } from '../../audit/mask.js';
import {
  type CredentialRequest,
  changedCredentials,
  givenCredential,
  newCredentials,
  spelt,
} from '../../credentials/own-credentials.js';
import {
  changedTerms,
  newTerms,
  providerBudget,
  providerStates,
  termsMessage,
} from '../../credentials/provider-terms.js';
import {
  checkMappedHost,
  mappedFields,
  ofProvider,
  secretMappingMessage,
  secretMappingsOf,
} from '../../credentials/secret-mappings.js';
import { pageOf, stale, textOf, timeOf } from '../../grpc/wire.js';
import { onlyWorkspace } from '../../references/only-workspace.js';
import type { AdminParts, Service } from '../../service.js';
import { type BudgetState, BudgetStates } from '../../usage/budget-states.js';
import { checkAddress, providerNamed } from './provider-names.js';

/** The part before the dot in `target_field`. */
const root = 'model_config';

const toMessage = (provider: Provider, budget: BudgetState | null, now: number): ProviderMessage => ({
  id: provider.id,
  slug: provider.slug,
  name: provider.name,
  provider: provider.provider,
  integration_id: provider.integration?.slug ?? null,
  masked_api_key: provider.maskedKey,
  custom_host: provider.baseUrl,
  workspace_id: provider.workspaceId,
  ...termsMessage(provider, budget, now),
  created_at: timeOf(provider.createdAt),
  last_updated_at: timeOf(provider.updatedAt),
  object: 'provider',
  etag: provider.etag,
  secret_mappings: provider.secretMappings.map(secretMappingMessage),
});

/** What data workers may remember of it. */
export const forgetProvider = ({
  workspaceId,
  slug,
}: {
  readonly workspaceId: string;
  readonly slug: string;
}): Forget => ({ kind: 'provider', workspace: workspaceId, name: slug });

/** A record was made, or why not. */
export function madeProvider(
  made: Provider | 'taken' | 'missing',
  slug: string | null | undefined,
): Provider {
  if (made === 'taken') throw new AdminError('AB07', `slug: the workspace has a provider ${slug} already.`);
  if (made === 'missing') throw new AdminError('AB02', 'workspace_id: there is no such workspace.');
  return made;
}

/** The provider whose credential a request takes over. A second holder of it needs a scope of its own. */
export async function duplicated(
  caller: Caller,
  place: Place,
  request: CredentialRequest & Pick<CreateProviderRequest, 'source_provider_api_key_id' | 'provider'>,
  scope: string,
): Promise<Provider> {
  caller.need(scope);
  const given = givenCredential(request);
  if (given !== null)
    throw AdminError.field(given, 'does not go with source_provider_api_key_id: all of it is taken over.');
  const source = await caller.store.providers.get(place, request.source_provider_api_key_id ?? '');
  if (source === null)
    throw new AdminError('AB02', 'source_provider_api_key_id: the workspace has no such provider.');
  if (request.provider && request.provider !== source.provider)
    throw AdminError.field('provider', `is ${source.provider} in the source: leave it out.`);
  return source;
}

/** Stored providers. */
export function providersService(parts: AdminParts): Service<'Providers'> {
  const { store } = parts;
  const states = new BudgetStates(parts.budgets, parts.answered);
  const kind = { name: 'provider', workspacesWith: store.providers.workspacesWith.bind(store.providers) };

  async function shown(rows: readonly Provider[], org: string): Promise<ProviderMessage[]> {
    const now = Date.now();
    const found = await providerStates(states, org, rows, now);
    return rows.map((row, i) => toMessage(row, found[i]!, now));
  }

  async function make(
    caller: Caller,
    request: CreateProviderRequest,
  ): Promise<Provider | 'taken' | 'missing'> {
    const place = await caller.place(request.workspace_id);
    const name = textOf('name', request.name || request.slug);
    const named = { ...newTerms(request, Date.now()), slug: request.slug || undefined, name };
    if (request.source_provider_api_key_id) {
      const source = await duplicated(caller, place, request, 'providers.duplicate');
      return store.providers.duplicate(place, source.id, named);
    }
    if (!request.integration_id) {
      const provider = providerNamed(parts, textOf('provider', request.provider), 'provider');
      const owner = ofProvider(provider, root, place.workspaceId);
      const mappings = await secretMappingsOf(caller, request.secret_mappings, owner);
      const own = newCredentials(caller, provider, request, mappings);
      checkMappedHost(caller, mappings, own.baseUrl ?? addressIn(own.configurations.shown));
      const hasHost = own.baseUrl !== null || mappedFields(mappings, root).has('custom_host');
      checkAddress(parts, provider, 'custom_host', hasHost);
      checkOwnIdentity(parts, place, own.configurations, spelt);
      return store.providers.create(place, { ...named, ...own });
    }
    const given = givenCredential(request);
    if (given !== null || request.secret_mappings.length > 0)
      throw AdminError.field(
        given ?? 'secret_mappings',
        'does not go with integration_id: the integration has it.',
      );
    const integration = await store.integrations.usable(place, request.integration_id);
    if (integration === null)
      throw new AdminError('AB02', 'integration_id: there is none that the workspace may use.');
    if (request.provider && request.provider !== integration.provider)
      throw AdminError.field('provider', `is ${integration.provider} in the integration: leave it out.`);
    return store.providers.create(place, { ...named, integrationId: integration.id });
  }

  return {
    async CreateProvider(caller, request) {
      const made = madeProvider(await make(caller, request), request.slug);
      // A worker may remember that there was none.
      caller.changed(made, [forgetProvider(made)]);
      return { id: made.id, slug: made.slug };
    },

    async ListProviders(caller, request) {
      const tags = request.tags.map((tag) => {
        const [name = '', value = null] = tag.split(/:(.*)/s);
        return { name, value };
      });
      const place = await caller.place(request.workspace_id);
      const { total, rows } = await store.providers.list(place, pageOf(request), { tags });
      return { object: 'list', total, data: await shown(rows, place.organisationId) };
    },

    async GetProvider(caller, request) {
      const provider = await store.providers.get(await onlyWorkspace(caller, request, kind), request.slug);
      if (provider === null) throw new AdminError('AB08', 'There is no such provider.');
      const [message] = await shown([provider], provider.organisationId);
      return message!;
    },

    async UpdateProvider(caller, request) {
      const place = await onlyWorkspace(caller, request, kind);
      const before = await store.providers.get(place, request.slug);
      if (before === null) throw new AdminError('AB08', 'There is no such provider.');
      const asked = changeOf(request, 'secret_mappings');
      const owner = ofProvider(before.provider, root, place.workspaceId);
      const mappings = asked === undefined ? undefined : await secretMappingsOf(caller, asked ?? [], owner);
      const own = changedCredentials(caller, before, request, mappings);
      const mapped = mappedFields(mappings ?? before.secretMappings, root);
      checkAddress(parts, before.provider, 'custom_host', own.baseUrl !== null || mapped.has('custom_host'));
      checkMappedHost(
        caller,
        mappings ?? (own.baseUrl ? before.secretMappings : []),
        own.baseUrl ?? before.baseUrl ?? addressIn(own.configurations?.shown ?? before.configurations),
      );
      checkOwnIdentity(parts, place, own.configurations, spelt);
      const now = Date.now();
      const provider = await store.providers.update(place, before.id, {
        name: changeOf(request, 'name')?.trim(),
        ...(await changedTerms(states, request, before, now)),
        ...own,
        etag: request.etag ?? undefined,
      });
      if (provider === 'missing') throw new AdminError('AB08', 'There is no such provider.');
      if (provider === 'stale') throw stale();
      caller.changed(provider, [forgetProvider(provider)]);
      if (request.reset_usage === true) await states.ended(place.organisationId, providerBudget(before), now);
      return { id: provider.id, slug: provider.slug };
    },

    async DeleteProvider(caller, request) {
      const place = await onlyWorkspace(caller, request, kind);
      const gone = await store.providers.delete(place, request.slug, request.etag ?? undefined);
      if (gone === 'missing') throw new AdminError('AB08', 'There is no such provider.');
      if (gone === 'stale') throw stale();
      caller.changed(gone, [forgetProvider(gone)]);
      return {};
    },
  };
}
