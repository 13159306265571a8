// Joins the built modules of each kind of process into few files under dist/bundle: to find and link some four hundred
// modules takes a start longer than to run them. Packages stay where npm put them. The modules themselves remain in dist:
// they are used where there is no bundle, or where they were built after it (src/main.ts).
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
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

const common = {
  absWorkingDir: root,
  outbase: dist,
  outdir: target,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  packages: 'external',
  write: false,
  logLevel: 'warning',
  plugins: [ownAddresses],
};

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
