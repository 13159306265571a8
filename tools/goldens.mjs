// `npm run goldens`: writes into the golden files what comes out now. Arguments go to mocha: `-- --grep bedrock`. Read
// `git diff test/golden` before committing: a change there is a change of what clients or providers receive.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { prepare, root, run } from './prepare.mjs';

prepare({ onlyInstall: true });
const bin = (...path) => [process.execPath, join(root, 'node_modules', ...path)];
process.env['UPDATE_GOLDEN'] = '1';
run(
  [
    ...bin('mocha', 'bin', 'mocha.js'),
    '--reporter',
    'dot',
    'test/golden/*.test.ts',
    ...process.argv.slice(2),
  ],
  'A golden test failed for another reason than its file: see above.',
);
run(
  [...bin('@biomejs', 'biome', 'bin', 'biome'), 'format', '--write', '--log-level=error', 'test/golden'],
  'The golden files could not be formatted: see above.',
);
spawnSync('git', ['diff', '--stat', '--', 'test/golden'], { cwd: root, stdio: 'inherit' });
