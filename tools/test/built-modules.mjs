// Imported first by the processes that run lanes: they load what `npm test` has just built. tsx, which runs single files,
// would compile each file again, in each of their threads too, and have every function given its name by a call.
import { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

// Threads run the program alone, which finds its own modules.
if (isMainThread) register('./built-hooks.mjs', import.meta.url);
