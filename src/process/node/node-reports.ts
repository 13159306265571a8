import { randomUUID } from 'node:crypto';
import { scheduler } from 'node:timers/promises';
import type { Metric } from '../../common/plugin-host/metrics.js';
import type { Logger } from '../../common/plugin-host/plugin.js';
import { RefusedStart } from '../../control-plane/store/files/refused-start.js';
import type { Node, NodeReport, NodeStart, NodeStore, OtherStart } from '../../control-plane/store/store.js';
import { isAway } from './away.js';

const everyMs = 1000;
/** Milliseconds without a report after which a node counts as dead; it reports once a second. */
const watchMs = 3500;
const lookMs = 250;
/** Reports between two counts of all nodes. */
const countEvery = 5;

export interface NodeReportsOptions extends Pick<NodeStart, 'id' | 'name' | 'version' | 'role' | 'place'> {
  readonly nodes: NodeStore;
  /** What is reported at the moment. */
  readonly now: () => NodeReport;
  /** This node may not go on: another has its id, or the store is too new for it. Called once. */
  readonly end: (reason: string) => void;
  readonly log: Logger;
}

/** This node's entry among the nodes of the deployment: claimed at the start, renewed every second. */
export class NodeReports {
  readonly start: NodeStart;
  #claimed = false;
  #timer: NodeJS.Timeout | null = null;
  /** Reports, one after the other. */
  #turn: Promise<void> = Promise.resolve();
  #waiting = false;
  #count = 0;
  #ended = false;
  #known: readonly Node[] = [];

  constructor(readonly options: NodeReportsOptions) {
    const { id, name, version, role, place } = options;
    this.start = { id, name, version, role, place, instance: randomUUID() };
  }

  /** Throws RefusedStart where a node that is alive has this one's id. Where the store is away, that is found out later. */
  async begin(): Promise<void> {
    try {
      await this.#claim();
    } catch (error) {
      if (!isAway(error)) throw error;
    }
    this.#timer = setInterval(() => this.reportSoon(), everyMs);
    this.#timer.unref();
  }

  async #claim(): Promise<void> {
    const { nodes } = this.options;
    const until = performance.now() + watchMs;
    let seen = await nodes.claim(this.start);
    while (seen !== null && performance.now() < until) {
      await scheduler.wait(lookMs);
      const next = await nodes.claim(this.start);
      if (next !== null && next.lastSeenAt !== seen.lastSeenAt) throw this.#taken(next);
      seen = next;
    }
    const winner = seen === null ? null : await nodes.claim(this.start, seen);
    if (winner !== null) throw this.#taken(winner);
    this.#claimed = true;
  }

  #taken({ name }: OtherStart): RefusedStart {
    return new RefusedStart(
      `The node ${name} runs with the id ${this.start.id} of this data directory, which is a copy of its own: give each node a directory of its own, or remove node-id and journal from this one.`,
    );
  }

  /** Reports now, unless a report is already waiting. */
  reportSoon(): void {
    if (this.#waiting) return;
    this.#waiting = true;
    this.#turn = this.#turn.then(() => {
      this.#waiting = false;
      return this.#report();
    });
  }

  async #report(): Promise<void> {
    if (this.#ended) return;
    const { nodes, now, log } = this.options;
    try {
      if (!this.#claimed) await this.#claim();
      const outcome = await nodes.report(this.start, now());
      if (outcome === 'missing') this.#claimed = false;
      const refusal =
        outcome === 'replaced'
          ? `Another process has taken the id ${this.start.id} of this node: its data directory was copied.`
          : await nodes.refusal();
      if (refusal !== null) this.#end(refusal);
      if (this.#count++ % countEvery === 0) this.#known = await nodes.list();
    } catch (error) {
      if (error instanceof RefusedStart) this.#end(error.message);
      // The store is away: the next report finds out whether it is back.
      else if (!isAway(error)) log.error({ err: error }, 'this node could not be reported');
    }
  }

  #end(reason: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.options.end(reason);
  }

  /** `gateway_nodes`: by state, as they were a few seconds ago. */
  metrics(): Metric[] {
    return (['up', 'draining', 'left', 'lost'] as const).map((state) => ({
      name: 'gateway_nodes',
      labels: { state },
      value: this.#known.filter((node) => node.state === state).length,
    }));
  }

  /** Reports that this node has left. */
  async leave(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#turn;
    if (!this.#claimed || this.#ended) return;
    this.#ended = true;
    const { nodes, now } = this.options;
    await nodes.report(this.start, { ...now(), state: 'left' }).catch((error: unknown) => {
      if (!isAway(error)) throw error;
    });
  }
}
