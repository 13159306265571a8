// `npm run way`: lists the functions that a plain chat passes, here and in docs/architecture.md.
import { join } from 'node:path';
import { prepare, root, run } from './prepare.mjs';

prepare();
run(
  [process.execPath, join(root, 'dist', 'test', 'support', 'request-way.js')],
  'The way of a request could not be measured: see above.',
);
