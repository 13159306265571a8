import type { Logger } from '../../common/plugin-host/plugin.js';
import { exitProcess } from './exit.js';

/** One Ctrl-C may arrive twice: from the terminal, and passed on by npm. Milliseconds. */
const sameSignalMs = 1000;
/** Milliseconds until the message: workers report their requests as soon as they drain, so the number is current. */
const reportMs = 200;

export interface SignalOptions {
  /** Before `stop` on SIGTERM: resolves when other nodes have taken over new calls. */
  readonly leave: () => Promise<void>;
  /** Drains and ends everything; the same promise however often it is called. */
  readonly stop: () => Promise<void>;
  /** Ends the data workers at once, with their unfinished answers. */
  readonly cut: () => void;
  /** Requests that are being answered. */
  readonly inFlight: () => number;
  /** How long requests have to end. Milliseconds. */
  readonly drainTimeoutMs: number;
  readonly log: Logger;
}

/**
 * The first SIGTERM, SIGINT or SIGHUP drains, then the process exits with 0; a second SIGTERM or SIGINT cuts off the
 * rest. A second SIGHUP does not, since a terminal that closes sends it after a Ctrl-C.
 */
export function stopBySignal(options: SignalOptions): void {
  let stoppingSince: number | null = null;
  const signalled = (signal: NodeJS.Signals): void => {
    if (stoppingSince === null) {
      stoppingSince = performance.now();
      // A person who presses Ctrl-C has no load balancer to wait for.
      const left = signal === 'SIGTERM' ? options.leave() : Promise.resolve();
      left
        .then(() => stopReporting(signal, options))
        .then(
          () => exitProcess(exitCode(0)),
          () => exitProcess(exitCode(1)),
        );
      return;
    }
    if (signal === 'SIGHUP' || performance.now() - stoppingSince < sameSignalMs) return;
    options.cut();
    exitProcess(exitCode(0));
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, signalled);
}

function stopReporting(signal: NodeJS.Signals, options: SignalOptions): Promise<void> {
  const done = reportRequests(options.inFlight, (requests) => reportWaiting(signal, requests, options));
  return options.stop().finally(done);
}

/** Calls `report` once, as soon as there are requests in flight. The returned function ends that. */
export function reportRequests(
  inFlight: () => number,
  report: (requests: number) => void,
  everyMs = reportMs,
): () => void {
  const timer = setInterval(() => {
    const requests = inFlight();
    if (requests === 0) return;
    clearInterval(timer);
    report(requests);
  }, everyMs);
  return () => clearInterval(timer);
}

/** The exit code that an unexpected failure has set, if any. */
const exitCode = (otherwise: number): number => Number(process.exitCode ?? otherwise);

/** A sentence on standard error for Ctrl-C; a log line for the other signals. */
function reportWaiting(
  signal: NodeJS.Signals,
  requests: number,
  { drainTimeoutMs, log }: SignalOptions,
): void {
  if (signal !== 'SIGINT') {
    log.info({ signal, requests, drainTimeoutMs }, 'draining: waiting for requests to end');
    return;
  }
  console.error(waitingText(requests, drainTimeoutMs));
}

export function waitingText(requests: number, drainTimeoutMs: number): string {
  const what = requests === 1 ? '1 request' : `${requests} requests`;
  const seconds = Math.ceil(drainTimeoutMs / 1000);
  return `Waiting for ${what} to end, at most ${seconds} s. Press Ctrl-C again to cut them off.`;
}
