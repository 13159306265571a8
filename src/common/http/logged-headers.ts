/** What takes the place of a masked value. */
export const masked = '***';

/** Names of headers whose values are credentials, or may hold some. */
const secretName =
  /auth|api[-_]?key|[-_]key\b|token|secret|cookie|credential|passw|passphrase|signature|session|service-account|private/;

const longestName = 200;
const longestValue = 4096;

/** May the value of a header be in a log? `name`: lower case. A config of the call's own may name credentials. */
const isSecret = (name: string, value: string): boolean =>
  secretName.test(name) || (name.endsWith('-config') && value.trimStart().startsWith('{'));

/** Headers as a log has them: credentials, and those that `sensitive` names (lower case), are masked. */
export function loggedHeaders(
  headers: Iterable<readonly [name: string, value: string]>,
  sensitive: ReadonlySet<string>,
): Record<string, string> {
  const logged: Record<string, string> = {};
  for (const [given, value] of headers) {
    const name = given.toLowerCase();
    if (name.length > longestName || name === '__proto__') continue;
    const shown = sensitive.has(name) || isSecret(name, value) ? masked : value.slice(0, longestValue);
    const before = Object.hasOwn(logged, name) ? logged[name] : undefined;
    logged[name] = before === undefined || before === shown ? shown : `${before}, ${shown}`;
  }
  return logged;
}

/** The names that a header such as x-gateway-sensitive-headers lists. */
export const sensitiveNames = (lists: readonly (string | undefined)[]): ReadonlySet<string> =>
  new Set(
    lists.flatMap((list) => (list ?? '').split(',').map((name) => name.trim().toLowerCase())).filter(Boolean),
  );
