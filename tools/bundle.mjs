// Joins the built modules of each kind of process, and packages of many files, into few files under dist/bundle: to find and
// link some hundred modules takes a start longer than to run them. With these packages, a gateway's start takes 1.1 s of the
// processor in place of 1.5 s, and a command 0.27 s in place of 0.40 s (medians of three on a busy machine). All other packages,
// those with native code and those that few starts need, stay where npm put them. The modules themselves remain in dist: they
// are used where there is no bundle, or where they were built after it (src/main.ts).
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { build } from 'esbuild';
import { root } from './prepare.mjs';

const dist = join(root, 'dist');
const target = join(dist, 'bundle');
/** Stands for the way from an output file to `dist/bundle`, until it is known where that file lies. */
const toBundle = '__TO_BUNDLE__';

/** A module's own address is that of its place under dist/bundle, where the entry points lie as they do under dist. */
const ownAddresses = {
  name: 'own addresses',
  setup({ onLoad }) {
    onLoad({ filter: /[/\\]dist[/\\](src|plugins|workers|proto)[/\\].*\.js$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      if (!text.includes('import.meta.url')) return null;
      const at = relative(dist, path).replaceAll('\\', '/');
      return {
        contents: text.replaceAll(
          'import.meta.url',
          `new URL(${JSON.stringify(`${toBundle}/${at}`)}, import.meta.url).href`,
        ),
        loader: 'js',
      };
    });
  },
};

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
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  // What packages that are CommonJS call.
  banner: {
    js: "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);",
  },
  write: false,
  logLevel: 'warning',
  plugins: [ownAddresses, packages],
};

/** Programs that tests start and kill, some a hundred times. They are no part of the package. */
const programsOfTests = ['test/fault']
  .map((folder) => join(dist, folder))
  .filter((folder) => existsSync(folder))
  .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
  .filter((file) => file.endsWith('.js') && !file.endsWith('.test.js'));

const outputs = await Promise.all([
  // Of the commands each start needs one: what they share is in files of its own.
  build({
    ...common,
    entryPoints: [join(dist, 'src/cli/program.js')],
    splitting: true,
    chunkNames: 'src/chunks/[name]-[hash]',
  }),
  build({ ...common, entryPoints: [join(dist, 'src/process/worker/data-worker.js')] }),
  build({ ...common, entryPoints: [join(dist, 'src/control-plane/analytics/process/analytics-process.js')] }),
  build({
    ...common,
    entryPoints: [
      join(dist, 'workers/count-tokens.js'),
      join(dist, 'workers/read-large-body.js'),
      join(dist, 'workers/run-plugin-job.js'),
      join(dist, 'workers/watch-plugins.js'),
      join(dist, 'plugins/guardrails/pool/thread.js'),
    ],
  }),
  build({ ...common, entryPoints: programsOfTests }),
]);

// A start in between finds the old bundle or none: never a part of one.
const next = `${target}.next`;
rmSync(next, { recursive: true, force: true });
for (const { path, text } of outputs.flatMap(({ outputFiles }) => outputFiles)) {
  const file = join(next, relative(target, path));
  mkdirSync(dirname(file), { recursive: true });
  const way = relative(dirname(path), target).replaceAll('\\', '/');
  writeFileSync(file, text.replaceAll(toBundle, way));
}
rmSync(target, { recursive: true, force: true });
renameSync(next, target);
