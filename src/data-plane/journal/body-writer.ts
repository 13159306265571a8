import { close, closeSync, mkdirSync, openSync, unlinkSync, writeSync, writev } from 'node:fs';
import { join } from 'node:path';
import { asciiJson } from '../../common/ledger/line-writer.js';
import type { BodiesToKeep } from '../../common/ledger/record.js';
import { fileName } from '../../common/ledger/writer.js';
import { type TakenBytes, WaitingBlocks } from './waiting-blocks.js';

export interface BodyWriterOptions {
  readonly dir: string;
  readonly worker: string;
  readonly maxBodyFileBytes?: number;
  readonly onProblem: (error: Error) => void;
}

/** Whose bodies these are, and that in JSON. */
interface Tenant {
  readonly org: string;
  readonly workspace: string | null;
  readonly json: string;
}

const dayMs = 86_400_000;
const defaultFileBytes = 16 * 1024 * 1024;
/** Milliseconds until bodies are written. */
const flushMs = 250;
/** Bytes after which they are written earlier, so that no single write blocks the event loop. */
const flushBytes = 256 * 1024;
/** Limit of waiting bytes, reached if the disk is too slow: further bodies are dropped. */
const maxWaitingBytes = 16 * 1024 * 1024;

/**
 * Bodies are written to files of their own and stay there: they are much larger than the rows, rarely read, and
 * deleted first. Each record is a header line with the lengths of the two bodies, then their bytes
 * unchanged: nothing is escaped or copied into a database.
 */
export class BodyWriter {
  readonly #options: BodyWriterOptions;
  readonly #maxFileBytes: number;
  #fd = -1;
  #n = 0;
  #fileBytes = 0;
  /** Headers and bodies waiting to be written, and their number of requests. */
  readonly #waiting = new WaitingBlocks();
  #waitingCount = 0;
  /** Bytes that are being written. */
  #leaving: TakenBytes | null = null;
  #leavingBytes = 0;
  #timer: NodeJS.Timeout | null = null;
  #isReported = false;
  #lastTenant: Tenant = { org: '', workspace: null, json: '"",null' };
  #closed = false;
  /** Bodies that were dropped because the disk did not keep up or could not be written. */
  dropped = 0;

  constructor(options: BodyWriterOptions) {
    this.#options = options;
    this.#maxFileBytes = options.maxBodyFileBytes ?? defaultFileBytes;
  }

  add(bodies: BodiesToKeep): void {
    const { id, at, org, workspace, request, response, cut, headers } = bodies;
    const asked = request === null ? null : bytesOf(request);
    const answered = typeof response === 'string' ? Buffer.from(response) : response;
    const askedBytes = asked?.length ?? -1;
    const answeredBytes = answered === null ? -1 : lengthOf(answered);
    const bytes = Math.max(0, askedBytes) + Math.max(0, answeredBytes);
    if (this.#waiting.length + this.#leavingBytes + bytes > maxWaitingBytes) {
      this.dropped++;
      return;
    }
    const start = `B[${idJson(id)},${at},${this.#tenantJson(org, workspace)},${cut ? 1 : 0},`;
    const lengths = `${askedBytes},${answeredBytes}]\n`;
    if (headers === undefined) this.#waiting.addLatin1(start + lengths);
    else {
      this.#waiting.addLatin1(start);
      this.#waiting.copy(headers);
      this.#waiting.addLatin1(`,${lengths}`);
    }
    if (asked !== null) this.#waiting.add(asked);
    if (Buffer.isBuffer(answered)) this.#waiting.add(answered);
    else for (const part of answered ?? []) this.#waiting.add(part);
    this.#waiting.addLatin1('\n');
    this.#waitingCount += 1;
    this.#timer ??= setTimeout(() => this.#flush(), flushMs).unref();
    if (this.#waiting.length >= flushBytes) this.#flush();
  }

  /** Consecutive requests are often one tenant's. */
  #tenantJson(org: string, workspace: string | null): string {
    const last = this.#lastTenant;
    if (last.org === org && last.workspace === workspace) return last.json;
    const json = `${asciiJson(org)},${asciiJson(workspace)}`;
    this.#lastTenant = { org, workspace, json };
    return json;
  }

