import type { TextCheck, TextContext } from '../../check.js';
import { countNs, countsOf } from './counted.js';

/** A check that a number of things in the text is within bounds. */
function countCheck(
  id: string,
  what: string,
  ns: number,
  countIn: (context: TextContext) => number,
): TextCheck {
  const capital = `${what[0]!.toUpperCase()}${what.slice(1)}s`;
  const [count, min, max] = [`${what}Count`, `min${capital}`, `max${capital}`];
  return {
    id,
    runs: 'text',
    nanoseconds: (length) => ns * length,
    run(context, parameters) {
      const least = parameters[min] as number;
      const most = parameters[max] as number;
      const not = parameters['not'] as boolean;
      const counted = countIn(context);
      const isWithin = counted >= least && counted <= most;
      const data = () => ({
        ...{ [count]: counted, [min]: least, [max]: most, not },
        explanation: `The text has ${counted} ${what}s, which is ${isWithin ? 'within' : 'outside'} ${least} to ${most}.`,
      });
      return { verdict: isWithin !== not, data };
    },
  };
}

/** Is the number of sentences within bounds? */
export const sentenceCount = countCheck(
  'default.sentenceCount',
  'sentence',
  countNs,
  (context) => countsOf(context).sentences,
);

/** Is the number of characters (UTF-16 units, as JavaScript counts) within bounds? */
export const characterCount = countCheck('default.characterCount', 'character', 0, ({ text }) => text.length);
