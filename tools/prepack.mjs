// Before `npm pack` and `npm publish`: what the package holds is built, and the declarations of what it exports.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { prepare, root, run } from './prepare.mjs';

prepare();
rmSync(join(root, 'dist', 'types'), { recursive: true, force: true });
const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
run(
  [process.execPath, tsc, '-p', 'tsconfig.types.json'],
  'The declarations could not be written: see above.',
);
