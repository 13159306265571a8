/** Something that writes what it has gathered. */
export interface Flushable {
  flush(): void;
}

/** Those that write when the read is over; only the first `count` count. */
const waiting: (Flushable | null)[] = [];
let count = 0;
let isReading = false;

/**
 * Has `writer` flush once all that was read from a socket in one go has been passed on, so that what comes of it leaves
 * together. Outside `readTogether` that is the end of the turn: `process.nextTick`, which for each chunk of a stream
 * costs more than all that is done with the chunk.
 */
export function flushAfterRead(writer: Flushable): void {
  if (isReading) waiting[count++] = writer;
  else process.nextTick(flush, writer);
}

/** What follows is of one read, until `endRead`; both are called in the same turn, and are not nested. */
export function beginRead(): void {
  isReading = true;
}

/** Flushes what waits, also what comes to wait meanwhile. One that throws leaves the others to the end of the turn. */
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
