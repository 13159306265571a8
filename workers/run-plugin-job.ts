import { workerData } from 'node:worker_threads';
import type { Pack } from '../src/common/plugin-host/files/pack.js';
import { runPack } from '../src/common/plugin-host/files/run.js';
import type { Plugin } from '../src/common/plugin-host/plugin.js';
import * as pluginApi from '../src/common/plugin-host/plugin-api.js';

const { pack } = workerData as { readonly pack: Pack };
let loaded: Promise<Plugin> | null = null;

/** Called by Piscina: runs a job of the plugin whose files the thread was given. */
export default async function runPluginJob({ job, data }: { job: string; data: unknown }): Promise<unknown> {
  loaded ??= runPack(pack, pluginApi).then((exported) => exported['default'] as Plugin);
  return (await loaded).jobs![job]!(data as never);
}
