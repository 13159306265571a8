/** How an answer is given: which fault, and at what pace. */
export interface Behaviour {
  /** null: none. A status number (`429`, `500`, …) is a fault too. */
  readonly fault: string | null;
  /** The text after `=`: `429=abc` is a 429 whose Retry-After is `abc`. */
  readonly value: string | null;
  /** Pieces of text in a stream; null: one a word. */
  readonly chunks: number | null;
  /** Milliseconds between two frames of a stream; before a plain answer. */
  readonly delayMs: number;
  /** Milliseconds between the head and the first byte of the body. */
  readonly firstTokenMs: number;
  /** Milliseconds before the head. */
  readonly headMs: number;
}

export const plainBehaviour: Behaviour = {
  fault: null,
  value: null,
  chunks: null,
  delayMs: 0,
  firstTokenMs: 0,
  headMs: 0,
};

/** Every fault by name; a number from 400 to 599 is one more. */
export const faults = [
  'refuse',
  'reset-before-head',
  'reset-mid-body',
  'reset-mid-stream',
  'hang',
  'stall-mid-stream',
  'eof-mid-stream',
  'drip',
  'bad-json',
  'html',
  'empty',
  'bad-sse',
  'huge',
  'wrong-length-short',
  'wrong-length-long',
  'redirect',
  'error-event',
] as const;

const known = new Set<string>(faults);

/**
 * Reads `fault[=value]` and the paces `chunks=`, `delay=`, `slow-first-token=`, `slow-head=`, separated by commas.
 * Unknown parts are reported, so that a misspelt fault does not pass for success.
 */
export function parseBehaviour(spec: string): Behaviour | string {
  let fault: string | null = null;
  let value: string | null = null;
  const paces: Record<string, number> = {};
  for (const item of spec.split(',')) {
    const [name, given] = cut(item.trim());
    if (name === '') continue;
    if (name === 'chunks' || name === 'delay' || name === 'slow-first-token' || name === 'slow-head') {
      const number = Number(given);
      if (!(number >= 0)) return `${name} needs a number, as in ${name}=20`;
      paces[name] = number;
    } else if (known.has(name) || /^[45]\d\d$/.test(name)) {
      fault = name;
      value = given;
    } else {
      return `there is no fault ${JSON.stringify(name)}: name one of ${faults.join(', ')}, or a status from 400 to 599`;
    }
  }
  return {
    fault,
    value,
    chunks: paces['chunks'] ? Math.min(100_000, Math.floor(paces['chunks'])) : null,
    delayMs: paces['delay'] ?? 0,
    firstTokenMs: paces['slow-first-token'] ?? 0,
    headMs: paces['slow-head'] ?? 0,
  };
}

/** At the first `=`: a value may hold others. */
function cut(item: string): [string, string | null] {
  const at = item.indexOf('=');
  return at < 0 ? [item, null] : [item.slice(0, at), item.slice(at + 1)];
}
