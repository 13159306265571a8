import { constants, fstatSync, openSync, writeSync, write as writeToFile } from 'node:fs';
import { isatty } from 'node:tty';

/** The output of log lines: a descriptor that this process never waits for. */
export interface LogOutput {
  /**
   * Limit of one write, in bytes. Whole lines within it are not mixed with those of other processes on the same pipe.
   */
  readonly batchBytes: number;
  /**
   * Writes from the start of `bytes`; returns how many were written. Throws, or rejects, with the error of the system.
   */
  write(bytes: Buffer): number | Promise<number>;
  /** Used when the process exits. */
  writeSync(bytes: Buffer): number;
}

/** Bytes that a pipe accepts atomically (PIPE_BUF). */
const pipeBytes = 4096;
const fileBytes = 64 * 1024;

/**
 * Opens `fd` for log lines. Pipes, terminals and sockets are written to without blocking, so that a reader that has
 * stopped reading is seen as EAGAIN. Files are written to by a thread of libuv's: writes to a slow disk block, whatever their flags.
 */
export function openLogOutput(fd: number): LogOutput {
  // As bigint: after a plain fstat of a pipe, Node 20's module loader no longer resolves symbolic links on paths it has
  // in its cache, because realpath reads the file type of the most recent stat.
  const kind = fstatSync(fd, { bigint: true });
  const isTerminal = isatty(fd);
  if (!isTerminal && !kind.isFIFO() && !kind.isSocket()) return new FileOutput(fd);
  const own = kind.isSocket() ? null : reopened(fd);
  if (own !== null) return new NonBlockingOutput(own);
  const handle = fd === 1 ? (process.stdout as unknown as SharedStream)._handle : undefined;
  return handle?.setBlocking === undefined ? new FileOutput(fd) : new NonBlockingOutput(fd, handle);
}

/**
 * An open file description for this process alone: whether writes block is a flag of the open file, which other processes share. null: the
 * system does not let this process open it again, or the pipe has no reader now.
 */
function reopened(fd: number): number | null {
  try {
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return null;
  }
}

/** `process.stdout` of a pipe, a terminal or a socket. */
interface SharedStream {
  readonly _handle?: { setBlocking?(blocking: boolean): number };
}

class NonBlockingOutput implements LogOutput {
  readonly batchBytes = pipeBytes;

  constructor(
    readonly fd: number,
    /** Present where the description is shared with other processes, each of which may make it block again. */
    readonly shared: SharedStream['_handle'] | null = null,
  ) {}

  write(bytes: Buffer): number {
    this.shared?.setBlocking?.(false);
    return writeSync(this.fd, bytes);
  }

  writeSync(bytes: Buffer): number {
    return this.write(bytes);
  }
}

class FileOutput implements LogOutput {
  readonly batchBytes = fileBytes;

  constructor(readonly fd: number) {}

  // Without a position: several processes append to one file, whose offset they share.
  write(bytes: Buffer): Promise<number> {
    return new Promise((resolve, reject) => {
      writeToFile(this.fd, bytes, 0, bytes.length, null, (error, written) =>
        error === null ? resolve(written) : reject(error),
      );
    });
  }

  writeSync(bytes: Buffer): number {
    return writeSync(this.fd, bytes);
  }
}
