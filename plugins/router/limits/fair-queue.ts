export type Priority = 'high' | 'normal' | 'low';

const anybody = (): boolean => true;

const priorities: readonly Priority[] = ['high', 'normal', 'low'];

/** The waiting requests of one workspace, by class. */
interface Flow<T> {
  readonly weight: number;
  readonly waiting: Record<Priority, Set<T>>;
  size: number;
  /** Virtual time at which its next request may begin. */
  start: number;
  /** Virtual time at which its served requests are accounted for. */
  finish: number;
}

/**
 * Chooses the next request among workspaces that wait for one upstream: start-time fair queueing (Goyal, Vin and Cheng
 * 1996). While they wait, workspaces are served in proportion to their weights, however many requests each sends; one
 * that returns after a pause has no credit. Within a workspace, higher classes go first.
 */
export class FairQueue<T> {
  readonly #flows = new Map<string, Flow<T>>();
  /** Finish times of flows without waiting requests, while they are in the future. */
  readonly #owed = new Map<string, number>();
  #virtual = 0;
  #size = 0;

  constructor(readonly weightOf: (workspace: string) => number) {}

  get size(): number {
    return this.#size;
  }

  /** Number of a workspace's waiting requests. */
  waiting(workspace: string): number {
    return this.#flows.get(workspace)?.size ?? 0;
  }

  /** Number of requests that would be served before a further one of this workspace, if no others arrived. */
  ahead(workspace: string): number {
    let ahead = this.waiting(workspace);
    const turns = (ahead + 1) / this.weightOf(workspace);
    for (const [name, { size, weight }] of this.#flows) {
      if (name !== workspace) ahead += Math.min(size, Math.ceil(turns * weight));
    }
    return ahead;
  }

  add(item: T, workspace: string, priority: Priority): void {
    let flow = this.#flows.get(workspace);
    if (flow === undefined) {
      const finish = this.#owed.get(workspace) ?? 0;
      flow = {
        weight: this.weightOf(workspace),
        waiting: { high: new Set(), normal: new Set(), low: new Set() },
        size: 0,
        start: Math.max(this.#virtual, finish),
        finish,
      };
      this.#owed.delete(workspace);
      this.#flows.set(workspace, flow);
    }
    flow.waiting[priority].add(item);
    flow.size++;
    this.#size++;
  }

  /** Removes a request that no longer waits. */
  remove(item: T, workspace: string, priority: Priority): void {
    const flow = this.#flows.get(workspace);
    if (flow === undefined || !flow.waiting[priority].delete(item)) return;
    this.#taken(flow, workspace);
  }

  /** Removes and returns the next request; null: none waits whose workspace may have one more. */
  next(mayGo: (workspace: string) => boolean = anybody): T | null {
    let first: Flow<T> | null = null;
    let name = '';
    for (const [workspace, flow] of this.#flows) {
      if ((first !== null && flow.start >= first.start) || !mayGo(workspace)) continue;
      first = flow;
      name = workspace;
    }
    if (first === null) return null;
    // A flow that could not proceed gets no credit either.
    this.#virtual = Math.max(this.#virtual, first.start);
    first.finish = this.#virtual + 1 / first.weight;
    first.start = first.finish;
    for (const priority of priorities) {
      for (const item of first.waiting[priority]) {
        first.waiting[priority].delete(item);
        this.#taken(first, name);
        return item;
      }
    }
    return null;
  }

  #taken(flow: Flow<T>, workspace: string): void {
    flow.size--;
    this.#size--;
    if (flow.size > 0) return;
    this.#flows.delete(workspace);
    if (this.#size === 0) this.#owed.clear();
    else if (flow.finish > this.#virtual) this.#owed.set(workspace, flow.finish);
  }
}
