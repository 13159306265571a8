/**
 * Runs work whose signal is aborted with `signal`, or after `ms` milliseconds with a TimeoutError. `AbortSignal.any` over
 * `AbortSignal.timeout` must not be used for this: the timeout signal has no other reference, so it may be garbage collected
 * with its timer, and work that waits for an answer would never end.
 */
export async function withDeadline<T>(
  ms: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const own = new AbortController();
  const stop = (): void => own.abort(signal.reason);
  const timer = setTimeout(() => own.abort(new DOMException('It took too long.', 'TimeoutError')), ms);
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop, { once: true });
  try {
    return await work(own.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
}
