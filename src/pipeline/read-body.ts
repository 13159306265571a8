import type { Exchange } from '../core/exchange.js';
import type { Hooks } from '../core/plugin.js';
import { geminiCall } from '../endpoints/gemini-path.js';
import { checkBodyHeaders, type ReadBody } from '../endpoints/read-body.js';
import type { BodyReader } from './parts.js';
import type { RecurringBodies } from './recurring-bodies.js';

/**
 * Reads the body of doors that understand theirs. Stands directly behind auth: a stranger's body is not worth
 * parsing, and whoever comes later finds it read.
 */
export function readBodyStage(bodies: BodyReader, recurring: RecurringBodies): Hooks {
  const look = (x: Exchange): void | Promise<void> => {
    if (x.request.bytes === null) return;
    const known = recurring.find(x);
    if (known !== null) {
      checkBodyHeaders(x.request.headers);
      return take(x, known);
    }
    const read = bodies.read(x.endpoint, x.request.headers, x.request.bytes);
    if (read instanceof Promise) return read.then((body) => take(x, body));
    take(x, read);
  };
  return { request: look, explain: look };
}

function take(x: Exchange, body: ReadBody): void {
  x.request.json = body.json;
  const asked = x.endpoint.modelInPath === true ? geminiCall(x.request.path) : body;
  x.modelAsked = asked.model;
  x.streaming = asked.stream;
}
