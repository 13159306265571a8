import type { ChildProcess } from 'node:child_process';
import type { Explained, ToExplain } from '../../common/ipc/explained.js';
import type {
  Forget,
  FromControl,
  FromWorker,
  LookupKind,
  LookupRecords,
  WorkerInit,
} from '../../common/ipc/messages.js';
import type { Logger } from '../../common/plugin-host/plugin.js';
import type { RestAnswer, RestRequest } from '../../control-plane/administration/rest/request.js';
import { SharedStateServer } from '../../control-plane/shared-state/server.js';
import { AdminRelay } from './admin-relay.js';
import { Explaining } from './explaining.js';
import { Forgetting } from './forgetting.js';
import { WorkerPlugins } from './plugins/worker-plugins.js';
import { newMember, reportOf, stopMember, type WorkerMember, type WorkerReport } from './worker-member.js';
import { forkWorker, notStarted, restartDelay } from './worker-process.js';
import { WorkerRenewal } from './worker-renewal.js';

export interface WorkerGroupOptions {
  readonly count: number;
  /** Starts a worker's process; `forkWorker` unless given. */
  readonly fork?: () => ChildProcess;
  readonly log: Logger;
  /** Can two workers listen on the port at the same time? Absent: yes. */
  readonly canShare?: boolean;
}

/** What the control process does for workers. */
export interface WorkerService {
  /** The settings that a worker needs to serve. */
  readonly init: (worker: number) => WorkerInit;
  readonly lookup: (
    kind: LookupKind,
    workspace: string | null,
    name: string,
  ) => Promise<LookupRecords[LookupKind] | null>;
  /** Answers an administration request that a worker received. */
  readonly admin: (request: RestRequest) => Promise<RestAnswer>;
}

/** A worker that sends nothing for this long is considered stuck and replaced. */
const silentMs = 15_000;
/** Milliseconds; a worker that does not serve this long after it got its settings is replaced. */
const readyMs = 60_000;

/**
 * Starts, watches, restarts and drains the data workers. `fork` starts their processes, which load
 * their code meanwhile; `serve` sends them their settings, once the control process has them.
 */
