// `npm start`: installs and builds where needed, then serves, with the simulated provider at hand.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { prepare, root } from './prepare.mjs';

// Noted first: npm may be killed while this installs and builds.
const parent = process.ppid;
prepare();

// npm is the one that is told to stop (the script says `exec`, so that its signals come here and not to a shell). If
// npm is killed outright, nobody is left who could stop this: leave as if told to.
if (process.env.npm_lifecycle_event === 'start') {
  setInterval(() => {
    if (process.ppid !== parent) process.kill(process.pid, 'SIGTERM');
  }, 500).unref();
}

const main = join(root, 'dist', 'src', 'main.js');
// In this very process: signals reach the gateway and its exit code is ours, with nothing in between to lose them.
process.argv = [process.execPath, main, 'serve', ...process.argv.slice(2)];
await import(pathToFileURL(main).href);
