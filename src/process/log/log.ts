import { isatty } from 'node:tty';
import pino from 'pino';
import type { Logger } from '../../common/plugin-host/plugin.js';
import { LogBuffer } from './log-buffer.js';
import { readableLine } from './log-line.js';
import { openLogOutput } from './log-output.js';

/** Enough for the seconds that a log collector takes to restart. */
const maxBytes = 1024 * 1024;

export interface ProcessLog {
  readonly log: Logger;
  /** Lines that were dropped because standard output did not take them, since the process started. */
  dropped(): number;
}

/** `auto`: `pretty` where standard output is a terminal, else `json`. */
export type LogFormat = 'auto' | 'json' | 'pretty';

/**
 * The log of this process on standard output, in JSON lines or lines for people. No request waits for it, and none fails
 * with it.
 */
export function openLog(
  { level, format }: { readonly level: string; readonly format: LogFormat },
  base: Readonly<Record<string, unknown>>,
): ProcessLog {
  const isPretty = format === 'pretty' || (format === 'auto' && isatty(1));
  const formatted = (line: string): string => (isPretty ? readableLine(line) : line);
  const buffer = new LogBuffer({
    output: openLogOutput(1),
    maxBytes,
    gapLine: (dropped) =>
      formatted(
        `${JSON.stringify({
          level: pino.levels.values['warn'],
          time: Date.now(),
          ...base,
          dropped,
          msg: `${dropped} log lines are missing here: standard output did not take them.`,
        })}\n`,
      ),
  });
  const log: Logger = pino(
    { level, base },
    isPretty ? { write: (line) => buffer.write(readableLine(line)) } : buffer,
  );
  process.once('exit', () => buffer.end());
  // Node writes them to standard error, and waits until that is read.
  process.removeAllListeners('warning');
  process.on('warning', (warning) => log.warn({ err: warning }, 'a warning of Node.js'));
  return { log, dropped: () => buffer.dropped };
}
