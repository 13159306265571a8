import { createHmac, timingSafeEqual } from 'node:crypto';
import {
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';

/** An entry of the file: what it is, and its contents, sealed. */
export interface KnownEntry {
  readonly type: number;
  readonly sealed: Buffer;
}

const magic = Buffer.from('headgate known 1\n');
/** Of an entry: how long its contents are, and its type. */
const headLength = 5;
const macLength = 16;
/** Entries of the last moment are written together; those that must not be lost at once. Milliseconds. */
const gatherMs = 200;
/** Of a rewriting, between two turns of the event loop. */
const pieceBytes = 1024 * 1024;
/** After a write that failed. Milliseconds. */
const againMs = 30_000;

/**
 * An append-only file of sealed entries. Each has a code that depends on all before it, so that none can be taken out, put
 * in or exchanged without the master key; what follows a broken one is ignored. Throws nothing: a node goes on without
 * its file, and removes one that has become untrue because it could not be written.
 */
export class KnownFile {
  #file: number | null = null;
  #mac: Buffer = Buffer.alloc(macLength);
  /** Entries that wait to be written, and their codes. */
  #waiting: Buffer[] = [];
  #timer: NodeJS.Timeout | null = null;
  /** While it is rewritten: what was appended meanwhile. */
  #meanwhile: KnownEntry[] | null = null;
  #retryAt = 0;
  /** Of the file, with what waits to be written. */
  bytes = 0;

  constructor(
    readonly path: string,
    readonly key: Buffer,
    readonly onProblem: (error: unknown) => void,
  ) {}

  /** What the file has, up to the first entry that is not as it was written; empty where there is none. */
  read(): readonly KnownEntry[] {
    let text: Buffer;
    try {
      text = readOwn(this.path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.onProblem(error);
      return [];
    }
    const entries: KnownEntry[] = [];
    if (!text.subarray(0, magic.length).equals(magic)) return entries;
    let mac: Buffer = Buffer.alloc(macLength);
    for (let at = magic.length; at + headLength + macLength <= text.length; ) {
      const end = at + headLength + text.readUInt32BE(at);
      if (end + macLength > text.length) break;
      const type = text[at + 4] ?? 0;
      const sealed = text.subarray(at + headLength, end);
      const found = text.subarray(end, end + macLength);
      mac = this.#macOf(mac, { type, sealed });
      if (!timingSafeEqual(mac, found)) break;
      entries.push({ type, sealed });
      at = end + macLength;
    }
    return entries;
  }

  #macOf(before: Buffer, { type, sealed }: KnownEntry): Buffer {
    return createHmac('sha256', this.key)
      .update(before)
      .update(Buffer.from([type]))
      .update(sealed)
      .digest()
      .subarray(0, macLength);
  }

  #written(mac: Buffer, { type, sealed }: KnownEntry): readonly Buffer[] {
    const head = Buffer.alloc(headLength);
    head.writeUInt32BE(sealed.length, 0);
    head[4] = type;
    return [head, sealed, mac];
  }

  append(entry: KnownEntry): void {
    this.#meanwhile?.push(entry);
    if (this.#file === null) return;
    this.#mac = this.#macOf(this.#mac, entry);
    this.#waiting.push(...this.#written(this.#mac, entry));
    this.bytes += headLength + entry.sealed.length + macLength;
    if (this.#timer !== null) return;
    this.#timer = setTimeout(() => this.flush(), gatherMs);
    this.#timer.unref();
  }

  /** Writes what waits. The system has it from here on, also where this process is killed. */
  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#file === null || this.#waiting.length === 0) return;
    const bytes = Buffer.concat(this.#waiting);
    this.#waiting = [];
    try {
      writeAll(this.#file, bytes);
      fdatasync(this.#file, () => {});
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    this.#retryAt = performance.now() + againMs;
    this.onProblem(error);
    this.#close();
    // It lacks what could not be written, and would be believed.
    try {
      rmSync(this.path, { force: true });
    } catch {
      // Its folder takes no changes at all.
    }
  }

  /** May it be written again? */
  get isDue(): boolean {
    return this.#meanwhile === null && performance.now() >= this.#retryAt;
  }

  /** Does it take entries? */
  get isOpen(): boolean {
    return this.#file !== null || this.#meanwhile !== null;
  }

  /** Puts a new file with these entries in the place of the old one, in pieces; what is appended meanwhile follows them. */
  async rewrite(entries: Iterable<KnownEntry>): Promise<void> {
    this.#meanwhile = [];
    const aside = `${this.path}.tmp`;
    let file: number | null = null;
    try {
      rmSync(aside, { force: true });
      file = openSync(aside, 'wx', 0o600);
      let bytes = 0;
      let mac: Buffer = Buffer.alloc(macLength);
      let pieces: Buffer[] = [magic];
      let length = magic.length;
      const put = (entry: KnownEntry): void => {
        mac = this.#macOf(mac, entry);
        pieces.push(...this.#written(mac, entry));
        length += headLength + entry.sealed.length + macLength;
      };
      const write = (): void => {
        writeAll(file as number, Buffer.concat(pieces));
        bytes += length;
        pieces = [];
        length = 0;
      };
      for (const entry of entries) {
        put(entry);
        if (length < pieceBytes) continue;
        write();
        await new Promise((next) => setImmediate(next));
      }
      this.flush();
      for (const entry of this.#meanwhile) put(entry);
      write();
      fdatasync(file, () => {});
      renameSync(aside, this.path);
      this.#close();
      this.#file = file;
      this.#mac = mac;
      this.bytes = bytes;
    } catch (error) {
      if (file !== null) closeSync(file);
      this.#failed(error);
    } finally {
      this.#meanwhile = null;
    }
  }

  #close(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
    this.#waiting = [];
  }

  close(): void {
    this.flush();
    this.#close();
  }
}

function readOwn(path: string): Buffer {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  const file = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    if (!fstatSync(file).isFile()) throw new Error(`${path} is no regular file`);
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

function writeAll(file: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
}
