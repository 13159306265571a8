// `npm run protos`: lints the proto files and compares them with those of the last release (proto/released.json).
// `npm run protos -- --release` writes what they are now into that file: a step of a release (docs/contributing.md).
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { protoFolder, treeOf } from '../proto/tree.js';
import { breaksOf, unannounced } from '../tools/gen/breaks.js';
import { fileProblems, namingProblems } from '../tools/gen/proto-lint.js';
import { readProtos } from '../tools/gen/read-protos.js';
import { type Api, apiFile, apiOf } from '../tools/gen/released-api.js';

const root = resolve(import.meta.dirname, '..');
const released = join(root, 'proto/released.json');

const tree = treeOf(readProtos(protoFolder()));
const now = apiOf(tree);
const problems = [...fileProblems(protoFolder()), ...namingProblems(tree)];

if (process.argv.includes('--release')) {
  if (problems.length === 0) writeFileSync(released, apiFile(now));
} else {
  const before = JSON.parse(readFileSync(released, 'utf8')) as Api;
  const breaks = unannounced(breaksOf(before, now), readFileSync(join(root, 'CHANGELOG.md'), 'utf8'));
  problems.push(...breaks.map(({ text }) => text));
  if (breaks.length > 0)
    problems.push('Where a break is meant, name it in backticks under "### Breaking" of CHANGELOG.md.');
}
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
