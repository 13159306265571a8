// Joins the built modules of each kind of process, and packages of many files, into few scripts under dist/bundle: to find and
// link some hundred modules takes a start longer than to run them. tools/bundle-loader.cjs runs the scripts. With these packages, a
// gateway's start takes 1.1 s of the processor in place of 1.5 s, and a command 0.27 s in place of 0.40 s (medians of three on a
// busy machine). All other packages, those with native code and those that few starts need, stay where npm put them. The modules
// themselves remain in dist: they are used where there is no bundle, or where they were built after it (src/main.ts).
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, transform } from 'esbuild';
import { root } from './prepare.mjs';

const dist = join(root, 'dist');
const target = join(dist, 'bundle');
const { order } = await import(pathToFileURL(join(dist, 'src/data-plane/pipeline/order.js')).href);
/** Programs that tests start and kill, some a hundred times. They are no part of the package. */
const programsOfTests = ['test/fault']
  .map((folder) => join(dist, folder))
  .filter((folder) => existsSync(folder))
  .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
  .filter((file) => file.endsWith('.js') && !/(\.test|journal-records)\.js$/.test(file));

/**
 * What modules have that scripts do not. A module's own address is that of its place under dist/bundle, where the entry points
 * lie as they do under dist. `bundleUrl` and `importOutside` are given by tools/bundle-loader.cjs.
 */
const ownModules = {
  name: 'own modules',
  setup({ onLoad }) {
    onLoad({ filter: /[/\\]dist[/\\](src|plugins|workers|proto|test)[/\\].*\.js$/ }, ({ path }) => {
      const at = relative(dist, path).replaceAll('\\', '/');
      const text = at === declarations ? declarationsOf(order) : readFileSync(path, 'utf8');
      const address = `new URL(${JSON.stringify(at)}, bundleUrl).href`;
      const contents = withAsciiTemplates(programsOfTests.includes(path) ? withoutTopAwait(text) : text)
        .replaceAll('import.meta.url', address)
        .replaceAll(/\bimport\(\s*('[^'.][^']*')\s*,?\s*\)/g, 'importOutside($1)');
      return { contents, loader: 'js' };
    });
  },
};

/** Of a program of the tests, whose imports come first. */
function withoutTopAwait(text) {
  const start = text.indexOf(';\n', text.lastIndexOf('\nimport ')) + 2;
  return `${text.slice(0, start)}(async () => {\n${text.slice(start)}\n})();\n`;
}

/** Awaits what it imports, which a script cannot. */
const declarations = 'src/data-plane/pipeline/plugins/declarations.js';

const declarationsOf = (names) => {
  const imports = names.map((name, i) => `import stage${i} from '../../../../plugins/${name}/stage.js';`);
  return `${imports.join('\n')}\nexport const declarations = [${names.map((_, i) => `stage${i}`).join(', ')}];`;
};

/**
 * Scripts are ASCII: as soon as one character is not, each takes two bytes of memory. esbuild escapes what is in strings, not
 * what is in templates of `String.raw`, and not what is in regular expressions, where `\uXXXX` means the same.
 */
const escaped = (text) =>
  text.replaceAll(/[\u0080-\uffff]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);
