import type { HeaderList } from './headers.js';

/** What takes the place of a masked value. */
export const masked = '***';

/** Names of headers whose values are credentials, or may hold some. */
const secretName =
  /auth|api[-_]?key|[-_]key\b|token|secret|cookie|credential|passw|passphrase|signature|session|service-account|private/;

const longestName = 200;
const longestValue = 4096;
const mostRemembered = 500;

interface KnownName {
  readonly isSecret: boolean;
  /** A config that is sent with the call may contain credentials. */
  readonly isConfig: boolean;
}

/** By name, as far as they were seen: clients send the same ones again and again. */
const known = new Map<string, KnownName>();

function nameOf(name: string): KnownName {
  let found = known.get(name);
  if (found === undefined) {
    found = { isSecret: secretName.test(name), isConfig: name.endsWith('-config') };
    if (known.size < mostRemembered && name.length <= longestName) known.set(name, found);
  }
  return found;
}

function hasSecret(name: string, value: string): boolean {
  const { isSecret, isConfig } = nameOf(name);
  return isSecret || (isConfig && value.trimStart().startsWith('{'));
}

/** The value for the log; null: the header is not logged. */
export function loggedValue(name: string, value: string, sensitive: ReadonlySet<string>): string | null {
  if (name.length > longestName || name === '__proto__') return null;
  if (sensitive.has(name) || hasSecret(name, value)) return masked;
  return value.length > longestValue ? value.slice(0, longestValue) : value;
}

/** Headers as a log has them: credentials, and those that `sensitive` names, are masked. Names in lower case. */
export function loggedHeaders(headers: HeaderList, sensitive: ReadonlySet<string>): Record<string, string> {
  const logged: Record<string, string> = {};
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    const value = headers[i + 1]!;
    const shown = loggedValue(name, value, sensitive);
    if (shown === null) continue;
    const before = Object.hasOwn(logged, name) ? logged[name] : undefined;
    logged[name] = before === undefined || shown === masked ? shown : `${before}, ${shown}`;
  }
  return logged;
}

const none: ReadonlySet<string> = new Set();

/** The names that headers such as x-gateway-sensitive-headers list. */
export function sensitiveNames(lists: readonly (string | undefined)[]): ReadonlySet<string> {
  if (lists.every((list) => list === undefined)) return none;
  const names = lists.flatMap((list) => (list ?? '').split(',').map((name) => name.trim().toLowerCase()));
  return new Set(names.filter((name) => name !== ''));
}
