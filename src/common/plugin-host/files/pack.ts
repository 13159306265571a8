import { createHash } from 'node:crypto';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { dirname, extname, join, resolve } from 'node:path';
import { nearest } from '../../text/nearest.js';
import { readModule, type StaticImport } from './module-syntax.js';
import { FileFault, stripTypes } from './strip-types.js';

/** A file of a plugin, ready to be run. */
export interface PackedFile {
  readonly path: string;
  readonly kind: 'module' | 'script' | 'json';
  /** The text of a function, or of JSON. Its lines are those of the file. */
  readonly code: string;
  readonly imports: readonly StaticImport[];
  readonly stars: readonly number[];
  /** What it imports of the plugin's own files: as it names them, and their paths. */
  readonly own: Readonly<Record<string, string>>;
}

/**
 * A plugin's file with the files of its own that it imports, as they were at one moment. Made in the control process, so
 * that all data workers run the same, and one that starts later runs what works, whatever the files are then.
 */
export interface Pack {
  readonly entry: string;
  readonly files: readonly PackedFile[];
  /** Changes with any of them. */
  readonly hash: string;
}

const extensions = ['.js', '.mjs', '.cjs', '.ts', '.mts', '.cts'];
const maxFiles = 200;
const maxBytes = 8 * 1024 * 1024;
const tooLarge = `A plugin has at most ${maxFiles} files of together ${maxBytes} bytes.`;

async function textOf(path: string): Promise<string> {
  const stats = await stat(path);
  if (!stats.isFile()) throw new Error(`${path} is no file.`);
  if (stats.size > maxBytes) throw new Error(tooLarge);
  return readFile(path, 'utf8');
}

/** The file of a plugin: `<name>.js`, or `<name>/index.js`, or with the extensions of modules and of TypeScript. */
export function pluginFile(directory: string, name: string): string {
  const found = [name, join(name, 'index')]
    .flatMap((base) => extensions.map((extension) => join(directory, base + extension)))
    .filter((path) => existsSync(path));
  if (found.length === 1) return found[0]!;
  if (found.length > 1)
    throw new Error(`plugin ${name}: there are ${found.join(' and ')}: keep one of them.`);
  const others = existsSync(directory)
    ? readdirSync(directory).map((file) => file.replace(/\.[^.]+$/, ''))
    : [];
  const meant = nearest(name, others);
  throw new Error(
    `plugins.insert: there is no plugin ${name} in ${directory}: it has no ${name}.js, ${name}.ts or ${name}/index.js${meant === null ? '.' : `; did you mean ${meant}?`}`,
  );
}

/** Reads a plugin's file and what it imports. Throws a `FileFault` with file and line. */
export async function packPlugin(entry: string): Promise<Pack> {
  const files = new Map<string, PackedFile>();
  const hash = createHash('sha256');
  let bytes = 0;
  const add = async (path: string, from: readonly string[]): Promise<void> => {
    if (from.includes(path))
      throw new FileFault(
        path,
        null,
        `Files of a plugin cannot import each other: ${[...from, path].join(' → ')}.`,
      );
    if (files.has(path)) return;
    const text = await textOf(path).catch((error: Error) => {
      throw new FileFault(from.at(-1) ?? path, null, error.message);
    });
    bytes += Buffer.byteLength(text);
    if (files.size >= maxFiles || bytes > maxBytes) throw new FileFault(path, null, tooLarge);
    hash.update(`${path}\0${text}\0`);
    const packed = await packFile(path, text);
    for (const next of Object.values(packed.own)) await add(next, [...from, path]);
    // After what it imports.
    files.set(path, packed);
  };
  await add(resolve(entry), []);
  return { entry: resolve(entry), files: [...files.values()], hash: hash.digest('base64url') };
}

async function packFile(path: string, text: string): Promise<PackedFile> {
  const extension = extname(path);
  if (extension === '.json') return { path, kind: 'json', code: text, imports: [], stars: [], own: {} };
  const code = /ts$/.test(extension) ? await stripTypes(path, text) : text;
  const syntax = readModule(code);
  const { imports, stars } = syntax;
  const own: Record<string, string> = {};
  for (const { from, line } of imports) if (isOwn(from)) own[from] = fileOf(path, from, line);
  for (const from of syntax.later) if (isOwn(from)) own[from] ??= fileOf(path, from, null);
  const isScript = /\.c[jt]s$/.test(path) || (!syntax.isModule && extension === '.js');
  if (isScript) {
    const made = `(function (exports, require, module, __filename, __dirname) {${code}\n})`;
    return { path, kind: 'script', code: made, imports: [], stars: [], own };
  }
  const shown = [...syntax.exports].map(([name, value]) => `${JSON.stringify(name)}: () => ${value}`);
  const head = `(async function ($import, $meta, $begin) {'use strict'; const $imports = await $begin({${shown.join(', ')}}, (from) => import(from)); ${syntax.bindings} `;
  return { path, kind: 'module', code: `${head}${syntax.body}\n})`, imports, stars, own };
}

const isOwn = (from: string): boolean => /^\.\.?(\/|$)/.test(from) || from.startsWith('/');

/** As Node finds it; TypeScript may import `./a.js` where there is `./a.ts`. */
function fileOf(importer: string, from: string, line: number | null): string {
  const path = resolve(dirname(importer), from);
  const candidates = [
    path,
    path.replace(/js$/, 'ts'),
    ...extensions.map((extension) => path + extension),
    `${path}.json`,
    ...extensions.map((extension) => join(path, `index${extension}`)),
  ];
  const found = candidates.find((one) => statSync(one, { throwIfNoEntry: false })?.isFile() === true);
  if (found === undefined) throw new FileFault(importer, line, `There is no file ${from}.`);
  return found;
}