const withAsciiTemplates = (text) =>
  text.replaceAll(/String\.raw`[^`]*`/g, (template) =>
    template.replaceAll(/[\u0080-\uffff]+/g, (letters) => `\${"${escaped(letters)}"}`),
  );

/** Packages of many files that most starts load. With each come those that it uses itself: one copy, not two. */
const joined = [
  ...['ajv', 'fast-uri', 'fast-deep-equal', 'json-schema-traverse', 'require-from-string'],
  ...['commander', 'ipaddr.js', 'lru-cache'],
  ...['@grpc/grpc-js', '@grpc/proto-loader', '@grpc/reflection', '@js-sdsl/ordered-map'],
  ...['protobufjs', '@protobufjs/*', 'google-protobuf', 'lodash.camelcase', 'long'],
  ...['knex', 'colorette', 'debug', 'lodash', 'ms', 'pg-connection-string', 'tarn'],
];

const packages = {
  name: 'packages',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^[^./]/ }, ({ path }) => {
      const [first, second] = path.split('/');
      const isScoped = first.startsWith('@');
      const names = isScoped ? [`${first}/${second}`, `${first}/*`] : [first];
      return names.some((name) => joined.includes(name)) ? null : { path, external: true };
    });
    // Files that a package reads at its own place, such as health.proto.
    onLoad({ filter: /[/\\]node_modules[/\\].*\.js$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      if (!text.includes('__dirname')) return null;
      const file = path
        .split(/[/\\]node_modules[/\\]/)
        .at(-1)
        .replaceAll('\\', '/');
      const place = `require('node:path').dirname(require.resolve(${JSON.stringify(file)}))`;
      return { contents: text.replaceAll('__dirname', place), loader: 'js' };
    });
  },
};

const common = {
  absWorkingDir: root,
  outbase: dist,
  outdir: target,
  outExtension: { '.js': '.cjs' },
  bundle: true,
  platform: 'node',
  target: 'node20',
  // Names stay, and lines stay short: they are in stack traces.
  minifyWhitespace: true,
  minifySyntax: true,
  lineLimit: 160,
  legalComments: 'none',
  metafile: true,
  write: false,
  logLevel: 'warning',
  logOverride: { 'require-resolve-not-external': 'silent' },
  plugins: [ownModules, packages],
};

/** Each joined into a file of its own. */
const programs = [
  join(dist, 'src/process/worker/data-worker.js'),
  join(dist, 'src/control-plane/analytics/process/analytics-process.js'),
  join(dist, 'workers/count-tokens.js'),
  join(dist, 'workers/read-large-body.js'),
  join(dist, 'workers/run-plugin-job.js'),
  join(dist, 'workers/watch-plugins.js'),
  join(dist, 'plugins/guardrails/pool/thread.js'),
  ...programsOfTests,
];
/** Of the commands each start needs one: what they share is in files of its own. */
const commandLine = join(dist, 'src/cli/program.js');

const [modules, scripts] = await Promise.all([
  build({
    ...common,
    format: 'esm',
    entryPoints: [commandLine],
    splitting: true,
    chunkNames: 'src/chunks/[name]-[hash]',
  }),
  build({ ...common, format: 'cjs', entryPoints: programs }),
]);

/** What one file of the bundle imports by `import()`, by name. */
function lazyImports(metafile, path) {
  const { imports } = metafile.outputs[relative(root, path).replaceAll('\\', '/')];
  const lazy = imports.filter(({ kind }) => kind === 'dynamic-import');
  const outside = lazy.find(({ external }) => external);
  if (outside !== undefined) throw new Error(`${path}: import('${outside.path}') does not work in a script.`);
  return new Set(lazy.map((each) => basename(each.path)));
}

/** A script of a module: esbuild splits into modules only. */
async function scriptOf(path, text) {
  const parts = lazyImports(modules.metafile, path);
  const required = text.replaceAll(/\bimport\(("[^"]+")\)/g, (whole, name) =>
    parts.has(basename(JSON.parse(name))) ? `Promise.resolve().then(()=>require(${name}))` : whole,
  );
  const { code } = await transform(required, {
    ...{ format: 'cjs', platform: common.platform, target: common.target, sourcefile: `${path}.mjs` },
    ...{ minifyWhitespace: true, minifySyntax: true, lineLimit: common.lineLimit },
  });
  return code;
}

/** The file that Node starts or imports. Its last line names the exports for imports by ECMAScript modules. */
function startOf(file, script) {
  const way = relative(dirname(file), next).replaceAll('\\', '/');
  const [names = ''] = /\b0&&\(module\.exports=[^)]*\)/.exec(script) ?? [];
  return `module.exports = require('${way}/load.cjs').load(__filename.replace(/js$/, 'cjs'));\n${names};\n`;
}

// A start in between finds the old bundle or none: never a part of one.
const next = `${target}.next`;
rmSync(next, { recursive: true, force: true });
const placeOf = (path) => join(next, relative(target, path));
const write = (file, text) => {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
};
for (const { path, text } of modules.outputFiles) write(placeOf(path), escaped(await scriptOf(path, text)));
for (const { path, text } of scripts.outputFiles) {
  lazyImports(scripts.metafile, path);
  write(placeOf(path), escaped(text));
}
for (const entry of [commandLine, ...programs]) {
  const file = join(next, relative(dist, entry));
  write(file, startOf(file, readFileSync(file.replace(/js$/, 'cjs'), 'utf8')));
}
write(join(next, 'package.json'), '{ "type": "commonjs" }\n');
copyFileSync(join(root, 'tools/bundle-loader.cjs'), join(next, 'load.cjs'));
rmSync(target, { recursive: true, force: true });
renameSync(next, target);
