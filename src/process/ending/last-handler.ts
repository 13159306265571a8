import type { Logger } from '../../common/plugin-host/plugin.js';
import { exitProcess } from './exit.js';

/** Sysexits' EX_SOFTWARE: an exception that no code expected. */
export const exitInternal = 70;

/** Limit of logged failures after the first one, while the process ends. */
const maxReports = 20;

export interface LastHandlerOptions {
  readonly log: Logger;
  /** Ends the process's work in order; called once, when an exception has reached the handler. */
  readonly drain: () => Promise<void>;
  /** The process exits after this long even if `drain` has not ended. Milliseconds. */
  readonly deadlineMs: number;
}

/**
 * Catches what no other code caught, exceptions in event handlers and rejected promises alike. The state after
 * such a failure is unknown, so the process drains and exits with 70; a service manager starts another.
 */
export function installLastHandler({ log, drain, deadlineMs }: LastHandlerOptions): void {
  let failures = 0;
  const exit = (): never => exitProcess(exitInternal);
  const failed = (error: unknown): void => {
    failures++;
    if (failures <= maxReports) report(log, error);
    if (failures > 1) return;
    // Also the exit code if a signal ends the process meanwhile.
    process.exitCode = exitInternal;
    setTimeout(exit, deadlineMs);
    // In a later turn: an exception of `drain` itself also ends the process.
    Promise.resolve()
      .then(drain)
      .then(exit, (failure: unknown) => {
        report(log, failure);
        exit();
      });
  };
  process.on('uncaughtException', failed);
  process.on('unhandledRejection', failed);
}

/** A log that throws must not keep the process from draining. */
function report(log: Logger, error: unknown): void {
  try {
    log.error({ err: error }, 'unexpected failure: this process drains its workers and exits');
  } catch {
    // Nowhere to report it.
  }
}
