import { isatty } from 'node:tty';
import pino from 'pino';
import type { Logger } from '../../common/plugin-host/plugin.js';
import { readableError } from '../../common/text/readable-error.js';
import { LogBuffer } from './log-buffer.js';
import { readableLine } from './log-line.js';
import { openLogOutput } from './log-output.js';

/** Bytes; enough for the restart of a log collector. */
const maxBytes = 1024 * 1024;

export interface ProcessLog {
  readonly log: Logger;
  /** Lines that were dropped because standard output did not accept them, since the process started. */
  dropped(): number;
}

/** `auto`: `pretty` if standard output is a terminal, else `json`. */
export type LogFormat = 'auto' | 'json' | 'pretty';

/** An Error as pino writes it. A plugin may have thrown something that cannot be read. */
function errorFields(err: unknown): unknown {
  const error = readableError(err);
  try {
    return pino.stdSerializers.err(error);
  } catch {
    // One of its other members cannot be read.
    const { name, message, stack } = error;
    return { type: name, message, stack };
  }
}

/**
 * The log of this process on standard output, in JSON lines or readable lines. No request waits for it or fails
 * because of it.
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
    { level, base, serializers: { err: errorFields } },
    isPretty ? { write: (line) => buffer.write(readableLine(line)) } : buffer,
  );
  process.once('exit', () => buffer.end());
  // Node would write them to standard error and wait until they are read.
  process.removeAllListeners('warning');
  process.on('warning', (warning) => log.warn({ err: warning }, 'a warning of Node.js'));
  return { log, dropped: () => buffer.dropped };
}
