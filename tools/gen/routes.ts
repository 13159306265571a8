import type { AdminTree } from '../../proto/tree.js';

const pages = ['/docs', '/docs/style.css', '/v1/admin/users/invites/accept.js', '/v1/openapi.json'];

const listOf = (paths: Iterable<string>): string =>
  [...new Set(paths)]
    .sort()
    .map((path) => `  '${path}',\n`)
    .join('');

/** `proto/routes.ts`: the paths of the administration plane, for the data workers. */
export function routesFile(tree: AdminTree): string {
  const methods = [...tree.methods.values()];
  const pathsOf = (some: typeof methods): string[] =>
    some.flatMap(({ bindings }) => bindings.map(({ path }) => path));
  const open = methods.filter(({ access }) => access.scopes.length === 0);
  return `// Generated from proto/headgate/admin/v1 by \`npm run gen\`.

/** Paths of the administration plane, whatever the method. */
export const adminPaths: readonly string[] = [
${listOf([...pages, ...pathsOf(methods)])}];

/** Those of them that answer a call without a key. */
export const publicPaths: readonly string[] = [
${listOf([...pages, ...pathsOf(open)])}];
`;
}
