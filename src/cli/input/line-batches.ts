import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { reasonOf } from '../../common/text/bounded-file.js';
import { CliError } from '../cli-error.js';

/** Whole lines of a file. */
export interface LineBatch {
  readonly lines: Buffer;
  /** Number of the first, from 1. */
  readonly first: number;
}

const newline = 0x0a;
/** A batch is sent once it has so many bytes. */
const batchBytes = 512 * 1024;
const longestLine = 3 * 1024 * 1024;

function opened(file: string): Readable {
  const source = file === '-' ? process.stdin : createReadStream(file, { highWaterMark: 256 * 1024 });
  if (!file.endsWith('.gz')) return source;
  const unzipped = createGunzip();
  source.on('error', (error: Error) => unzipped.destroy(error));
  return source.pipe(unzipped);
}

/** Reads a file (`-`: standard input; `.gz`: compressed) in batches of whole lines. Throws a CliError. */
export async function* lineBatches(file: string): AsyncGenerator<LineBatch> {
  let waiting: Buffer[] = [];
  let bytes = 0;
  let first = 1;
  const take = (end: Buffer): LineBatch => {
    const lines = Buffer.concat([...waiting, end]);
    const batch = { lines, first };
    first += countLines(lines);
    waiting = [];
    bytes = 0;
    return batch;
  };
  try {
    for await (const piece of opened(file)) {
      const chunk = piece as Buffer;
      const end = chunk.lastIndexOf(newline) + 1;
      if (bytes + end >= batchBytes && end > 0) {
        yield take(chunk.subarray(0, end));
        waiting = [chunk.subarray(end)];
        bytes = chunk.length - end;
      } else {
        waiting.push(chunk);
        bytes += chunk.length;
      }
      if (bytes > longestLine)
        throw new CliError(`${file}: line ${first} or one after it is longer than ${longestLine} bytes.`);
    }
    if (bytes > 0) yield take(Buffer.alloc(0));
  } catch (error) {
    if (error instanceof CliError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === undefined ? message : reasonOf(error);
    throw new CliError(`${file === '-' ? 'Standard input' : file} cannot be read: ${why}.`);
  }
}

function countLines(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) lines++;
  return lines;
}