export class WorkerGroup {
  readonly #members = new Map<number, WorkerMember>();
  readonly #forgetting = new Forgetting(
    (id, what) => this.#sendForget(id, what),
    (late) => this.#replace(late),
  );
  readonly #explaining = new Explaining((child, message) => this.#send(child, message));
  /** Successive starts, by worker, that failed before serving or shortly after. */
  readonly #failures = new Map<number, number>();
  readonly #forked: ((pid: number) => void)[] = [];
  readonly #gone: ((worker: number, pid: number) => void)[] = [];
  /** Monotonic milliseconds until which failed lookups are not logged. */
  #quietUntil = 0;
  #service: WorkerService | null = null;
  #started = false;
  #port = 0;
  #settled: Promise<number> = Promise.resolve(0);
  #listening: Promise<unknown> = Promise.resolve();
  #stopping = false;
  #leaving = false;
  #watch: NodeJS.Timeout | null = null;

  /** What the workers share. */
  readonly shared: SharedStateServer;
  readonly plugins: WorkerPlugins;
  readonly renewal: WorkerRenewal;

  constructor(readonly options: WorkerGroupOptions) {
    this.shared = new SharedStateServer((message) => {
      for (const { child } of this.#members.values()) this.#send(child, message);
    }, options.log);
    this.plugins = new WorkerPlugins(
      (child, message) => this.#send(child, message),
      this.#members,
      options.log,
    );
    this.renewal = new WorkerRenewal(
      this.#members,
      (number) => this.#launch(number, true),
      (child, message) => this.#send(child, message),
      options.log,
      options.canShare,
    );
  }

  /** Calls the listener with the process id of each worker that is forked from now on. */
  onForked(listener: (pid: number) => void): void {
    this.#forked.push(listener);
  }

  /** Calls the listener when a worker's process has ended, for whatever reason. */
  onGone(listener: (worker: number, pid: number) => void): void {
    this.#gone.push(listener);
  }

  /** Starts the workers' processes. `serve` reports failures. */
  fork(): void {
    const first = this.#launch(0);
    // The first worker determines the port if it is 0; the others share it.
    this.#settled = first.then((port) => {
      this.#port = port;
      return port;
    });
    const others = Array.from({ length: this.options.count - 1 }, (_, i) => this.#launch(i + 1));
    this.#listening = Promise.all([this.#settled, ...others]);
    this.#listening.catch(() => {});
  }

  /** Resolves with the port once every worker listens; rejects with the reason of the first failure. */
  async serve(service: WorkerService): Promise<number> {
    this.#service = service;
    for (const member of this.#members.values()) if (member.up) this.#initialise(member, service);
    await this.#listening;
    this.#started = true;
    this.#watch = setInterval(() => this.#replaceSilent(), 1000);
    this.#watch.unref();
    return this.#port;
  }

  /** Resolves with the port once the worker listens; rejects when it ends before. */
  #launch(number: number, isExtra = false): Promise<number> {
    let child: ChildProcess;
    try {
      child = (this.options.fork ?? forkWorker)();
    } catch (error) {
      if (!isExtra) this.#restart(number, 0);
      return Promise.reject(notStarted(error as Error));
    }
    if (child.pid !== undefined) for (const listener of this.#forked) listener(child.pid);
    const member = newMember(number, child, isExtra);
    this.#members.set(number, member);
    const relay = new AdminRelay(
      (message) => this.#send(child, message),
      (request) => this.#serving().admin(request),
      this.options.log,
    );
    this.plugins.started(member);
    return new Promise((resolve, reject) => {
      child.on('message', (message: FromWorker) => {
        member.lastBeat = performance.now();
        switch (message.t) {
          case 'up':
            member.up = true;
            if (this.#service !== null) this.#initialise(member, this.#service);
            break;
          case 'ready':
            member.ready = true;
            member.isExtra = false;
            this.plugins.ready(member, () => this.#serving().init(number).plugins.insert);
            if (this.#leaving) this.#send(child, { t: 'announce-drain' });
            resolve(message.port);
            break;
          case 'failed':
            reject(new Error(message.message));
            break;
          case 'lookup':
            member.asked = true;
            this.#lookup(child, message);
            break;
          case 'admin':
          case 'admin-body':
          case 'admin-more':
          case 'admin-gone':
            relay.take(message);
            break;
          case 'shared-question':
          case 'shared-news':
            // Node may pass on a process's last messages after its end; then nothing would undo them.
            if (member.ended) break;
            this.shared.take(message, number, (answer) => this.#send(child, answer));
            break;
          case 'forgot':
            this.#forgetting.confirmed(message.id, child);
            break;
          case 'plugins-ready':
          case 'plugins-bring':
            this.plugins.take(message);
            break;
          case 'memory-owners':
            this.renewal.logOwners(member, message.owners);
            break;
          case 'explained':
            this.#explaining.answered(message.id, message.value);
            break;
          case 'beat':
            member.loopDelayMs = message.loopDelayMs;
            member.inFlight = message.inFlight;
            member.dropped = message.dropped;
            member.metrics = message.metrics;
            this.renewal.onReport(member, message.memory);
            break;
        }
      });
      child.on('error', (error) => {
        // For a running process this is only a message that could not be sent.
        if (child.pid !== undefined) return;
        reject(notStarted(error));
        this.#exited(member, null, null);
      });
      child.on('exit', (code, signal) => {
        relay.closeAll();
        reject(new Error(`data worker ${number} ended before it was ready (${signal ?? code})`));
        this.#exited(member, code, signal);
      });
    });
  }

  #initialise(member: WorkerMember, service: WorkerService): void {
    const { number, child } = member;
    const init = { ...service.init(number), isFirst: !this.#started };
    this.plugins.initialised(member);
    const send = (port: number): void => {
      member.initialisedAt = performance.now();
      this.#send(child, { t: 'init', init: { ...init, port } });
    };
    if (init.port !== 0 || (number === 0 && this.#port === 0)) send(init.port);
    else this.#settled.then(send, () => child.kill('SIGKILL'));
  }

  #serving(): WorkerService {
    if (this.#service === null) throw new Error('a worker asked before it was served');
    return this.#service;
  }

  #exited(member: WorkerMember, code: number | null, signal: NodeJS.Signals | null): void {
    if (member.ended) return;
    const { number, child, ready: served } = member;
    member.ended = true;
    member.ready = false;
    member.inFlight = 0;
    // A dead worker remembers nothing: that counts as its acknowledgement.
    this.#forgetting.ended(child);
    this.plugins.ended(child);
    if (child.pid !== undefined) for (const listener of this.#gone) listener(number, child.pid);
    // Its replacement, which is being started, already takes its place.
    const successor = this.renewal.successorOf(member);
    if (successor !== null) successor.isExtra = false;
    const isReplaced = member.retired || successor !== null;
    if (isReplaced || member.isExtra) this.#members.delete(number);
    if (this.#stopping || member.isExtra || (member.retired && code === 0)) return;
    const what = isReplaced ? 'a data worker that was replaced died' : 'a data worker died; starting another';
    this.options.log.error({ worker: number, code, signal }, what);
    if (isReplaced) return;
    this.#restart(number, served ? performance.now() - member.startedAt : 0);
  }

  /** Starts a worker again, for as long as the gateway runs. `servedMs`: how long the last one lived; 0: it never served. */
  #restart(number: number, servedMs: number): void {
    // A failure of the gateway's start is reported by `serve`, which ends it.
    if (this.#stopping || (!this.#started && servedMs === 0)) return;
    const failures = servedMs >= 1000 ? 0 : (this.#failures.get(number) ?? 0) + 1;
    this.#failures.set(number, failures);
    setTimeout(
      () => {
        if (this.#stopping) return;
        this.#launch(number).catch((error: unknown) => {
          this.options.log.error({ worker: number, err: error }, 'data worker did not start');
        });
      },
      restartDelay(failures, Math.random()),
    ).unref();
  }

  #lookup(child: ChildProcess, message: Extract<FromWorker, { t: 'lookup' }>): void {
    this.#serving()
      .lookup(message.kind, message.workspace, message.name)
      .then(
        (value) => this.#send(child, { t: 'answer', id: message.id, value }),
        (error: unknown) => {
          this.#logFailedLookup(error, message.kind);
          this.#send(child, { t: 'failed', id: message.id });
        },
      );
  }

  /** Once in ten seconds: while the store is unavailable, every request for an unknown key fails. */
  #logFailedLookup(error: unknown, kind: LookupKind): void {
    const now = performance.now();
    if (now < this.#quietUntil) return;
    this.#quietUntil = now + 10_000;
    this.options.log.error({ err: error, kind }, 'lookup failed');
  }

  /**
   * Resolves when every live worker has forgotten: from then on none answers from what it remembered before. A worker
   * that does not confirm in time is killed, which has the same effect.
   */
  forget(what: readonly Forget[]): Promise<void> {
    return this.#forgetting.forget(what);
  }

  /** Returns the workers that have to confirm. */
  #sendForget(id: number, what: readonly Forget[]): Set<ChildProcess> {
    const left = new Set<ChildProcess>();
    for (const { child, asked } of this.#members.values()) {
      if (this.#send(child, { t: 'forget', id, what: [...what] }) && asked) left.add(child);
    }
    return left;
  }

  /** What would happen to a request, by the present state of one of the workers; null: none can answer. */
  explain(asked: ToExplain): Promise<Explained | null> {
    return this.#explaining.ask(
      [...this.#members.values()].find(({ ready, retired }) => ready && !retired)?.child,
      asked,
    );
  }

  #replace(late: ReadonlySet<ChildProcess>): void {
    for (const { number, child } of this.#members.values()) {
      if (!late.has(child)) continue;
      this.options.log.error({ worker: number }, 'a data worker did not confirm a change; replacing it');
      child.kill('SIGKILL');
    }
  }

  #send(child: ChildProcess, message: FromControl): boolean {
    if (!child.connected) return false;
    child.send(message, () => {});
    return true;
  }

  #replaceSilent(): void {
    const now = performance.now();
    for (const member of this.#members.values()) {
      const { ended, ready, lastBeat, initialisedAt } = member;
      // Includes a worker that hangs during its start.
      const isLate = !ready && initialisedAt !== null && now - initialisedAt >= readyMs;
      if (ended || (now - lastBeat < silentMs && !isLate)) continue;
      this.options.log.error({ worker: member.number }, 'a data worker went silent; replacing it');
      member.child.kill('SIGKILL');
    }
  }

  /** Requests that are being answered, as far as the workers have reported. */
  get inFlight(): number {
    let count = 0;
    for (const member of this.#members.values()) count += member.inFlight;
    return count;
  }

  get ready(): number {
    let count = 0;
    for (const { ready, retired } of this.#members.values()) if (ready && !retired) count++;
    return count;
  }

  /** Per worker, for the readiness report and for tests. */
  report(): WorkerReport[] {
    return [...this.#members.values()].filter(({ retired }) => !retired).map(reportOf);
  }

  /** Will the workers be drained soon? Then other nodes should get new calls. */
  get leaving(): boolean {
    return this.#leaving || this.#stopping;
  }

  /** From now on answers close their connections, so that clients reconnect to other nodes. */
  announceDrain(): void {
    this.#leaving = true;
    for (const { child } of this.#members.values()) this.#send(child, { t: 'announce-drain' });
  }

  /** Lets every worker finish its requests until the deadline, then ends it. */
  async stop(deadlineMs: number): Promise<void> {
    this.#stopping = true;
    this.renewal.stop();
    if (this.#watch !== null) clearInterval(this.#watch);
    const stopped = [...this.#members.values()].map((member) =>
      stopMember(member, deadlineMs, () => this.#send(member.child, { t: 'drain', deadlineMs })),
    );
    await Promise.all(stopped);
  }

  /** Ends every worker now. */
  kill(): void {
    this.#stopping = true;
    for (const { child } of this.#members.values()) child.kill('SIGKILL');
  }
}
