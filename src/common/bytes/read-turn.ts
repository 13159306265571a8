/** Something that writes buffered bytes. */
export interface Flushable {
  flush(): void;
}

/** The writers to flush after the read; only the first `count` are valid. */
const waiting: (Flushable | null)[] = [];
let count = 0;
let isReading = false;

/**
 * Lets `writer` flush after all bytes of one socket read were passed on, so that the results are sent
 * together. Outside `readTogether` that is the end of the turn: `process.nextTick`, which takes longer for each chunk
 * of a stream than all work on the chunk.
 */
export function flushAfterRead(writer: Flushable): void {
  if (isReading) waiting[count++] = writer;
  else process.nextTick(flush, writer);
}

/** Starts one read, until `endRead`; both are called in the same turn, and are not nested. */
export function beginRead(): void {
  isReading = true;
}

/** Flushes the waiting writers, and those added meanwhile. If one throws, the others flush at the end of the turn. */
export function endRead(): void {
  let at = 0;
  try {
    while (at < count) {
      const writer = waiting[at]!;
      waiting[at++] = null;
      writer.flush();
    }
  } finally {
    isReading = false;
    for (; at < count; at++) {
      process.nextTick(flush, waiting[at]!);
      waiting[at] = null;
    }
    count = 0;
  }
}

function flush(writer: Flushable): void {
  writer.flush();
}
