import { type HeapProfiler, Session } from 'node:inspector';
import type { MemoryOwner } from '../../../common/ipc/messages.js';
import type { InsertedPlugin } from '../../../common/plugin-host/files/inserted.js';

/** Bytes of allocation between two samples: so many that sampling has no measurable cost. */
const everyBytes = 256 * 1024;

/** Samples the heap to find the plugins whose code allocated memory that is still in use. */
export class HeapOwners {
  #session: Session | null = null;
  /** By path of a file. */
  readonly #plugins = new Map<string, string>();

  /** Adds plugins that run, or will run. */
  addPlugins(insert: readonly InsertedPlugin[]): void {
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

  /**
   * Owners of memory that was allocated since `start` and is still in use, largest first. Collects all garbage before, so it
   * is not for a worker that serves.
   */
  owners(): MemoryOwner[] {
    const bytes = new Map<string, number>();
    // A session in its own thread calls back before `post` returns.
    this.#session?.post('HeapProfiler.getSamplingProfile', (error, found) => {
      if (error === null) this.#add(found.profile.head, bytes);
    });
    return [...bytes]
      .map(([plugin, sum]): MemoryOwner => ({ plugin, bytes: sum }))
      .sort((a, b) => b.bytes - a.bytes);
  }

  /** Each sample counts for the plugin of the nearest calling function. */
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
