import type { CheckParameters, CheckResult } from '../check.js';

/** A value that was found. Indexes of characters (UTF-16 units). */
export interface FoundValue {
  readonly start: number;
  readonly end: number;
  /** The ids of its kinds. The first one is that of its placeholder. */
  readonly kinds?: readonly string[];
}

/** A check that judges texts while they come, for one exchange. */
export interface PieceRun {
  /** Values that begin at `after` or later and end after `from`, in the order of the text. */
  find?(text: string, from: number, after: number): readonly FoundValue[];
  /** From where on a value may begin that the text does not end; the text's length: none does. At least `from`. */
  open?(text: string, from: number): number;
  /** A value that nothing which follows makes another: what goes on in its place. null: it does not pass. */
  take?(found: FoundValue, value: string): string | null;
  /** The next piece of what goes on. false: the text does not pass any more. */
  pass?(text: string): boolean;
  /** Of all texts. */
  result(): CheckResult;
}

/** How a check of texts judges a text that comes in pieces. */
export interface PieceCheck {
  /** Does it change what it finds? */
  readonly redacts: boolean;
  begin(): PieceRun;
}

/** null: with these parameters it judges whole texts only. */
export type PieceCheckOf = (parameters: CheckParameters) => PieceCheck | null;
