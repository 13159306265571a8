import { isatty } from 'node:tty';

/** Standard streams that are a terminal at the start. */
const terminals = [0, 1, 2].filter((stream) => isatty(stream));

/**
 * Ends this process. Node restores the terminal's settings as it exits, and aborts if the terminal was closed
 * meanwhile. The memory of an aborted process may be written to a core file, secrets included, so that is avoided.
 */
export function exitProcess(code: number): never {
  if (terminals.some((stream) => !isatty(stream))) {
    process.emit('exit', code);
    process.kill(process.pid, 'SIGKILL');
  }
  return process.exit(code);
}
