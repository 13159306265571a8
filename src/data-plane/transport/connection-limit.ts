/** Milliseconds between two reports of a transport at its limit. */
const everyMs = 60_000;

/** Returns the function to call for each connection that is closed because there are already `maxConnections`. */
export function reportFull(
  maxConnections: number,
  onProblem: (error: unknown, what: string) => void,
): () => void {
  let closed = 0;
  let reportedAt = Number.NEGATIVE_INFINITY;
  return () => {
    closed++;
    if (performance.now() - reportedAt < everyMs) return;
    reportedAt = performance.now();
    const message = `There are ${maxConnections} connections, as many as this worker may have: ${closed} new ones were closed. Raise the limit of open files (ulimit -n), or the number of workers.`;
    closed = 0;
    onProblem(new Error(message), 'too many connections');
  };
}
