import { open, unlink } from 'node:fs/promises';
import { isAlive, parseFileName } from '../../common/ledger/writer.js';
import type { BodiesInBytes, BodyBatch } from '../ledger/ledger.js';
import { type BodyFile, type BodyHeader, bodyFiles, bodyLengths, headersOfBodies } from './body-reader.js';

const chunkBytes = 1024 * 1024;
/** A pass that is not to the end leaves the rest to the next one, so that rows do not wait for bodies. */
const passMs = 500;

export interface BodyIngestionOptions {
  readonly dir: string;
  readonly keep: (batch: BodyBatch) => Promise<void>;
}

/** Hands bodies over from the files of the journals to a ledger that takes them, and deletes the files. */
export class BodyIngestion {
  readonly #options: BodyIngestionOptions;
  #buffer = Buffer.allocUnsafe(chunkBytes);

  constructor(options: BodyIngestionOptions) {
    this.#options = options;
  }

  /**
   * Reads what is new. `positions`: where reading goes on, by file; changed with every step. `toEnd`: all that is on file.
   * Returns whether it was all.
   */
  async pass(positions: Map<string, number>, toEnd: boolean): Promise<boolean> {
    const end = performance.now() + passMs;
    const files = (await bodyFiles(this.#options.dir)).sort((a, b) => a.openedAt - b.openedAt);
    const newest = new Map<string, string>();
    for (const { name } of files) newest.set(writerOf(name), name);
    for (const file of files) {
      const { name, path } = file;
      const isLast = newest.get(writerOf(name)) === name && isAlive(parseFileName(name)?.pid ?? 0, '');
      while (await this.#step(file, positions, isLast)) {
        if (!toEnd && performance.now() > end) return false;
      }
      if (isLast) continue;
      // First the position: a file read again from its start does no harm, a position of another file would.
      await this.#options.keep({ bodies: [], source: name, position: null });
      positions.delete(name);
      await unlink(path);
    }
    return true;
  }

  /** Reads one chunk. false: there is no further whole record. `isGrowing`: its size is from before it was last written. */
  async #step(
    { name, path, bytes: size }: BodyFile,
    positions: Map<string, number>,
    isGrowing: boolean,
  ): Promise<boolean> {
    const position = positions.get(name) ?? 0;
    // One that has ended may have got its last bytes since it was listed.
    if (isGrowing && size <= position) return false;
    const handle = await open(path, 'r');
    let bytes: Buffer;
    try {
      const { bytesRead } = await handle.read(this.#buffer, 0, this.#buffer.length, position);
      bytes = this.#buffer.subarray(0, bytesRead);
    } finally {
      await handle.close();
    }
    const bodies: BodiesInBytes[] = [];
    const used = readBodies(bytes, bodies);
    if (used === 0 && bytes.length === this.#buffer.length) {
      // One that is longer than the chunk.
      this.#buffer = Buffer.allocUnsafe(2 * this.#buffer.length);
      return true;
    }
    // What follows a break has no beginning.
    const next = used < 0 ? Math.max(size, position + bytes.length) : position + used;
    if (used === 0) return false;
    await this.#options.keep({ bodies, source: name, position: next });
    positions.set(name, next);
    if (this.#buffer.length > chunkBytes) this.#buffer = Buffer.allocUnsafe(chunkBytes);
    return true;
  }
}

const writerOf = (name: string): string => {
  const { worker, pid } = parseFileName(name) ?? { worker: '', pid: 0 };
  return `${worker} ${pid}`;
};

/** Adds the whole records at the beginning of these bytes; returns how many bytes they are, -1 where a break follows. */
function readBodies(bytes: Buffer, bodies: BodiesInBytes[]): number {
  let at = 0;
  while (at < bytes.length) {
    const end = bytes.indexOf(0x0a, at);
    if (end < 0) return at;
    const [requestBytes, responseBytes] = bodyLengths(bytes, at, end);
    const request = end + 1;
    const response = request + Math.max(0, requestBytes);
    const next = response + Math.max(0, responseBytes);
    if (Number.isNaN(requestBytes + responseBytes)) return -1;
    if (next >= bytes.length) return at;
    const header = bytes[next] === 0x0a ? headerOf(bytes.toString('latin1', at + 1, end)) : null;
    if (header === null) return -1;
    const [id, time, org, workspace, cut] = header;
    bodies.push({
      id,
      at: time,
      org,
      workspace,
      cut: cut === 1,
      ...headersOfBodies(header),
      request: requestBytes < 0 ? null : bytes.subarray(request, response),
      response: responseBytes < 0 ? null : bytes.subarray(response, next),
    });
    at = next + 1;
  }
  return at;
}

/** null: a disk made it up. */
function headerOf(text: string): BodyHeader | null {
  try {
    const header = JSON.parse(text) as BodyHeader;
    const [id, at, org] = header;
    return typeof id === 'string' && typeof org === 'string' && Number.isSafeInteger(at) ? header : null;
  } catch {
    return null;
  }
}
