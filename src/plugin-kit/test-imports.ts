import { type ResolveHook, register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

/** The entry that plugins and their tests import. */
const entry = 'headgate/plugin';
const address = new URL('./index.js', import.meta.url).href;

/**
 * Preloaded into the processes of `headgate plugin test`: the tests of a plugin get the `headgate/plugin` of the command
 * that runs them, as the plugin itself does, so that its folder needs no installed package.
 */
export const resolve: ResolveHook = (specifier, context, next) =>
  specifier === entry ? { url: address, shortCircuit: true } : next(specifier, context);

// The module is loaded twice: by the test's process, and by the thread that runs its hooks.
if (isMainThread) register(import.meta.url);