  #flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#leaving !== null || this.#waiting.length === 0) return;
    const count = this.#waitingCount;
    const bytes = this.#waiting.length;
    const taken = this.#take();
    try {
      if (this.#fd < 0 || this.#fileBytes >= this.#maxFileBytes || this.#isOld) this.#openNext();
    } catch (error) {
      this.#lost(count, error);
      return;
    }
    this.#leaving = taken;
    this.#leavingBytes = bytes;
    this.#send(this.#fd, taken.parts, count);
  }

  /** A file is of one day, so that it goes when the time of that day's bodies is over. */
  get #isOld(): boolean {
    return Math.floor(Date.now() / dayMs) > Math.floor(this.#n / dayMs);
  }

  #take(): TakenBytes {
    this.#waitingCount = 0;
    return this.#waiting.take();
  }

  /** In another thread, since bodies may be large. `left`: the bytes that are not written yet. */
  #send(fd: number, left: readonly Buffer[], count: number): void {
    const leaving = this.#leaving;
    if (leaving === null) return;
    writev(fd, left, (error, written) => {
      if (this.#closed) {
        close(fd, () => {});
        return;
      }
      const rest = error === null ? behind(left, written) : [];
      if (rest.length > 0) {
        this.#send(fd, rest, count);
        return;
      }
      this.#leaving = null;
      if (error !== null) {
        this.#abandon();
        this.#lost(count, error);
      } else {
        this.#fileBytes += this.#leavingBytes;
        this.#isReported = false;
      }
      this.#leavingBytes = 0;
      this.#waiting.giveBack(leaving);
      if (this.#waiting.length >= flushBytes) this.#flush();
      else if (this.#waiting.length > 0) this.#timer ??= setTimeout(() => this.#flush(), flushMs).unref();
    });
  }

  #openNext(): void {
    mkdirSync(this.#options.dir, { recursive: true, mode: 0o700 });
    this.#abandon();
    this.#n = Math.max(this.#n + 1, Date.now());
    this.#fd = openSync(
      join(this.#options.dir, fileName(this.#options.worker, process.pid, this.#n, 'bodies')),
      'ax',
      0o600,
    );
    this.#fileBytes = 0;
  }

  /** A file that could not be written to its end is not continued: its reader stops at the break. */
  #abandon(): void {
    const fd = this.#fd;
    if (fd < 0) return;
    this.#fd = -1;
    if (this.#fileBytes > 0) {
      close(fd, () => {});
      return;
    }
    closeSync(fd);
    try {
      unlinkSync(join(this.#options.dir, fileName(this.#options.worker, process.pid, this.#n, 'bodies')));
    } catch {
      // Pruned already.
    }
  }

  #lost(count: number, error: unknown): void {
    this.dropped += count;
    if (this.#isReported) return;
    this.#isReported = true;
    this.#options.onProblem(
      new Error(
        `Bodies for the log cannot be written to ${this.#options.dir} and are dropped: ${(error as Error).message}. Free the disk, or set HEADGATE_LOG_BODIES=false.`,
        { cause: error },
      ),
    );
  }

  /** Writes the waiting bytes synchronously, before the process ends. */
  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#closed = true;
    const count = this.#waitingCount;
    // A running write may not complete, so its bytes are written again: duplicates do no harm.
    const bytes = Buffer.concat([...(this.#leaving?.parts ?? []), ...this.#take().parts]);
    if (this.#leaving === null) this.#abandon();
    this.#fd = -1;
    this.#leaving = null;
    if (bytes.length === 0) return;
    try {
      this.#openNext();
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#fd, bytes, at);
      closeSync(this.#fd);
    } catch (error) {
      this.#lost(count, error);
    }
    this.#fd = -1;
  }
}

const bytesOf = (body: Buffer | string): Buffer => (typeof body === 'string' ? Buffer.from(body) : body);

function lengthOf(body: Buffer | readonly Buffer[]): number {
  if (Buffer.isBuffer(body)) return body.length;
  let length = 0;
  for (const part of body) length += part.length;
  return length;
}

/** As nearly all ids are, and needs no escape. */
const plainId = /^[0-9a-zA-Z-]+$/;
const idJson = (id: string): string => (plainId.test(id) ? `"${id}"` : asciiJson(id));

/** The rest of these blocks after `written` bytes. */
function behind(blocks: readonly Buffer[], written: number): Buffer[] {
  let skipped = written;
  const left: Buffer[] = [];
  for (const block of blocks) {
    if (skipped < block.length) left.push(skipped === 0 ? block : block.subarray(skipped));
    skipped = Math.max(0, skipped - block.length);
  }
  return left;
}
