import { AsyncLocalStorage } from 'node:async_hooks';

/** The plugin whose code is running, or has started the running code. */
export interface PluginScope {
  readonly plugin: string;
  /** A hook's name; `setup`; `metrics`. */
  readonly hook: string;
  /** null: it runs for no request. */
  readonly requestId: string | null;
}

/** Costs nothing until the first custom plugin runs; from then on Node tracks every promise of the process. */
const storage = new AsyncLocalStorage<PluginScope | null>();

/**
 * The present scope; null: the gateway's own code. Also valid in the handlers of uncaught rejections and exceptions.
 */
export const pluginScope = (): PluginScope | null => storage.getStore() ?? null;

export const inPluginScope = <T>(scope: PluginScope, work: () => T): T => storage.run(scope, work);

/** Runs the gateway's own work for a plugin: its errors are not attributed to the plugin. */
export const outsidePluginScope = <T>(work: () => T): T => storage.run(null, work);

/** The scope as fields of a log line. */
export const scopeFields = ({ plugin, hook, requestId }: PluginScope): object =>
  requestId === null ? { plugin, hook } : { plugin, hook, request_id: requestId };

/** Node tracks no promise until the next custom plugin runs. Where no request is under way: for measurements. */
export const forgetPluginScopes = (): void => storage.disable();
