/**
 * What was thrown, as an Error that the gateway's own code can read. An Error is returned as it is, unless reading it
 * throws. Anything else, which may be a proxy or have getters that throw, becomes an Error that describes it.
 * Never throws.
 */
export function readableError(thrown: unknown): Error {
  try {
    if (thrown instanceof Error) {
      // Reading them may run code of the plugin that made it.
      void `${thrown.name}${thrown.message}${thrown.stack}`;
      return thrown;
    }
    return new Error(`No Error was thrown, but ${described(thrown)}.`);
  } catch {
    return new Error('Something was thrown that cannot be read.');
  }
}

function described(thrown: unknown): string {
  if (typeof thrown === 'string') return `the text ${JSON.stringify(thrown)}`;
  if (typeof thrown === 'function') return 'a function';
  if (typeof thrown !== 'object' || thrown === null) return String(thrown);
  const { message } = thrown as { message?: unknown };
  return typeof message === 'string' ? `an object with the message ${JSON.stringify(message)}` : 'an object';
}
