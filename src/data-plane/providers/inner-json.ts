import { type JsonValue, parseJson } from '../../common/json/json.js';
import { isQuick, parseCost, scanJson } from '../../common/json/json-scan.js';

/** What is left of the cost (`parseCost`) that JSON texts inside one body may have: a conversion is one turn of the event loop. */
interface Budget {
  left: number;
}

const requiredCost = 2 * 1024 * 1024;
const optionalCost = 1024 * 1024;

/** Of texts that have to be JSON, and of those that may be: these must not take what the others need. */
const required: Budget = { left: requiredCost };
const optional: Budget = { left: optionalCost };

/** Begins to count for another body: its conversion, which is synchronous, follows at once. */
export function beginInnerJson(): void {
  required.left = requiredCost;
  optional.left = optionalCost;
}

/**
 * The value of a JSON text inside a body, such as the arguments of a tool call. Throws a SyntaxError if it is invalid,
 * a RangeError if parsing it would take too long.
 */
export function parseInnerJson(text: string): JsonValue {
  return parseWithin(required, text);
}

/** The value of a text inside a body that may be JSON, such as the result of a tool; if it is not, or too long, the text itself. */
export function readInnerText(text: string): JsonValue {
  if (!beginsAsJson.test(text)) return text;
  try {
    return parseWithin(optional, text);
  } catch {
    return text;
  }
}

const beginsAsJson = /^\s*(?:["[{]|[-+.\deE]+\s*$|(?:true|false|null)\s*$)/;

function parseWithin(budget: Budget, text: string): JsonValue {
  if (text.length > budget.left) throw tooMuch();
  const bytes = Buffer.from(text);
  const scan = scanJson(bytes);
  budget.left -= parseCost(bytes.length, scan);
  if (scan.problem !== null) throw new RangeError(`cannot be read as JSON: it ${scan.problem}`);
  if (budget.left < 0) throw tooMuch();
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
