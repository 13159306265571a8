import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { RestAnswer, RestRequest } from '../admin/rest/request.js';
import type { Explained, ToExplain } from '../core/explained.js';
import type {
  Dropped,
  Forget,
  FromControl,
  FromWorker,
  LookupKind,
  LookupRecords,
  WorkerInit,
} from '../core/messages.js';
import type { Metric } from '../core/metrics.js';
import type { Logger } from '../core/plugin.js';
import { Desk } from '../shared/desk.js';
import { AdminRelay } from './admin-relay.js';

export interface WorkerGroupOptions {
  readonly count: number;
  /** Asked when a worker's process is up; it may take as long as the store takes to open. */
  readonly init: (worker: number) => Promise<WorkerInit>;
  readonly lookup: (
    kind: LookupKind,
    workspace: string | null,
    name: string,
  ) => Promise<LookupRecords[LookupKind] | null>;
  /** Answers a request of the administration plane that a worker was sent. */
  readonly admin: (request: RestRequest) => Promise<RestAnswer>;
  /** A worker's process was forked. */
  readonly forked: (pid: number) => void;
  /** A worker's process has ended, for whatever reason. */
  readonly gone: (worker: number, pid: number) => void;
  readonly log: Logger;
}

interface Member {
  readonly number: number;
  child: ChildProcess;
  ready: boolean;
  lastBeat: number;
  loopDelayMs: number;
  inFlight: number;
  dropped: Dropped;
  metrics: readonly Metric[];
  /** Has it asked for anything? One that has not knows nothing that it could have to forget. */
  asked: boolean;
  /** Monotonic milliseconds at which it was started, to slow down one that keeps dying at once. */
  startedAt: number;
}

export interface WorkerReport
  extends Pick<Member, 'ready' | 'inFlight' | 'loopDelayMs' | 'dropped' | 'metrics'> {
  readonly worker: number;
  readonly pid: number;
}

/** A worker that says nothing for this long is taken for stuck and replaced. */
const silentMs = 15_000;
/** A worker that explains nothing for this long is not waited for. */
const explainMs = 5000;
/** A write waits for every worker to forget; one that takes longer is replaced by one that never knew. */
const forgetMs = 3000;

/** The data workers: started, watched, started again when one dies, told what to forget, drained. */
export class WorkerGroup {
  readonly #members = new Map<number, Member>();
  readonly #acks = new Map<number, { left: Set<ChildProcess>; done: () => void }>();
  readonly #explaining = new Map<number, (value: Explained | null) => void>();
  #nextForget = 1;
  /** What is about to be told, all in one message, and when all have forgotten it. */
  #forgetting: { readonly what: Forget[]; readonly told: Promise<void> } | null = null;
  #nextExplained = 1;
  #port = 0;
  #settled: Promise<number> = Promise.resolve(0);
  #stopping = false;
  #watch: NodeJS.Timeout | null = null;

  /** What the workers share. */
  readonly shared: Desk;

