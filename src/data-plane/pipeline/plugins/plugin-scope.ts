import { AsyncLocalStorage } from 'node:async_hooks';

/** The code of a custom plugin that runs now, or that started what runs now. */
export interface PluginScope {
  readonly plugin: string;
  /** A hook's name; `setup`; `metrics`. */
  readonly hook: string;
  /** null: it runs for no request. */
  readonly requestId: string | null;
}

/** Costs nothing until the first custom plugin runs; from then on Node follows every promise of the process. */
const storage = new AsyncLocalStorage<PluginScope | null>();

/** Whose code runs now; null: the gateway's own. Also where a rejection or an exception reaches the process. */
export const pluginScope = (): PluginScope | null => storage.getStore() ?? null;

export const inPluginScope = <T>(scope: PluginScope, work: () => T): T => storage.run(scope, work);

/** For work of the gateway's own that a plugin has asked for: its faults are not the plugin's. */
export const outsidePluginScope = <T>(work: () => T): T => storage.run(null, work);

/** The scope as fields of a log line. */
export const scopeFields = ({ plugin, hook, requestId }: PluginScope): object =>
  requestId === null ? { plugin, hook } : { plugin, hook, request_id: requestId };
