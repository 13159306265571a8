import { readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Intent, LedgerRow } from '../../common/ledger/record.js';
import { unknownRow } from '../../common/ledger/rows.js';
import { isAlive, type JournalFileName, parseFileName } from '../../common/ledger/writer.js';
import type { LedgerBatch } from '../ledger/ledger.js';
import { BodyIngestion } from './body-ingestion.js';
import { pruneBodies } from './body-reader.js';
import type { Ingestion, IngestionOptions } from './ingestion.js';
import { type Chunk, JournalFile, type LineSink, ReadBuffers } from './journal-file.js';
import { PassTimer } from './pass-timer.js';

export type { Ingestion, IngestionOptions } from './ingestion.js';

/** How often the writers that are not children of this process (a former control process's) are checked. */
const livenessMs = 1000;
const pruneMs = 60_000;
const defaultBodiesBytes = 4 * 1024 ** 3;
/** The same problem is logged again after this long. */
const remindMs = 30_000;

/** Failures of a batch's content rather than of the disk or a lock. */
const contentFailure = /^SQLITE_(ERROR|CONSTRAINT|MISMATCH|TOOBIG)|^2[23]...$/;

/** Starts tailing at once; the files of ended processes come first. */
export function startIngestion(options: IngestionOptions): Ingestion {
  const ingester = new Ingester(options);
  ingester.start();
  return ingester;
}

interface OpenHere {
  readonly offset: number;
  /** null until its chunk was read completely. */
  text: string | null;
}

/** A process that writes or wrote a journal: its files in order, and its open intents. */
interface Writer {
  readonly key: string;
  readonly worker: string;
  readonly pid: number;
  readonly identity: string;
  readonly node: string | null;
  readonly files: JournalFile[];
  /** Open intents of the file being read, in its order. */
  readonly open: Map<string, OpenHere>;
  /** Open intents of finished files; also in the ledger. */
  readonly carried: Map<string, Intent>;
  dead: boolean;
}

const nothing: LedgerBatch = { settled: null, unknown: [], positions: new Map(), opened: [], closed: [] };

class Ingester implements Ingestion {
  readonly #options: IngestionOptions;
  readonly #buffers = new ReadBuffers();
  /** null: bodies stay in their files. */
  readonly #bodies: BodyIngestion | null;
  readonly #writers = new Map<string, Writer>();
  /** Names of files of writers, or of finished files. */
  readonly #known = new Set<string>();
  /** Finished files, to be deleted once their rows are durable. */
  readonly #finished: JournalFile[] = [];
  /** Keys of writers reported as ended; kept apart from them, since a failed pass forgets those. */
  readonly #gone = new Set<string>();
  /** By file: up to where its rows were reported by `onSettled`. Kept when a failed pass is forgotten. */
  readonly #reported = new Map<string, number>();
  #positions: Map<string, number> | null = null;
  #passes: Promise<void> = Promise.resolve();
  firstPass: Promise<void> = Promise.resolve();
  readonly #timer: PassTimer;
  #stopped = false;
  #livenessAt = 0;
  #prunedAt = 0;
  #caughtUpAt = performance.now();
  #lastProblem = '';
  #lastProblemAt = 0;

  constructor(options: IngestionOptions) {
    this.#options = options;
    const { dir, ledger, intervalMs } = options;
    const keep = ledger.keepBodies;
    this.#bodies = keep === null ? null : new BodyIngestion({ dir, keep });
    this.#timer = new PassTimer({ dir, intervalMs, run: () => this.start() });
  }

  get behindMs(): number {
    return performance.now() - this.#caughtUpAt;
  }

  start(): void {
    const pass = this.#enqueue(() => this.#pass(false));
    if (this.#positions === null) this.firstPass = pass;
    pass.then(() => {
      if (!this.#stopped) this.#timer.schedule();
    });
  }

  flush(): Promise<void> {
    return this.#enqueue(() => this.#pass(true));
  }

  flushRows(): Promise<void> {
    return this.#enqueue(() => this.#pass(false));
  }

  workerGone(worker: string, pid: number): Promise<void> {
    return this.#enqueue(async () => {
      await this.#discover();
      for (const writer of this.#writers.values()) {
        if (writer.worker === worker && writer.pid === pid) this.#gone.add(writer.key);
      }
      await this.#pass(false);
    });
  }

