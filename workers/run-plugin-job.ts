import { serialize } from 'node:v8';
import { workerData } from 'node:worker_threads';
import type { Pack } from '../src/common/plugin-host/files/pack.js';
import { runPack } from '../src/common/plugin-host/files/run.js';
import type { Plugin } from '../src/common/plugin-host/plugin.js';
import * as pluginApi from '../src/common/plugin-host/plugin-api.js';
import { lowerThreadPriority } from '../src/common/threads/thread-priority.js';

lowerThreadPriority();

const { pack } = workerData as { readonly pack: Pack };
let loaded: Promise<Plugin> | null = null;

/** Bytes of a result: the data worker reads it on its event loop. */
const maxResultBytes = 4 * 1024 * 1024;

/** Called by Piscina: runs a job of the plugin whose files the thread was given. Returns the result, written by `v8.serialize`. */
export default async function runPluginJob({
  job,
  data,
}: {
  job: string;
  data: unknown;
}): Promise<Uint8Array> {
  loaded ??= runPack(pack, pluginApi).then((exported) => exported['default'] as Plugin);
  const result = serialize(await (await loaded).jobs![job]!(data as never));
  if (result.length > maxResultBytes)
    throw new RangeError(
      `The result of the job ${job} has ${result.length} bytes; at most ${maxResultBytes} are allowed.`,
    );
  return result;
}
