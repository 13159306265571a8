import { setImmediate } from 'node:timers/promises';
import type { CheckParameters, CheckPhase, CheckResult } from '../check.js';

/** A check of a job. */
export interface JobCheck {
  /** Identifies check and parameters; without line feeds. A thread keeps the checks that it has had. */
  readonly key: string;
  readonly id: string;
  readonly parameters: CheckParameters;
}

/** Characters. A longer text is sent in pieces: to copy it in one go would hold up the event loop. */
const pieceLength = 256 * 1024;

/** Checks of texts, for a thread. */
export interface CheckJob {
  readonly phase: CheckPhase;
  /** A long text is in pieces of UTF-8. */
  readonly texts: readonly (string | readonly Uint8Array[])[];
  /** Keys of the checks, a line each: one text is copied faster than a list. */
  readonly keys: string;
  /** The checks; null: the thread is expected to have them. */
  readonly checks: readonly JobCheck[] | null;
  /**
   * Index of the job's place in the array that all threads share (their `workerData`): 0 there until it has begun, then one
   * more than the index of the check that runs.
   */
  readonly place: number;
}

export interface TimedResult {
  readonly result: CheckResult;
  /** Milliseconds. */
  readonly ms: number;
}

/** `missing`: the thread does not have some of the checks; then nothing was run. */
export type JobResult = { readonly results: readonly TimedResult[] } | { readonly missing: true };

/** The texts as a thread takes them; every piece is encoded in a turn of its own. */
export async function packed(texts: readonly string[]): Promise<CheckJob['texts']> {
  const out: (string | readonly Uint8Array[])[] = [];
  for (const text of texts) {
    if (text.length <= pieceLength) {
      out.push(text);
      continue;
    }
    const pieces: Uint8Array[] = [];
    for (let from = 0; from < text.length; ) {
      let to = Math.min(text.length, from + pieceLength);
      // The halves of a pair are no characters.
      if ((text.charCodeAt(to - 1) & 0xfc00) === 0xd800 && to < text.length) to--;
      pieces.push(new TextEncoder().encode(text.slice(from, to)));
      from = to;
      await setImmediate();
    }
    out.push(pieces);
  }
  return out;
}

/** What is handed over to the thread, and not copied. */
export const transferable = (texts: CheckJob['texts']): ArrayBuffer[] =>
  texts.flatMap((text) => (typeof text === 'string' ? [] : text.map(({ buffer }) => buffer as ArrayBuffer)));

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

export const unpacked = (texts: CheckJob['texts']): readonly string[] =>
  texts.map((text) =>
    typeof text === 'string' ? text : text.map((piece) => decoder.decode(piece)).join(''),
  );
