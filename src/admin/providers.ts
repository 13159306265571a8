import type { ProviderMessage } from '../../proto/messages.js';
import { toTimestamp } from '../../proto/timestamp.js';
import { Secret } from '../core/secret.js';
import { makeSlug } from '../store/slug.js';
import type { Provider } from '../store/store.js';
import { AdminError } from './admin-error.js';
import type { AdminParts, Service } from './service.js';
import { given, pageOf, textOf } from './wire.js';

const slugForm = /^[A-Za-z0-9_-]{1,255}$/;

function toMessage(provider: Provider): ProviderMessage {
  return {
    id: provider.id,
    slug: provider.slug,
    name: provider.name,
    note: given(provider.note),
    provider: provider.provider,
    masked_api_key: given(provider.maskedCredential),
    custom_host: given(provider.baseUrl),
    status: 'active',
    workspace_id: provider.workspaceId,
    created_at: toTimestamp(provider.createdAt),
    last_updated_at: toTimestamp(provider.updatedAt),
    object: 'provider',
  };
}

/** Form only: whether the address may be connected to is decided at each connection. */
function baseUrlOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:') || text.length > 2048) {
    throw new AdminError('AB01', 'custom_host must be an http or https URL, version segment included.');
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new AdminError('AB01', 'custom_host must have no user, query or fragment.');
  }
  return text.replace(/\/+$/, '');
}

function credentialOf(text: string): Secret {
  const credential = text.trim();
  if (credential.length > 65_536) throw new AdminError('AB01', 'key must be at most 65536 characters long.');
  // It is sent as a header.
  if (/[\0\r\n]/.test(credential)) throw new AdminError('AB01', 'key must be one line.');
  return new Secret(credential);
}

/** Stored provider credentials (spec/api.md §5.3). */
export function providersService(parts: AdminParts): Service<'Providers'> {
  const { store, changed } = parts;
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
        note: request.note ? textOf('note', request.note, 1024) : null,
        provider,
        credential: request.key ? credentialOf(request.key) : null,
        baseUrl: request.custom_host ? baseUrlOf(request.custom_host) : null,
      });
      if (made === 'taken')
        throw new AdminError('AB07', `slug: the workspace has a provider ${slug} already.`);
      if (made === 'missing') throw new AdminError('AB02', 'workspace_id: there is no such workspace.');
      await changed([{ kind: 'provider', workspace: place.workspaceId, name: slug }]);
      return { id: made.id, slug };
    },

    async ListProviders(caller, request) {
      const { total, rows } = await store.providers.list(
        await caller.place(request.workspace_id),
        pageOf(request),
      );
      return { object: 'list', total, data: rows.map(toMessage) };
    },

    async DeleteProvider(caller, { slug, workspace_id }) {
      const place = await caller.place(workspace_id);
      const gone = await store.providers.delete(place, slug);
      if (gone === 'missing') throw new AdminError('AB08', 'There is no such provider.');
      if (gone === 'stale') throw new AdminError('AB07', 'etag: it has been changed since. Read it again.');
      await changed([{ kind: 'provider', workspace: place.workspaceId, name: slug }]);
      return {};
    },
  };
}
