import type { Provider as ProviderMessage } from '../../proto/messages.js';
import { Secret } from '../core/secret.js';
import { makeSlug } from '../store/slug.js';
import type { Provider } from '../store/store.js';
import { AdminError } from './admin-error.js';
import type { AdminParts, Service } from './service.js';
import { pageOf, stale, textOf, timeOf } from './wire.js';

const slugForm = /^[A-Za-z0-9_-]{1,255}$/;

function toMessage(provider: Provider): ProviderMessage {
  return {
    id: provider.id,
    slug: provider.slug,
    name: provider.name,
    note: provider.note,
    provider: provider.provider,
    masked_api_key: provider.maskedKey,
    custom_host: provider.baseUrl,
    status: 'active',
    workspace_id: provider.workspaceId,
    created_at: timeOf(provider.createdAt),
    last_updated_at: timeOf(provider.updatedAt),
    object: 'provider',
    etag: provider.etag,
  };
}

function credentialOf(text: string): Secret {
  const credential = text.trim();
  // It is sent as a header.
  if (/[\0\r\n]/.test(credential)) throw new AdminError('AB01', 'key must be one line.');
  return new Secret(credential);
}

/** Stored provider credentials (spec/api.md §5.3). */
export function providersService(parts: AdminParts): Service<'Providers'> {
  const { store } = parts;
  return {
    async CreateProvider(caller, request) {
      const provider = textOf('provider', request.provider);
      if (!parts.isProvider(provider))
        throw new AdminError('AB01', `provider: ${JSON.stringify(provider)} is not known.`);
      const name = textOf('name', request.name || request.slug);
      const slug = request.slug || makeSlug('', name);
      if (!slugForm.test(slug)) {
        throw new AdminError('AB01', 'slug must be 1 to 255 letters, digits, dashes and underscores.');
      }
      const place = await caller.place(request.workspace_id);
      const made = await store.providers.create(place, {
        slug,
        name,
        note: request.note?.trim() || null,
        provider,
        credential: request.key ? credentialOf(request.key) : null,
        baseUrl: request.custom_host?.replace(/\/+$/, '') ?? null,
      });
      if (made === 'taken')
        throw new AdminError('AB07', `slug: the workspace has a provider ${slug} already.`);
      if (made === 'missing') throw new AdminError('AB02', 'workspace_id: there is no such workspace.');
      caller.changed(made, [{ kind: 'provider', workspace: place.workspaceId, name: slug }]);
      return { id: made.id, slug };
    },

    async ListProviders(caller, request) {
      const { total, rows } = await store.providers.list(
        await caller.place(request.workspace_id),
        pageOf(request),
      );
      return { object: 'list', total, data: rows.map(toMessage) };
    },

    async DeleteProvider(caller, { slug, workspace_id, etag }) {
      const place = await caller.place(workspace_id);
      const provider = await store.providers.get(place, slug);
      if (provider === null) throw new AdminError('AB08', 'There is no such provider.');
      const gone = await store.providers.delete(place, slug, etag ?? undefined);
      if (gone === 'missing') throw new AdminError('AB08', 'There is no such provider.');
      if (gone === 'stale') throw stale();
      caller.changed(provider, [{ kind: 'provider', workspace: place.workspaceId, name: slug }]);
      return {};
    },
  };
}
