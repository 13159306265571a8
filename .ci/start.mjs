// `npm start`: installs and builds where needed, then serves, with the simulated provider at hand.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { prepare, root } from './prepare.mjs';

prepare();
process.env.HEADGATE_SIMULATED ||= 'true';
const main = join(root, 'dist', 'src', 'main.js');
// In this very process: signals reach the gateway and its exit code is ours, with nothing in between to lose them.
process.argv = [process.execPath, main, 'serve', ...process.argv.slice(2)];
await import(pathToFileURL(main).href);
