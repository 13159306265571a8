import type { CheckParameters, CheckResult, FoundValue } from '../check.js';

/** A check that judges texts while they come, for one exchange. */
export interface PieceRun {
  /**
   * true: it judges the text after other checks have replaced values. Absent: it fails if an earlier check has replaced only a part
   * of a value that it finds.
   */
  readonly seesChanged?: true;
  /** Values that end after `from`, in the order of the text; none overlaps another. `after`: values before it are not needed. */
  find?(text: string, from: number, after: number): readonly FoundValue[];
  /**
   * From where on a value may begin that the text does not end; the text's length: none does. At least `from`. `after`: as of
   * `find`.
   */
  open?(text: string, from: number, after: number): number;
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
