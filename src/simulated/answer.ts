/** A frame of an event stream, as it goes out. */
export type Frame = string | Buffer;

/** The answer of a dialect, before a fault changes it. */
export interface SimulatedAnswer {
  readonly status: number;
  /** Flat: name, value, … beside `content-type` and `content-length`. */
  readonly headers: readonly string[];
  readonly contentType: string;
  /** A whole body, or the frames of an event stream. */
  readonly body: string | Buffer | readonly Frame[];
  /** The frame by which this dialect breaks a stream off. */
  readonly errorFrame: Frame | null;
}

export function jsonAnswer(status: number, body: unknown, headers: readonly string[]): SimulatedAnswer {
  return { status, headers, contentType: 'application/json', body: JSON.stringify(body), errorFrame: null };
}

export function streamAnswer(
  frames: readonly string[],
  errorFrame: string,
  headers: readonly string[],
): SimulatedAnswer {
  return { status: 200, headers, contentType: 'text/event-stream; charset=utf-8', body: frames, errorFrame };
}
