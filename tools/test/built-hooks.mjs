// Hooks of Node, which tools/test/built-modules.mjs registers.
import { existsSync, readFileSync } from 'node:fs';

const root = new URL('../../', import.meta.url).href;
const isMade = (url) => /\/(node_modules|dist)\//.test(url);

/** Of a source file; `./x.js` means x.ts. null: the build made nothing of it. */
function builtOf(url) {
  const found = /^(.*)\.[jt]s(\?.*)?$/.exec(url.slice(root.length));
  if (!url.startsWith(root) || isMade(url) || found === null) return null;
  const [, path, query = ''] = found;
  if (!existsSync(new URL(`dist/${path}.js`, root))) return null;
  return { path, query, url: `${root}dist/${path}.js${query}` };
}

/** Tests keep their address, beside which they look for files; the program has that of its build. */
export async function resolve(specifier, context, next) {
  const { parentURL = root } = context;
  if (!/^(\.\.?\/|\/|file:)/.test(specifier) || isMade(parentURL)) return next(specifier, context);
  const built = builtOf(new URL(specifier, parentURL).href);
  if (built === null) return next(specifier, context);
  const url = built.path.startsWith('test/') ? `${root}${built.path}.ts${built.query}` : built.url;
  return { url, format: 'module', shortCircuit: true };
}

export async function load(url, context, next) {
  const built = builtOf(url);
  if (built === null) return next(url, context);
  return { format: 'module', source: readFileSync(new URL(built.url), 'utf8'), shortCircuit: true };
}
