import type { HeaderList } from '../../common/http/headers.js';
import { loggedHeaders, loggedValue } from '../../common/http/logged-headers.js';
import { asciiJson } from '../../common/ledger/line-writer.js';

/** Names of a request's headers, their values, and what each pair is in the log, by its place. */
const names: string[] = [];
const values: string[] = [];
const texts: string[] = [];
/** Headers that are kept from one request to the next: clients send most of them again and again. */
const mostKept = 64;

/** `{"request":{…}}` in ASCII: the headers of a request as the log has them. `sensitive`: names of headers to mask. */
export function headersJson(headers: HeaderList, sensitive: ReadonlySet<string>): string {
  if (sensitive.size > 0 || headers.length > 2 * mostKept || hasTwice(headers))
    return `{"request":${asciiJson(loggedHeaders(headers, sensitive))}}`;
  let json = '{"request":{';
  let isFirst = true;
  for (let i = 0; i < headers.length; i += 2) {
    const text = textAt(i >> 1, headers[i]!, headers[i + 1]!);
    if (text === '') continue;
    json += isFirst ? text : `,${text}`;
    isFirst = false;
  }
  return `${json}}}`;
}

function textAt(place: number, name: string, value: string): string {
  if (names[place] === name && values[place] === value) return texts[place]!;
  const logged = loggedValue(name, value);
  names[place] = name;
  values[place] = value;
  texts[place] = logged === null ? '' : `${asciiJson(name)}:${asciiJson(logged)}`;
  return texts[place]!;
}

/** Is there a name that more than one header has? */
function hasTwice(headers: HeaderList): boolean {
  for (let i = 2; i < headers.length; i += 2)
    for (let before = 0; before < i; before += 2) if (headers[i] === headers[before]) return true;
  return false;
}
