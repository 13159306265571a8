/** Shorter reads take no time worth counting, and are nearly all there are. Bytes. */
const longRead = 8 * 1024;
/** How long the long reads of a turn may take, whatever the upstreams send in how small pieces. Milliseconds. */
const mostReading = 6;
/** When the first long read of this turn began; -1: there was none. */
let readingSince = -1;

/**
 * Must these bytes wait for another turn? The system hands over up to 2 MiB of a connection in one, which takes 50 ms to parse
 * where each byte is a chunk.
 */
export function mustWait(length: number): boolean {
  if (length < longRead) return false;
  const now = performance.now();
  if (readingSince >= 0) return now - readingSince > mostReading;
  readingSince = now;
  setImmediate(endReading);
  return false;
}

function endReading(): void {
  readingSince = -1;
}
