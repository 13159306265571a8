import type { CollectionDetails, CollectionRow } from '../../../../../proto/messages.js';
import type { Collection, CollectionWithContent } from '../../../store/store.js';
import type { Caller } from '../../access/caller.js';
import { AdminError } from '../../admin-error.js';
import { changeOf, setOf } from '../../audit/mask.js';
import { pageOf, textOf, timeOf, timeOrNull } from '../../grpc/wire.js';
import { inSight, settled } from '../../records.js';
import type { AdminParts, Service } from '../../service.js';

const toMessage = (collection: Collection) => ({
  id: collection.id,
  name: collection.name,
  workspace_id: collection.workspaceId,
  slug: collection.slug,
  parent_collection_id: collection.parentId,
  is_default: collection.isDefault,
  status: 'active' as const,
  created_at: timeOf(collection.createdAt),
  last_updated_at: timeOf(collection.updatedAt),
  etag: collection.etag,
});

/** Prompts are not kept yet. */
const detailsOf = (collection: CollectionWithContent): CollectionDetails => ({
  child_collections_count: collection.children,
  prompts_count: 0,
  child_collections_last_updated_at: timeOrNull(collection.childrenUpdatedAt),
  prompts_last_updated_at: null,
});

const toRow = (collection: CollectionWithContent): CollectionRow => ({
  ...toMessage(collection),
  collection_details: detailsOf(collection),
});

/** Folders of prompts. */
export function collectionsService({ store }: AdminParts): Service<'Collections'> {
  async function found(
    caller: Caller,
    { id, workspace_id }: { readonly id: string; readonly workspace_id?: string | null },
  ): Promise<Collection> {
    const collection = await store.collections.get(caller.organisationId, id);
    return inSight(caller, workspace_id, collection, 'collection');
  }

  async function parentOf(
    caller: Caller,
    workspaceId: string,
    name: string | null | undefined,
  ): Promise<string | null> {
    if (!name) return null;
    const parent = await store.collections.get(caller.organisationId, name);
    if (parent?.workspaceId !== workspaceId)
      throw new AdminError('AB02', 'parent_collection_id: there is no such collection in the workspace.');
    return parent.id;
  }

  return {
    async CreateCollection(caller, request) {
      const place = await caller.place(request.workspace_id);
      const made = await store.collections.create(place, {
        name: textOf('name', request.name),
        parentId: await parentOf(caller, place.workspaceId, request.parent_collection_id),
      });
      if (made === 'missing') throw new AdminError('AB02', 'workspace_id: there is no such workspace.');
      caller.changed(made);
      return { id: made.id, slug: made.slug };
    },

    async ListCollections(caller, request) {
      const { total, rows } = await store.collections.list(
        await caller.place(request.workspace_id, { archived: true }),
        request.search || undefined,
        pageOf(request),
      );
      return { object: 'list', total, data: rows.map(toRow) };
    },

    async GetCollection(caller, request) {
      const collection = await found(caller, request);
      const children = await store.collections.children(caller.organisationId, collection.id);
      const child_collections = children.map((child) => ({
        id: child.id,
        name: child.name,
        last_updated_at: timeOf(child.updatedAt),
        collection_details: detailsOf(child),
      }));
      return { ...toMessage(collection), child_collections };
    },

    async UpdateCollection(caller, request) {
      const before = await found(caller, request);
      const parent = changeOf(request, 'parent_collection_id');
      if (parent && before.isDefault)
        throw AdminError.field('parent_collection_id', 'cannot be given to the default collection.');
      const collection = await store.collections.update(caller.organisationId, before.id, {
        name: setOf(request, 'name')?.trim(),
        parentId: parent === undefined ? undefined : await parentOf(caller, before.workspaceId, parent),
        etag: request.etag ?? undefined,
      });
      if (collection === 'loop')
        throw AdminError.field('parent_collection_id', 'must not be the collection itself or one inside it.');
      caller.changed(settled(collection, 'collection'));
      return {};
    },

    async DeleteCollection(caller, request) {
      const { id } = await found(caller, request);
      const cascade = request.cascade ?? false;
      const etag = request.etag ?? undefined;
      const gone = await store.collections.delete(caller.organisationId, id, cascade, etag);
      if (gone === 'full')
        throw new AdminError('AB07', 'The collection is not empty: empty it first, or send cascade.');
      for (const collection of settled(gone, 'collection')) caller.changed(collection);
      return {};
    },
  };
}
