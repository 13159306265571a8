import type { ChildProcess } from 'node:child_process';
import type { FromControl, MemoryOwner, WorkerMemory } from '../../common/ipc/messages.js';
import type { Metric } from '../../common/plugin-host/metrics.js';
import type { Logger } from '../../common/plugin-host/plugin.js';
import type { WorkerMember } from './worker-member.js';

/** Milliseconds between two replacements: memory that fills up faster is due to load. */
const pauseMs = 30_000;
/** Part of a worker's memory that a plugin must have allocated to be named. */
const suspiciousPart = 0.2;

const megabytes = (bytes: number): number => Math.round(bytes / 1024 / 1024);

/**
 * Replaces data workers that use too much memory, one at a time, before V8 ends them: when the new worker beside it is ready,
 * the old one accepts no more connections, finishes its requests, and exits.
 */
export class WorkerRenewal {
  #isBusy = false;
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
    if (!this.canShare || !isOver || member.retired || this.#isBusy || performance.now() < this.#notBefore)
      return;
    const used = megabytes(bytes);
    this.log.warn(
      { worker: member.number, megabytes: used, bound: megabytes(boundBytes) },
      `a data worker uses ${used} MB, more than HEADGATE_WORKER_MEMORY_MEGABYTES; replacing it`,
    );
    this.#isBusy = true;
    this.#renewals++;
    void this.#renew(member).finally(() => {
      this.#isBusy = false;
      this.#notBefore = performance.now() + pauseMs;
    });
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

  async #renew(member: WorkerMember): Promise<void> {
    try {
      await this.launch(this.#freeNumber());
    } catch (error) {
      this.log.error(
        { worker: member.number, err: error },
        'the replacement of a data worker did not start; the old one keeps serving',
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
