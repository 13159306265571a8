import type { CreateVirtualKeyRequest, VirtualKey } from '../../../../../proto/messages.js';
import type { Place, Provider } from '../../../store/store.js';
import type { Caller } from '../../access/caller.js';
import { addressIn } from '../../access/host-trust.js';
import { checkOwnIdentity } from '../../access/own-identity.js';
import { AdminError } from '../../admin-error.js';
import { changeOf } from '../../audit/mask.js';
import { changedCredentials, newCredentials, spelt } from '../../credentials/own-credentials.js';
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
import { checkAddress, needsKey, providerNamed } from './provider-names.js';
import { duplicated, forgetProvider, madeProvider } from './providers.js';

const root = 'model_config';

const toMessage = (
  provider: Provider,
  workspaceName: string,
  budget: BudgetState | null,
  now: number,
): VirtualKey => ({
  id: provider.id,
  slug: provider.slug,
  name: provider.name,
  provider: provider.provider,
  ai_provider_name: provider.provider,
  organisation_id: provider.organisationId,
  workspace_id: provider.workspaceId,
  workspace_name: workspaceName,
  integration_id: provider.integration?.slug ?? null,
  masked_api_key: provider.maskedKey,
  key: '',
  model_config: null,
  ...termsMessage(provider, budget, now),
  created_at: timeOf(provider.createdAt),
  last_updated_at: timeOf(provider.updatedAt),
  // An integration's are shown by the integration.
  secret_mappings: provider.integration === null ? provider.secretMappings.map(secretMappingMessage) : [],
  object: 'virtual-key',
  etag: provider.etag,
});

/** What the provider needs beside its key; an integration's is shown by the integration. */
const modelConfigOf = ({ integration, configurations, baseUrl }: Provider): Record<string, unknown> =>
  integration !== null ? {} : { ...configurations, ...(baseUrl !== null && { custom_host: baseUrl }) };

/** In the feed of changes it is a provider. */
const changed = (caller: Caller, provider: Provider): void =>
  caller.changed({ ...provider, kind: 'provider' }, [forgetProvider(provider)]);

/** Virtual keys: providers by their older name. */
export function virtualKeysService(parts: AdminParts): Service<'VirtualKeys'> {
  const { store } = parts;
  const states = new BudgetStates(parts.budgets, parts.answered);
  const missing = (): AdminError => new AdminError('AB08', 'There is no such virtual key.');

  const kind = { name: 'virtual key', workspacesWith: store.providers.workspacesWith.bind(store.providers) };

  async function workspaceName({ organisationId, workspaceId }: Place): Promise<string> {
    return (await store.workspaces.get(organisationId, workspaceId))?.name ?? '';
  }

  async function shown(rows: readonly Provider[], place: Place): Promise<VirtualKey[]> {
    const now = Date.now();
    const [name, found] = await Promise.all([
      workspaceName(place),
      providerStates(states, place.organisationId, rows, now),
    ]);
    return rows.map((row, i) => toMessage(row, name, found[i]!, now));
  }

  async function make(
    caller: Caller,
    request: CreateVirtualKeyRequest,
  ): Promise<Provider | 'taken' | 'missing'> {
    const place = await caller.place(request.workspace_id);
    const name = textOf('name', request.name);
    const named = { ...newTerms(request, Date.now()), slug: request.slug || undefined, name };
    const provider = providerNamed(parts, request.provider, 'provider');
    if (request.source_provider_api_key_id) {
      const source = await duplicated(caller, place, { ...request, provider }, 'virtual_keys.duplicate');
      return store.providers.duplicate(place, source.id, named);
    }
    const owner = ofProvider(provider, root, place.workspaceId);
    const mappings = await secretMappingsOf(caller, request.secret_mappings, owner);
    const own = newCredentials(caller, provider, request, mappings);
    checkOwnIdentity(parts, place, own.configurations, spelt);
    const { shown } = own.configurations;
    checkMappedHost(caller, mappings, own.baseUrl ?? addressIn(shown));
    const isKeyless =
      own.baseUrl !== null || mappedFields(mappings, root).has('key') || !needsKey(provider, shown);
    checkAddress(
      parts,
      provider,
      'custom_host',
      own.baseUrl !== null || mappedFields(mappings, root).has('custom_host'),
    );
    if (own.credential === null && !isKeyless)
      throw AdminError.field('key', `is required for ${provider}: give it.`);
    return store.providers.create(place, { ...named, ...own });
  }

  return {
    async CreateVirtualKey(caller, request) {
      const made = madeProvider(await make(caller, request), request.slug);
      changed(caller, made);
      return { success: true, data: { id: made.id, slug: made.slug, object: 'virtual-key' } };
    },

    async ListVirtualKeys(caller, request) {
      const place = await caller.place(request.workspace_id);
      const { total, rows } = await store.providers.list(place, pageOf(request));
      return { object: 'list', total, data: await shown(rows, place) };
    },

    async GetVirtualKey(caller, request) {
      const place = await onlyWorkspace(caller, request, kind);
      const provider = await store.providers.get(place, request.slug);
      if (provider === null) throw missing();
      const [message] = await shown([provider], place);
      return { ...message!, model_config: modelConfigOf(provider) };
    },

    async UpdateVirtualKey(caller, request) {
      const place = await onlyWorkspace(caller, request, kind);
      const before = await store.providers.get(place, request.slug);
      if (before === null) throw missing();
      const mappings = changeOf(request, 'secret_mappings');
      const owner = ofProvider(before.provider, root, place.workspaceId);
      const secretMappings =
        mappings === undefined ? undefined : await secretMappingsOf(caller, mappings ?? [], owner);
      const own = changedCredentials(caller, before, request, secretMappings);
      const mapped = mappedFields(secretMappings ?? before.secretMappings, root).has('custom_host');
      checkAddress(parts, before.provider, 'custom_host', own.baseUrl !== null || mapped);
      checkMappedHost(
        caller,
        secretMappings ?? (own.baseUrl ? before.secretMappings : []),
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
      if (provider === 'missing') throw missing();
      if (provider === 'stale') throw stale();
      changed(caller, provider);
      if (request.reset_usage === true) await states.ended(place.organisationId, providerBudget(before), now);
      return {};
    },

    async DeleteVirtualKey(caller, request) {
      const place = await onlyWorkspace(caller, request, kind);
      const gone = await store.providers.delete(place, request.slug, request.etag ?? undefined);
      if (gone === 'missing') throw missing();
      if (gone === 'stale') throw stale();
      changed(caller, gone);
      return {};
    },

    async MigrateVirtualKey(caller, { virtual_key_id: id }) {
      const found = await store.providers.byId(caller.organisationId, id);
      const provider = found ?? (await store.providers.get(await caller.place(null), id));
      if (provider === null || !caller.sees(provider.workspaceId)) throw missing();
      const made = await store.providers.migrate(provider, provider.id);
      if (made === 'missing') throw missing();
      if (made === null)
        throw AdminError.field(
          'virtual_key_id',
          `is ${provider.slug}, whose address is known at run time alone.`,
        );
      changed(caller, provider);
      if (provider.integration === null) caller.changed({ ...made, kind: 'integration', action: 'create' });
      return { success: true, data: { slug: provider.slug, integration_id: made.slug } };
    },
  };
}
