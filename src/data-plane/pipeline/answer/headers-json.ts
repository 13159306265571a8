import type { HeaderList } from '../../../common/http/headers.js';
import { loggedHeaders, loggedValue } from '../../../common/http/logged-headers.js';
import { asciiJson, type LineWriter } from '../../../common/ledger/line-writer.js';

/** Writes `loggedHeaders` as JSON without creating the object, since it runs for every logged request. */
export function writeLoggedHeaders(
  to: LineWriter,
  headers: HeaderList,
  sensitive: ReadonlySet<string>,
  /** Entries of the list. */
  length = headers.length,
): void {
  // Several headers of one name are joined, which is rare.
  if (hasRepeated(headers, length))
    return to.raw(asciiJson(loggedHeaders(headers.slice(0, length), sensitive)));
  to.raw('{');
  let isFirst = true;
  for (let i = 0; i < length; i += 2) {
    const name = headers[i]!;
    const shown = loggedValue(name, headers[i + 1]!, sensitive);
    if (shown === null) continue;
    if (!isFirst) to.comma();
    isFirst = false;
    to.text(name);
    to.raw(':');
    to.text(shown);
  }
  to.raw('}');
}

function hasRepeated(headers: HeaderList, length: number): boolean {
  for (let i = 2; i < length; i += 2)
    for (let j = 0; j < i; j += 2) if (headers[j] === headers[i]) return true;
  return false;
}
