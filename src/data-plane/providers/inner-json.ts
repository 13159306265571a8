import { type JsonValue, parseJson } from '../../common/json/json.js';
import { isQuick, parseCost, scanJson } from '../../common/json/json-scan.js';

/** What the JSON texts inside one body may cost together (`parseCost`): a conversion is one turn of the event loop. */
const mostCost = 2 * 1024 * 1024;

let left = mostCost;

/** Begins to count for another body: its conversion, which is synchronous, follows at once. */
export function beginInnerJson(): void {
  left = mostCost;
}

/**
 * The value of a JSON text inside a body, such as the arguments of a tool call. Throws a SyntaxError if it is invalid,
 * a RangeError if parsing it would take too long.
 */
export function parseInnerJson(text: string): JsonValue {
  if (text.length > left) throw tooMuch();
  const bytes = Buffer.from(text);
  const scan = scanJson(bytes);
  if (scan.problem !== null) throw new RangeError(`cannot be read as JSON: it ${scan.problem}`);
  left -= parseCost(bytes.length, scan);
  if (left < 0) throw tooMuch();
  return parseJson(text, scan.bigNumbers);
}

/**
 * The value of an event of a stream, which begins to count for the texts inside of it. Throws a SyntaxError if it is
 * invalid, a RangeError if parsing it would take too long.
 */
export function parseEventJson(data: string): JsonValue {
  beginInnerJson();
  if (data.length > shortEvent && !isQuick(Buffer.from(data)))
    throw new RangeError('has more JSON than can be parsed at once');
  return parseJson(data);
}

/** Characters of an event that is parsed quickly, whatever is in it. */
const shortEvent = 8 * 1024;

const tooMuch = (): RangeError =>
  new RangeError(
    'is, with what came before it, more JSON inside of texts than can be converted for this provider',
  );
