#!/usr/bin/env node
import { statSync } from 'node:fs';
import * as nodeModule from 'node:module';

// Nothing of ours is imported before this check: an older Node would stop at syntax it does not know.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(
    `headgate: Node ${process.versions.node} is too old; install Node 20.19 or newer (below 24).`,
  );
  process.exit(1);
}
// From Node 22 on, the compiled code of packages is kept between starts; that of the bundle always is (tools/bundle-loader.cjs).
if ('enableCompileCache' in nodeModule && typeof nodeModule.enableCompileCache === 'function') {
  nodeModule.enableCompileCache();
}
const { run } = (await import(program())) as typeof import('./cli/program.js');
const code = await run(process.argv.slice(2));
// A start that failed half-way has timers and sockets open, which must not keep it from ending. 0 may mean: is serving.
if (code !== 0) process.exit(code);

/** The bundle that `npm run build` made (tools/bundle.mjs), unless the modules were built again after it. */
function program(): string {
  const time = (file: string): number =>
    statSync(new URL(file, import.meta.url), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const bundle = '../bundle/src/cli/program.js';
  const bundled = time(bundle);
  return bundled > 0 && bundled >= time('../.tsbuildinfo') ? bundle : './cli/program.js';
}
