import type { HttpRequest } from 'uWebSockets.js';
import type { HeaderList } from '../../../common/http/headers.js';
import { sameName } from '../head-text.js';

let list: HeaderList = [];
/** The previous head: clients send the same headers again and again, mostly in the same place. */
let before: HeaderList = [];

/**
 * The native part makes two new strings for each header. Where the previous head had the same at this place, its
 * strings are used: V8 has their hashes already, and compares them by address in later look-ups.
 */
const copyHeader = (name: string, value: string): void => {
  const at = list.length;
  if (at < before.length && before[at] === name) {
    list.push(before[at]!, before[at + 1] === value ? before[at + 1]! : value);
  } else {
    list.push(sameName(name), value);
  }
};

/** The headers of a request, copied: names in lower case, each followed by its value. */
export function copiedHeaders(req: HttpRequest): HeaderList {
  list = [];
  req.forEach(copyHeader);
  before = list;
  return list;
}
