import type { ChildProcess } from 'node:child_process';
import type { FromControl, MemoryOwner, WorkerMemory } from '../../common/ipc/messages.js';
import type { Metric } from '../../common/plugin-host/metrics.js';
import type { Logger } from '../../common/plugin-host/plugin.js';
import type { WorkerMember } from './worker-member.js';

/** Milliseconds between two replacements: memory that fills up faster is due to load. */
const pauseMs = 30_000;
/** Most replaced workers that may still have requests: as many as serve, but at least this many. Each keeps its memory until it ends. */
const leastRetired = 2;
/** Part of a worker's memory that a plugin must have allocated to be named. */
const suspiciousPart = 0.2;

const megabytes = (bytes: number): number => Math.round(bytes / 1024 / 1024);

/**
 * Replaces data workers that use too much memory, one at a time, before V8 ends them: when the new worker beside it is ready,
 * the old one accepts no more connections, finishes its requests, and exits.
 */
export class WorkerRenewal {
  /** The worker that is being replaced, and the number of its replacement. */
  #current: { readonly member: WorkerMember; readonly number: number } | null = null;
  #isOver = false;
  #notBefore = 0;
  #renewals = 0;
  readonly #suspected = new Map<string, number>();

  /** `launch` starts a worker and resolves when it serves. */
  constructor(
    readonly members: ReadonlyMap<number, WorkerMember>,
    readonly launch: (number: number) => Promise<unknown>,
    readonly send: (child: ChildProcess, message: FromControl) => boolean,
    readonly log: Logger,
    /** Can two workers listen on the port at the same time? */
    readonly canShare = true,
  ) {}

  /** Handles the report of a worker. */
  onReport(member: WorkerMember, { bytes, boundBytes, isOver }: WorkerMemory): void {
    member.memoryBytes = bytes;
    if (!this.canShare || this.#isOver || !isOver || member.retired || this.#current !== null) return;
    if (performance.now() < this.#notBefore || !this.#hasRoom()) return;
    const used = megabytes(bytes);
    this.log.warn(
      { worker: member.number, megabytes: used, bound: megabytes(boundBytes) },
      `a data worker uses ${used} MB, more than HEADGATE_WORKER_MEMORY_MEGABYTES; replacing it`,
    );
    const number = this.#freeNumber();
    this.#current = { member, number };
    this.#renewals++;
    void this.#renew(member, number).finally(() => {
      this.#current = null;
      this.#notBefore = performance.now() + pauseMs;
    });
  }

  /** The replacement that is being started for this worker; null: none. */
  successorOf(member: WorkerMember): WorkerMember | null {
    if (this.#current?.member !== member) return null;
    return this.members.get(this.#current.number) ?? null;
  }

  /** From now on no worker is replaced. */
  stop(): void {
    this.#isOver = true;
  }

  #hasRoom(): boolean {
    const retired = [...this.members.values()].filter((one) => one.retired).length;
    return retired < Math.max(leastRetired, this.members.size - retired);
  }

  /** Logs the plugins that allocated the memory of a replaced worker. */
  logOwners({ number, memoryBytes }: WorkerMember, owners: readonly MemoryOwner[]): void {
    const names = owners
      .filter((one) => one.bytes > memoryBytes * suspiciousPart)
      .map(({ plugin }) => plugin);
    for (const name of names) this.#suspected.set(name, (this.#suspected.get(name) ?? 0) + 1);
    const plugins = owners.map(({ plugin, bytes }) => ({ plugin, megabytes: megabytes(bytes) }));
    const used = `the ${megabytes(memoryBytes)} MB of the data worker that was replaced`;
    if (names.length === 0)
      this.log.info({ worker: number, plugins }, `no plugin has allocated much of ${used}`);
    else
      this.log.warn(
        { worker: number, plugins },
        `the plugin ${names.join(' and ')} has allocated much of ${used}`,
      );
  }

  async #renew(member: WorkerMember, number: number): Promise<void> {
    try {
      await this.launch(number);
    } catch (error) {
      this.log.error(
        { worker: member.number, err: error },
        `the replacement of a data worker did not start${member.ended ? '' : '; the old one keeps serving'}`,
      );
      return;
    }
    if (member.ended) return;
    member.retired = true;
    this.send(member.child, { t: 'retire' });
  }

  /** Shared counters are kept by the number of the worker, so the two need different ones. */
  #freeNumber(): number {
    let number = 0;
    while (this.members.has(number)) number++;
    return number;
  }

  metrics(): Metric[] {
    return [
      { name: 'gateway_worker_renewals_total', labels: {}, value: this.#renewals },
      ...[...this.#suspected].map(([plugin, value]) => ({
        ...{ name: 'gateway_plugin_memory_suspected_total', labels: { plugin }, value },
      })),
    ];
  }
}
