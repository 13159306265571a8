import { type HeapProfiler, Session } from 'node:inspector';
import type { MemoryOwner } from '../../../common/ipc/messages.js';
import type { InsertedPlugin } from '../../../common/plugin-host/files/inserted.js';

/** Bytes of allocation between two samples: so rarely that it costs nothing that can be measured. */
const everyBytes = 256 * 1024;

/** Samples the heap: which plugins’ code has allocated what is still in use? */
export class HeapOwners {
  #session: Session | null = null;
  /** By path of a file. */
  readonly #plugins = new Map<string, string>();

  /** Plugins that run, or will. */
  know(insert: readonly InsertedPlugin[]): void {
    for (const { name, pack } of insert)
      for (const { path } of pack?.files ?? []) this.#plugins.set(path, name);
  }

  start(): void {
    if (this.#session !== null || this.#plugins.size === 0) return;
    this.#session = new Session();
    this.#session.connect();
    this.#session.post('HeapProfiler.startSampling', { samplingInterval: everyBytes }, () => {});
  }

  stop(): void {
    this.#session?.disconnect();
    this.#session = null;
  }

  /** Of what was allocated since `start` and is still in use; those with the most first. Collects all garbage before: not for a worker that serves. */
  owners(): MemoryOwner[] {
    const bytes = new Map<string, number>();
    // The calls of a session in its own thread are answered before they return.
    this.#session?.post('HeapProfiler.getSamplingProfile', (error, found) => {
      if (error === null) this.#add(found.profile.head, bytes);
    });
    return [...bytes]
      .map(([plugin, sum]): MemoryOwner => ({ plugin, bytes: sum }))
      .sort((a, b) => b.bytes - a.bytes);
  }

  /** Each sample counts for the plugin whose function is nearest to it. */
  #add(head: HeapProfiler.SamplingHeapProfileNode, bytes: Map<string, number>): void {
    const open: { readonly node: HeapProfiler.SamplingHeapProfileNode; readonly within: string | null }[] = [
      { node: head, within: null },
    ];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { node } = next;
      const plugin = this.#plugins.get(node.callFrame.url) ?? next.within;
      if (plugin !== null && node.selfSize > 0) bytes.set(plugin, (bytes.get(plugin) ?? 0) + node.selfSize);
      for (const child of node.children) open.push({ node: child, within: plugin });
    }
  }
}
