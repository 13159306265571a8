import type { Store } from '../../store/store.js';

/** What a group is called in an answer: the slug of a workspace, the name of a key; of what is gone, its id. */
export async function groupNames(
  store: Store,
  org: string,
  by: string,
  keys: readonly (string | null)[],
): Promise<ReadonlyMap<string, string>> {
  const find = finders[by];
  const ids = [...new Set(keys.filter((key) => key !== null))];
  if (find === undefined) return new Map();
  const names = await Promise.all(ids.map(async (id) => [id, (await find(store, org, id)) ?? id] as const));
  return new Map(names);
}

type Finder = (store: Store, org: string, id: string) => Promise<string | undefined>;

const finders: Readonly<Record<string, Finder>> = {
  workspace: async (store, org, id) => (await store.workspaces.get(org, id))?.slug,
  api_key: async (store, org, id) => (await store.keys.get(org, id))?.name,
};