  /** One pass at a time; a failed one is discarded as a whole and repeated from the ledger's state. */
  #enqueue(pass: () => Promise<void>): Promise<void> {
    this.#passes = this.#passes.then(async () => {
      if (this.#stopped) return;
      try {
        await pass();
        this.#buffers.careful = false;
      } catch (error) {
        this.#buffers.careful = contentFailure.test((error as NodeJS.ErrnoException).code ?? '');
        this.#problem(`Journals cannot be turned into the ledger now: ${(error as Error).message}`, error);
        await this.#forget();
      }
    });
    return this.#passes;
  }

  async stop(): Promise<void> {
    this.#timer.stop();
    await this.#passes;
    this.#stopped = true;
    this.#timer.stop();
    await this.#forget();
  }

  async #forget(): Promise<void> {
    for (const writer of this.#writers.values()) for (const file of writer.files) await file.close();
    for (const file of this.#finished) await file.close();
    this.#writers.clear();
    this.#known.clear();
    this.#finished.length = 0;
    this.#positions = null;
    this.#livenessAt = 0;
  }

  #problem(message: string, cause?: unknown): void {
    const now = performance.now();
    if (message === this.#lastProblem && now - this.#lastProblemAt < remindMs) return;
    this.#lastProblem = message;
    this.#lastProblemAt = now;
    this.#options.onProblem(new Error(message, { cause }));
  }

  /** `toEnd`: bodies too are read to their end. */
  async #pass(toEnd: boolean): Promise<void> {
    const startedAt = performance.now();
    await this.#discover();
    // Before reading: a file read to its end after its writer has ended is complete.
    this.#checkLiveness();
    for (const writer of [...this.#writers.values()]) {
      const isDead = writer.dead;
      await this.#readFiles(writer);
      if (isDead) await this.#bury(writer);
    }
    await this.#deleteFinished();
    const isAll = (await this.#bodies?.pass(this.#positions ?? new Map(), toEnd)) ?? true;
    if (isAll) this.#caughtUpAt = startedAt;
    else this.#timer.unfinished();
    await this.#prune();
  }

  #checkLiveness(): void {
    const now = performance.now();
    const isTime = this.#livenessAt === 0 || now - this.#livenessAt >= livenessMs;
    if (isTime) this.#livenessAt = now;
    for (const writer of this.#writers.values()) {
      writer.dead ||= this.#gone.has(writer.key) || (isTime && !isAlive(writer.pid, writer.identity));
    }
  }

  /** Finds files not seen so far; the first time also reads their state from the ledger. */
  async #discover(): Promise<void> {
    const { dir, ledger } = this.#options;
    const names = await readdir(dir).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
    if (this.#positions === null) {
      const positions = await ledger.positions();
      const present = new Set(names);
      const stale = [...positions.keys()].filter((name) => !present.has(name));
      if (stale.length > 0) {
        await ledger.apply({ ...nothing, positions: new Map(stale.map((name) => [name, null])) });
      }
      for (const { writer, intent } of await ledger.openIntents()) {
        this.#writer(writer).carried.set(intent.id, intent);
      }
      this.#positions = positions;
    }
    const fresh: JournalFileName[] = [];
    for (const name of names) {
      if (this.#known.has(name)) continue;
      const parsed = parseFileName(name);
      if (parsed?.kind === 'log') fresh.push(parsed);
    }
    fresh.sort((a, b) => a.n - b.n);
    for (const { name, worker, pid } of fresh) {
      const file = new JournalFile(join(dir, name), name, this.#positions.get(name) ?? 0);
      const header = await file.header();
      if (header === null) {
        await file.close();
        // The header is written first: a file without one, whose writer has ended, is empty.
        if (!isAlive(pid, '')) await unlink(file.path);
        continue;
      }
      this.#known.add(name);
      if (header.format === null) {
        await file.close();
        this.#problem(`${file.path} was written by a later program: start that one, it reads this journal.`);
        continue;
      }
      this.#writer(`${worker} ${pid} ${header.identity} ${header.node ?? ''}`).files.push(file);
    }
  }

  #writer(key: string): Writer {
    let writer = this.#writers.get(key);
    if (writer === undefined) {
      const [worker = '', pid = '', identity = '', node = ''] = key.split(' ');
      writer = {
        key,
        worker,
        pid: Number(pid),
        identity,
        node: node || null,
        files: [],
        open: new Map(),
        carried: new Map(),
        dead: false,
      };
      this.#writers.set(key, writer);
    }
    return writer;
  }

  async #readFiles(writer: Writer): Promise<void> {
    for (;;) {
      const file = writer.files[0];
      if (file === undefined) return;
      await this.#readFile(writer, file);
      // Its writer uses the next file: nothing more will come.
      if (writer.files.length === 1) return;
      await this.#handOver(writer, file);
    }
  }

  async #readFile(writer: Writer, file: JournalFile): Promise<void> {
    const { open, carried } = writer;
    let fresh: OpenHere[] = [];
    let closed: string[] = [];
    const sink: LineSink = {
      intent(id, offset) {
        const intent: OpenHere = { offset, text: null };
        // Of several attempts the last counts. Deleted first: the map's order is the file's.
        if (open.has(id)) open.delete(id);
        open.set(id, intent);
        fresh.push(intent);
      },
      settlement(id) {
        if (carried.size > 0 && carried.delete(id)) closed.push(id);
        const intent = open.get(id);
        if (intent === undefined) return;
        open.delete(id);
        intent.text = '';
      },
      garbage: (offset, bytes) => this.#skipped(file, offset, bytes),
    };
    for (;;) {
      const reported = this.#reported.get(file.name) ?? 0;
      const chunk: Chunk | null = await file.read(sink, this.#buffers, reported);
      if (chunk === null) return;
      this.#timer.read(chunk.settled);
      for (const intent of fresh) intent.text ??= chunk.textAt(intent.offset);
      await this.#apply(writer, {
        ...nothing,
        settled: chunk.settled,
        closed,
        positions: new Map([[file.name, lowWater(writer, file)]]),
      });
      // What is read again, since an intent before it is open or a pass failed, was reported.
      if (file.offset > reported) {
        this.#reported.set(file.name, file.offset);
        this.#options.onSettled?.(chunk.settled);
      }
      fresh = [];
      closed = [];
    }
  }

  async #apply({ pid }: Writer, batch: LedgerBatch): Promise<void> {
    const { writers, ledger } = this.#options;
    await (writers?.apply(pid, batch) ?? ledger.apply(batch));
  }

  #skipped(file: JournalFile, offset: number, bytes: number): void {
    this.#problem(
      `Journal file ${file.path}: ${bytes} bytes at offset ${offset} are no record and were skipped.`,
    );
  }

  /** Moves the open intents of a finished file to the ledger, so that the file can be deleted. */
  async #handOver(writer: Writer, file: JournalFile): Promise<void> {
    const opened = this.#openIntents(writer, file).map((intent) => ({ writer: writer.key, intent }));
    await this.#apply(writer, {
      ...nothing,
      opened,
      positions: new Map([[file.name, file.offset]]),
    });
    for (const { intent } of opened) writer.carried.set(intent.id, intent);
    writer.open.clear();
    writer.files.shift();
    this.#finished.push(file);
  }

  #openIntents(writer: Writer, file: JournalFile | undefined): Intent[] {
    const intents: Intent[] = [];
    for (const { text } of writer.open.values()) {
      try {
        if (file !== undefined) intents.push(file.intent(text ?? ''));
      } catch {
        this.#problem(
          `Journal of worker ${writer.worker} (process ${writer.pid}): an intent is no record and was skipped.`,
        );
      }
    }
    return intents;
  }

  /** A writer that has ended, read completely: its open intents will not be settled. */
  async #bury(writer: Writer): Promise<void> {
    const intents = [...writer.carried.values(), ...this.#openIntents(writer, writer.files.at(-1))];
    const unknown: LedgerRow[] = intents.map((intent) => unknownRow(intent, writer.node));
    await this.#apply(writer, {
      ...nothing,
      unknown,
      closed: [...writer.carried.keys()],
      positions: new Map(writer.files.map((file) => [file.name, file.offset])),
    });
    this.#options.writers?.ended(writer.pid);
    this.#finished.push(...writer.files);
    this.#writers.delete(writer.key);
    this.#gone.delete(writer.key);
  }

  /** Only once the ledger's rows are on disk: until then the journal is the durable copy. */
  async #deleteFinished(): Promise<void> {
    const { ledger } = this.#options;
    if (this.#finished.length === 0 || !(await ledger.checkpoint())) return;
    const files = this.#finished.splice(0);
    // First the offset: a file read again from its start does no harm, an offset applied to another file would.
    await ledger.apply({ ...nothing, positions: new Map(files.map((file) => [file.name, null])) });
    for (const file of files) {
      await file.close();
      try {
        await unlink(file.path);
        this.#known.delete(file.name);
        this.#reported.delete(file.name);
      } catch (error) {
        // Its name is kept, so that this process does not read it again.
        this.#problem(`${file.path} is done with and cannot be deleted: ${(error as Error).message}`, error);
      }
    }
  }

  async #prune(): Promise<void> {
    const now = performance.now();
    if (this.#prunedAt !== 0 && now - this.#prunedAt < pruneMs) return;
    this.#prunedAt = now;
    try {
      await pruneBodies(this.#options.dir, this.#options.maxBodiesBytes ?? defaultBodiesBytes);
    } catch (error) {
      this.#problem(`Old bodies cannot be deleted: ${(error as Error).message}`, error);
    }
  }
}

/** The offset to read from after a crash: the oldest open intent, else the end of the last line. */
function lowWater(writer: Writer, file: JournalFile): number {
  for (const intent of writer.open.values()) return intent.offset;
  return file.offset;
}
