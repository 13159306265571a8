// What the package exports as `headgate/plugin`. A plugin that imports `definePlugin` from here runs in each data worker:
// only what it needs there is imported. The chain for tests is loaded when a test opens it.
import type {
  Injected,
  InjectedRequest,
  OpenedPlugin,
  OpenOptions,
  PluginHarness,
  PluginOrFile,
} from './kit-types.js';

export * from '../common/plugin-host/plugin-api.js';
export { type FakeExchange, fakeExchange } from './fake-exchange.js';
export type {
  Injected,
  InjectedOutcome,
  InjectedRequest,
  InjectedRow,
  LogLine,
  OpenedPlugin,
  OpenOptions,
  PluginOrFile,
  ProviderAnswer,
  ProviderCall,
} from './kit-types.js';

// By its address: declarations of the whole gateway would become part of the package.
const harness = (): Promise<PluginHarness> =>
  import(new URL('./harness.js', import.meta.url).href) as Promise<PluginHarness>;

/**
 * Sets a plugin up in the real chain of a data worker, in this process: without sockets, with a simulated provider.
 * `options` are checked as those of the settings are.
 */
export async function openPlugin(
  plugin: PluginOrFile,
  options: unknown = {},
  how: OpenOptions = {},
): Promise<OpenedPlugin> {
  return (await harness()).openPlugin(plugin, options, how);
}

/** One request through a plugin: `openPlugin`, the request, `close`. */
export async function inject(
  plugin: PluginOrFile,
  options: unknown = {},
  request: InjectedRequest & OpenOptions = {},
): Promise<Injected> {
  const opened = await openPlugin(plugin, options, request);
  try {
    return await opened.inject(request);
  } finally {
    await opened.close();
  }
}
