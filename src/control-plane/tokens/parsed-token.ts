import { isTokenForm } from '../../common/access/token-form.js';

export type TokenClaims = Readonly<Record<string, unknown>>;

/** A token taken apart. Its content must not be trusted before the signature was checked. */
export interface ParsedToken {
  readonly alg: string;
  readonly kid: string;
  readonly claims: TokenClaims;
}

const longestKid = 512;
/** Values of `typ` of tokens for other purposes: logouts, proofs of possession, events. They are refused. */
const tokenTypes = new Set(['jwt', 'at+jwt', 'application/jwt', 'application/at+jwt']);

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The parts of a token; null: it is malformed, or is of a kind that is never accepted. Stricter than RFC 7519: one way
 * to spell each byte, no name twice, no extension, no compression.
 */
export function parseToken(text: string): ParsedToken | null {
  if (!isTokenForm(text)) return null;
  const [first = '', second = '', third = ''] = text.split('.');
  const [head, claims] = [objectIn(first), objectIn(second)];
  if (head === null || claims === null || bytesIn(third) === null) return null;
  const { alg, kid, typ, crit, zip, enc, b64 } = head;
  if (typeof alg !== 'string' || typeof kid !== 'string') return null;
  if (kid === '' || kid.length > longestKid) return null;
  if (typ !== undefined && (typeof typ !== 'string' || !tokenTypes.has(typ.toLowerCase()))) return null;
  if ([crit, zip, enc, b64].some((member) => member !== undefined)) return null;
  return { alg, kid, claims };
}

/** The decoded bytes; null: the text is not the canonical base64url of them. */
function bytesIn(part: string): Buffer | null {
  const bytes = Buffer.from(part, 'base64url');
  return bytes.toString('base64url') === part ? bytes : null;
}

function objectIn(part: string): Record<string, unknown> | null {
  const bytes = bytesIn(part);
  if (bytes === null) return null;
  try {
    const text = utf8.decode(bytes);
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject && !repeatsName(text) ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g;

/** Does an object in this valid JSON have a name twice? Parsers differ in which of the two values they use. */
export function repeatsName(json: string): boolean {
  /** Names of each open object; null: an open list. */
  const open: (Set<string> | null)[] = [];
  let text: string | null = null;
  for (const [found] of json.matchAll(token)) {
    if (found === '{') open.push(new Set());
    else if (found === '[') open.push(null);
    else if (found === '}' || found === ']') open.pop();
    else if (found === ':' && text !== null) {
      const names = open.at(-1)!;
      const name: string = JSON.parse(text);
      if (names!.has(name)) return true;
      names!.add(name);
    }
    text = found.startsWith('"') ? found : null;
  }
  return false;
}
