import type { AdminTree } from '../../proto/tree.js';

/** `proto/routes.ts`: what data workers know of the administration plane. */
export function routesFile(tree: AdminTree): string {
  const paths = new Set<string>(['/docs', '/docs/style.css', '/v1/openapi.json']);
  for (const { bindings } of tree.methods.values()) for (const { path } of bindings) paths.add(path);
  const lines = [...paths].sort().map((path) => `  '${path}',\n`);
  return `// Generated from proto/headgate/admin/v1 by \`npm run gen\`.

/** Paths of the administration plane, whatever the method. */
export const adminPaths: readonly string[] = [
${lines.join('')}];
`;
}
