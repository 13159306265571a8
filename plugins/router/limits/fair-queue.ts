export type Priority = 'high' | 'normal' | 'low';

const anybody = (): boolean => true;

const priorities: readonly Priority[] = ['high', 'normal', 'low'];

/** The requests of one workspace that wait, by class. */
interface Flow<T> {
  readonly weight: number;
  readonly waiting: Record<Priority, Set<T>>;
  size: number;
  /** Virtual time at which its next request may begin. */
  start: number;
  /** Virtual time at which what it had so far is paid for. */
  finish: number;
}

/**
 * Decides which request is next, of several workspaces that wait for one upstream: start-time fair queueing (Goyal, Vin and Cheng 1996).
 * While they wait, workspaces are served in proportion to their weights, however much each of them sends; one that
 * comes back has saved up nothing. Within a workspace, higher classes go first.
 */
export class FairQueue<T> {
  readonly #flows = new Map<string, Flow<T>>();
  /** Finishes of flows that wait for nothing now, as long as they lie ahead. */
  readonly #owed = new Map<string, number>();
  #virtual = 0;
  #size = 0;

  constructor(readonly weightOf: (workspace: string) => number) {}

  get size(): number {
    return this.#size;
  }

  /** How many of a workspace's own wait. */
  waiting(workspace: string): number {
    return this.#flows.get(workspace)?.size ?? 0;
  }

  /** How many would go before one more of this workspace, if no other request arrived. */
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

  /** Takes back one that waits no longer. */
  remove(item: T, workspace: string, priority: Priority): void {
    const flow = this.#flows.get(workspace);
    if (flow === undefined || !flow.waiting[priority].delete(item)) return;
    this.#taken(flow, workspace);
  }

  /** The next one, out of the queue; null: no request waits whose workspace may have one more. */
  next(mayGo: (workspace: string) => boolean = anybody): T | null {
    let first: Flow<T> | null = null;
    let name = '';
    for (const [workspace, flow] of this.#flows) {
      if ((first !== null && flow.start >= first.start) || !mayGo(workspace)) continue;
      first = flow;
      name = workspace;
    }
    if (first === null) return null;
    // One that could not go has saved up nothing either.
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
