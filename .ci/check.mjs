// `npm run check`: everything that can be said about the tree without running the product.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { prepare, root } from '../tools/prepare.mjs';

prepare({ onlyInstall: true });
const bin = (name, ...path) => [process.execPath, join(root, 'node_modules', name, ...path)];
const mocha = [...bin('mocha', 'bin', 'mocha.js'), '--reporter', 'dot'];

const steps = [
  ['types', [...bin('typescript', 'bin', 'tsc'), '-p', '.', '--noEmit', '--incremental', 'false']],
  [
    'lint and format',
    [...bin('@biomejs/biome', 'bin', 'biome'), 'ci', '--error-on-warnings', '--colors=off', '.'],
  ],
  ['layers and cycles', [...mocha, 'test/unit/layers.test.ts']],
  ['proto files', [...bin('tsx', 'dist', 'cli.mjs'), '.ci/protos.ts']],
  ['lock file', [process.execPath, join(root, '.ci', 'lock.mjs'), '--check']],
];

let failed = 0;
for (const [name, [command, ...args]] of steps) {
  const { code, output } = await run(command, args);
  say(name, code === 0);
  if (code !== 0) process.stdout.write(output);
}

const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
if (scripts.gen !== undefined) {
  const before = treeState();
  const { code, output } = await run('npm', ['run', '--silent', 'gen']);
  const fresh = code === 0 && treeState() === before;
  say('generated files', fresh);
  if (!fresh) process.stdout.write(code === 0 ? 'They were not fresh; they are now: commit them.\n' : output);
}
process.exitCode = failed > 0 ? 1 : 0;

function say(name, ok) {
  console.log(`${ok ? 'ok  ' : 'FAIL'}  ${name}`);
  if (!ok) failed += 1;
}

function run(command, args) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.on('data', (chunk) => (output += chunk));
    child.on('error', (error) => resolve({ code: 1, output: `${error.message}\n` }));
    child.on('close', (code) => resolve({ code: code ?? 1, output }));
  });
}

/** Every change in the tree against the last commit, as one value: generating must not move it. */
function treeState() {
  const git = (...args) => spawnSync('git', args, { cwd: root, maxBuffer: 1 << 28 }).stdout ?? '';
  return createHash('sha256').update(git('diff', 'HEAD')).update(git('status', '--porcelain')).digest('hex');
}
