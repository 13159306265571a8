import { adminPaths, publicPaths } from '../../../../proto/routes.js';
import { reservedPaths } from '../../../common/http/reserved-paths.js';
import { PathTable } from '../../../common/ipc/path-table.js';

/**
 * What the administration has at a path: `public`: a route that needs no key; `route`: one that needs a key;
 * `reserved`: no route yet; `unknown`: nothing, but under a first segment that is the administration's.
 */
export type AdminPathKind = 'public' | 'route' | 'reserved' | 'unknown';

/** Azure's paths of one deployment share their first segment with the administration's. */
const azureOperations = ['audio', 'chat', 'completions', 'embeddings', 'extensions', 'images'];

const table = new PathTable<AdminPathKind | 'provider'>();
for (const path of publicPaths) table.at(path, () => 'public');
for (const path of adminPaths) table.at(path, () => 'route');
for (const path of reservedPaths) table.at(path, () => 'reserved');
// A misspelt administration path must not carry an administration body to a provider.
for (const path of adminPaths) {
  const head = /^\/v1\/[^/]+/.exec(path)?.[0];
  if (head !== undefined) table.at(`${head}/**`, () => 'unknown');
}

for (const operation of azureOperations) table.at(`/v1/deployments/{name}/${operation}/**`, () => 'provider');

/** null: the path is not the administration's. */
export function adminPathKind(path: string): AdminPathKind | null {
  const kind = table.find(path)?.value ?? null;
  return kind === 'provider' ? null : kind;
}
