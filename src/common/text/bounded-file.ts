import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

const pieceBytes = 64 * 1024;
const mebibyte = 1024 * 1024;
/**
 * A pipe without a writer is given up after this long. Milliseconds. For one that a program has open there is no limit, however
 * long it sends nothing: it may still be computing.
 */
const writerMs = 5000;
const pauseMs = 10;

/** A file that is longer than its reader accepts, or a pipe that is empty or has no writer. */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile';
}

/**
 * The text of a file or of a descriptor, of so many bytes at most: a device may be endless, whatever size it shows. Throws an
 * UnreadableFile whose message follows the file's name, or an error of the system.
 */
export function readBounded(file: string | number, mostBytes: number): string {
  // Opening a named pipe would wait for its writer forever.
  const opened = typeof file === 'string' ? openSync(file, constants.O_RDONLY | constants.O_NONBLOCK) : null;
  const descriptor = opened ?? (file as number);
  try {
    const isPipe = fstatSync(descriptor).isFIFO();
    const pieces: Buffer[] = [];
    let length = 0;
    const until = performance.now() + writerMs;
    const piece = Buffer.allocUnsafe(pieceBytes);
    for (;;) {
      const read = readOnce(descriptor, piece);
      if (read > 0) {
        // A copy: a pipe may give a byte at a time.
        pieces.push(Buffer.from(piece.subarray(0, read)));
        length += read;
        if (length > mostBytes) throw new UnreadableFile(`is longer than ${mostBytes / mebibyte} MiB`);
      } else if (read === 0) {
        // A pipe has no writer: not yet, or not any more.
        if (opened === null || !isPipe || length > 0) break;
        if (performance.now() > until)
          throw new UnreadableFile('is empty, or a pipe that no program writes to');
        wait();
      } else wait();
    }
    return Buffer.concat(pieces).toString('utf8');
  } finally {
    if (opened !== null) closeSync(opened);
  }
}

/** -1: nothing has arrived yet. */
function readOnce(descriptor: number, piece: Buffer): number {
  try {
    return readSync(descriptor, piece, 0, piece.length, null);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EAGAIN') return -1;
    if (code === 'EOF') return 0;
    throw error;
  }
}

function wait(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'this user has no permission to read it',
  EISDIR: 'it is a folder',
  ELOOP: 'its links lead in a circle',
  ENOENT: 'there is no such file',
  ENOTDIR: 'a part of its path is no folder',
  EPERM: 'this user has no permission to read it',
};

/** Why a file cannot be read, in words: of a system error, whose code is kept where it has no words here. */
export function reasonOf(error: unknown): string {
  const { code = 'UNKNOWN' } = error as NodeJS.ErrnoException;
  return reasons[code] ?? code;
}
