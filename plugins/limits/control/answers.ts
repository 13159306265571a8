import { isJsonObject } from '../../../src/common/json/json.js';

/** Characters: a grant has some hundred, and a request some dozen limits at most. */
const maxLength = 256 * 1024;

/**
 * What a script that takes permits has answered: `grants`, one for each of the `asked` limits, `unknown`, indexes of them,
 * or `refused`, one index. Throws where it is anything else: counts of this node are used then, as if Redis were away.
 */
export function answerOf(text: unknown, asked: number, isGrant: (grant: unknown) => boolean): object {
  const answer: unknown = typeof text === 'string' && text.length <= maxLength ? JSON.parse(text) : null;
  if (isJsonObject(answer)) {
    const { grants, unknown, refused, remaining, used, waitMs = 0 } = answer;
    const isIndex = (index: unknown): boolean =>
      Number.isInteger(index) && (index as number) >= 0 && (index as number) < asked;
    if (Array.isArray(unknown) && unknown.length <= asked && unknown.every(isIndex)) return answer;
    if (isIndex(refused) && [remaining ?? Number(used), waitMs].every(Number.isFinite)) return answer;
    if (Array.isArray(grants) && grants.length === asked && grants.every(isGrant)) return answer;
  }
  throw new TypeError('Redis answered with something else than permits');
}
