import type { GuardrailRule } from '../../../src/common/core/guardrail.js';
import { characterPieces, wordCountPieces } from './count-pieces.js';
import { personalPieces, secretPieces } from './detector-pieces.js';
import { lowerPieces, matchPieces, replacePieces, upperPieces, wordPieces } from './pattern-pieces.js';
import type { PieceCheck, PieceCheckOf } from './piece-check.js';

/** Checks that can judge a text while it comes. All others judge it at its end. */
export const pieceChecks: ReadonlyMap<string, PieceCheckOf> = new Map([
  ['gateway.pii', personalPieces],
  ['gateway.secrets', secretPieces],
  ['default.regexReplace', replacePieces],
  ['default.regexMatch', matchPieces],
  ['default.contains', wordPieces],
  ['default.characterCount', characterPieces],
  ['default.wordCount', wordCountPieces],
  ['default.alluppercase', upperPieces],
  ['default.isAllLowerCase', lowerPieces],
  ['default.alllowercase', lowerPieces],
]);

/** By the rule, which is the same object for all exchanges: what is compiled of its parameters is kept with it. */
const known = new WeakMap<GuardrailRule, PieceCheck | null>();

/** null: the rule judges whole texts only. */
export function pieceCheckOf(rule: GuardrailRule): PieceCheck | null {
  let check = known.get(rule);
  if (check === undefined) {
    try {
      check = pieceChecks.get(rule.check)?.(rule.parameters) ?? null;
    } catch {
      // An expression that is none is an error of the check when it runs at the end.
      check = null;
    }
    known.set(rule, check);
  }
  return check;
}
