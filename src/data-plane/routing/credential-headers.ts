/** Headers in which clients and providers carry keys. */
const credentialHeaders = new Set([
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'x-amz-security-token',
  'cookie',
]);

/**
 * Why a config may not read this header; null: it may. Otherwise an author of configs could find out a caller's key,
 * letter by letter. The gateway's own headers carry keys too.
 */
export function credentialComplaint(header: string, prefixes: readonly string[]): string | null {
  const name = header.toLowerCase();
  if (credentialHeaders.has(name)) return 'is a header that carries keys: configs may not look at it';
  if (prefixes.some((prefix) => name.startsWith(prefix)))
    return "is one of the gateway's own headers, which may carry keys: configs may not look at them";
  return null;
}
