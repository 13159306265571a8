import { type JsonValue, parseJson } from '../../common/json/json.js';
import { isQuick, parseCost, scanJson } from '../../common/json/json-scan.js';

/** What is left of the cost (`parseCost`) that some texts of one body may have. */
interface Budget {
  left: number;
}

/**
 * Reads the JSON texts inside of one body: arguments of tool calls, results of tools. A conversion is one turn of the event
 * loop, so what all texts of a body may cost together is limited.
 */
export class InnerJson {
  /** For texts that have to be JSON, and for those that may be: these must not take what the others need. */
  readonly #required: Budget = { left: 2 * 1024 * 1024 };
  readonly #optional: Budget = { left: 1024 * 1024 };

  /** The value of a text. Throws a SyntaxError if it is invalid, a RangeError if parsing it would take too long. */
  parse(text: string): JsonValue {
    return parseWithin(this.#required, text);
  }

  /** The value of a text that may be JSON, such as the result of a tool; if it is not, or too long, the text itself. */
  readText(text: string): JsonValue {
    if (!beginsAsJson.test(text)) return text;
    try {
      return parseWithin(this.#optional, text);
    } catch {
      return text;
    }
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

/** The value of an event of a stream. Throws a SyntaxError if it is invalid, a RangeError if parsing it would take too long. */
export function parseEventJson(data: string): JsonValue {
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