  constructor(readonly options: WorkerGroupOptions) {
    this.shared = new Desk((message) => {
      for (const { child } of this.#members.values()) this.#send(child, message);
    }, options.log);
  }

  /** Resolves with the port once every worker listens; rejects with the first one's reason why it cannot. */
  async start(): Promise<number> {
    const first = this.#launch(0);
    // The first worker settles the port, should it be 0; the others share it.
    this.#settled = first.then((port) => {
      this.#port = port;
      return port;
    });
    const others = Array.from({ length: this.options.count - 1 }, (_, i) => this.#launch(i + 1));
    await Promise.all([this.#settled, ...others]);
    this.#watch = setInterval(() => this.#replaceSilent(), 1000);
    this.#watch.unref();
    return this.#port;
  }

  #launch(number: number): Promise<number> {
    const child = fork(fileURLToPath(new URL('./data-worker.js', import.meta.url)), [], {
      // Bytes of the administration cross as they are: as base64 in JSON they cost each process three times as much.
      serialization: 'advanced',
      // Node's code on large pages: the way of a request is long, and finding its code in memory is a tenth of its cost.
      execArgv: ['--disable-proto=delete', '--use-largepages=silent'],
    });
    if (child.pid !== undefined) this.options.forked(child.pid);
    const member: Member = {
      number,
      child,
      ready: false,
      lastBeat: performance.now(),
      loopDelayMs: 0,
      inFlight: 0,
      dropped: { records: 0, bodies: 0 },
      metrics: [],
      asked: false,
      startedAt: performance.now(),
    };
    this.#members.set(number, member);
    const relay = new AdminRelay(
      (message) => this.#send(child, message),
      this.options.admin,
      this.options.log,
    );
    return new Promise((resolve, reject) => {
      child.on('message', (message: FromWorker) => {
        member.lastBeat = performance.now();
        switch (message.t) {
          case 'up':
            this.#initialise(child, number).catch(reject);
            break;
          case 'ready':
            member.ready = true;
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
            this.shared.take(message, number, (answer) => this.#send(child, answer));
            break;
          case 'forgot':
            this.#acknowledge(message.id, child);
            break;
          case 'explained':
            this.#explaining.get(message.id)?.(message.value);
            break;
          case 'beat':
            member.loopDelayMs = message.loopDelayMs;
            member.inFlight = message.inFlight;
            member.dropped = message.dropped;
            member.metrics = message.metrics;
            break;
        }
      });
      child.on('error', reject);
      child.on('exit', (code, signal) => {
        relay.closeAll();
        reject(new Error(`data worker ${number} ended before it was ready (${signal ?? code})`));
        this.#exited(member, child, code, signal);
      });
    });
  }

  async #initialise(child: ChildProcess, number: number): Promise<void> {
    const init = await this.options.init(number);
    const port = init.port === 0 && (number > 0 || this.#port !== 0) ? await this.#settled : init.port;
    this.#send(child, { t: 'init', init: { ...init, port } });
  }

  #exited(member: Member, child: ChildProcess, code: number | null, signal: NodeJS.Signals | null): void {
    member.ready = false;
    // A dead worker remembers nothing: whoever waits for its acknowledgement has it.
    for (const id of [...this.#acks.keys()]) this.#acknowledge(id, child);
    if (child.pid !== undefined) this.options.gone(member.number, child.pid);
    if (this.#stopping) return;
    this.options.log.error({ worker: member.number, code, signal }, 'a data worker died; starting another');
    const lived = performance.now() - member.startedAt;
    setTimeout(
      () => {
        if (this.#stopping) return;
        this.#launch(member.number).catch((error: unknown) => {
          this.options.log.error({ worker: member.number, err: error }, 'data worker did not start');
        });
      },
      lived < 1000 ? 500 : 0,
    );
  }

  #lookup(child: ChildProcess, message: Extract<FromWorker, { t: 'lookup' }>): void {
    this.options.lookup(message.kind, message.workspace, message.name).then(
      (value) => this.#send(child, { t: 'answer', id: message.id, value }),
      (error: unknown) => {
        this.options.log.error({ err: error, kind: message.kind }, 'lookup failed');
        this.#send(child, { t: 'failed', id: message.id });
      },
    );
  }

  /**
   * Resolves when every live worker has forgotten: from then on none answers by what it knew before. A worker that does
   * not say so in time is killed, which is another way of forgetting.
   */
  forget(what: readonly Forget[]): Promise<void> {
    if (this.#forgetting === null) {
      const all: Forget[] = [];
      // Changes that shared a commit come here one right after the other.
      const told = Promise.resolve().then(() => {
        this.#forgetting = null;
        return this.#tell(all);
      });
      this.#forgetting = { what: all, told };
    }
    this.#forgetting.what.push(...what);
    return this.#forgetting.told;
  }

  #tell(what: Forget[]): Promise<void> {
    const id = this.#nextForget++;
    const left = new Set<ChildProcess>();
    for (const { child, asked } of this.#members.values()) {
      if (this.#send(child, { t: 'forget', id, what }) && asked) left.add(child);
    }
    if (left.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const late = setTimeout(() => this.#replace(left), forgetMs);
      const done = (): void => {
        clearTimeout(late);
        resolve();
      };
      this.#acks.set(id, { left, done });
    });
  }

  /** What would become of a request, by what one of the workers knows now; null: none can tell. */
  explain(asked: ToExplain): Promise<Explained | null> {
    const id = this.#nextExplained++;
    const member = [...this.#members.values()].find(({ ready }) => ready);
    if (member === undefined || !this.#send(member.child, { t: 'explain', id, asked })) {
      return Promise.resolve(null);
    }
    return new Promise((resolve) => {
      const done = (value: Explained | null): void => {
        clearTimeout(late);
        this.#explaining.delete(id);
        resolve(value);
      };
      const late = setTimeout(() => done(null), explainMs);
      this.#explaining.set(id, done);
    });
  }

  #replace(late: ReadonlySet<ChildProcess>): void {
    for (const { number, child } of this.#members.values()) {
      if (!late.has(child)) continue;
      this.options.log.error({ worker: number }, 'a data worker did not confirm a change; replacing it');
      child.kill('SIGKILL');
    }
  }

  #acknowledge(id: number, child: ChildProcess): void {
    const waiting = this.#acks.get(id);
    if (waiting === undefined || !waiting.left.delete(child) || waiting.left.size > 0) return;
    this.#acks.delete(id);
    waiting.done();
  }

  #send(child: ChildProcess, message: FromControl): boolean {
    if (!child.connected) return false;
    child.send(message, () => {});
    return true;
  }

  #replaceSilent(): void {
    const now = performance.now();
    for (const member of this.#members.values()) {
      // One that hangs while it starts counts too.
      if (now - member.lastBeat < silentMs || member.child.exitCode !== null) continue;
      this.options.log.error({ worker: member.number }, 'a data worker went silent; replacing it');
      member.child.kill('SIGKILL');
    }
  }

  get ready(): number {
    let count = 0;
    for (const member of this.#members.values()) if (member.ready) count++;
    return count;
  }

  /** Per worker, for the readiness report and for tests. */
  report(): WorkerReport[] {
    return [...this.#members.values()].map(
      ({ number, child, ready, inFlight, loopDelayMs, dropped, metrics }) => ({
        worker: number,
        pid: child.pid ?? 0,
        ready,
        inFlight,
        loopDelayMs,
        dropped,
        metrics,
      }),
    );
  }

  /** Lets every worker finish what it has, up to the deadline; then ends it. */
  async stop(deadlineMs: number): Promise<void> {
    this.#stopping = true;
    if (this.#watch !== null) clearInterval(this.#watch);
    await Promise.all(
      [...this.#members.values()].map(
        ({ child }) =>
          new Promise<void>((resolve) => {
            if (child.exitCode !== null || child.signalCode !== null) return resolve();
            const kill = setTimeout(() => child.kill('SIGKILL'), deadlineMs + 2000);
            child.once('exit', () => {
              clearTimeout(kill);
              resolve();
            });
            this.#send(child, { t: 'drain', deadlineMs });
          }),
      ),
    );
  }

  /** Ends every worker now. */
  kill(): void {
    this.#stopping = true;
    for (const { child } of this.#members.values()) child.kill('SIGKILL');
  }
}
