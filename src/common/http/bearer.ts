/**
 * The token of an `Authorization` header with the scheme Bearer, which may be written in any case; null: it has another
 * scheme, or none.
 */
export function bearerToken(value: string): string | null {
  if (value.slice(0, 7).toLowerCase() !== 'bearer ') return null;
  let start = 7;
  while (value.charCodeAt(start) === 0x20) start++;
  return value.slice(start);
}
